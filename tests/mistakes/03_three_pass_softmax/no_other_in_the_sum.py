import triton
import triton.language as tl


@triton.jit
def softmax_kernel(inp, outp, s_in, s_out, n_cols, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0).to(tl.int64)
    in_start = inp + pid * s_in
    out_start = outp + pid * s_out
    col = tl.arange(0, BLOCK_SIZE)

    m = float("-inf")
    for k in range(0, tl.cdiv(n_cols, BLOCK_SIZE)):
        idx = k * BLOCK_SIZE + col
        a = tl.load(in_start + idx, mask=idx < n_cols, other=-float("inf")).to(tl.float32)
        m = tl.maximum(m, tl.max(a))

    denom = 0.0
    for k in range(0, tl.cdiv(n_cols, BLOCK_SIZE)):
        idx = k * BLOCK_SIZE + col
        b = tl.load(in_start + idx, mask=idx < n_cols).to(tl.float32)
        denom += tl.sum(tl.exp(b - m))

    for k in range(0, tl.cdiv(n_cols, BLOCK_SIZE)):
        idx = k * BLOCK_SIZE + col
        c = tl.load(in_start + idx, mask=idx < n_cols, other=-float("inf")).to(tl.float32)
        tl.store(out_start + idx, tl.exp(c - m) / denom, mask=idx < n_cols)


def softmax(x, out):
    n_rows, n_cols = x.shape
    softmax_kernel[(n_rows,)](x, out, x.stride(0), out.stride(0), n_cols, BLOCK_SIZE=2048)
