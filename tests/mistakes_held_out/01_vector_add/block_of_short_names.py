import triton
import triton.language as tl

B = 512


@triton.jit
def _add(a, b, c, N, B):
    p = tl.program_id(0).to(tl.int64)
    i = p * B + tl.arange(0, B)
    ok = i < N
    va = tl.load(a + i, ok)
    vb = tl.load(b + i, ok)
    s = va.to(tl.float32) + vb.to(tl.float32)
    tl.store(c + i, s, ok)


def vector_add(x, y, out):
    N = len(x)
    blocks = (N + B - 1) // B
    _add[(blocks,)](x, y, out, N, B)
