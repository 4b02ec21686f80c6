import triton
import triton.language as tl


@triton.jit
def swiglu_fwd(g, u, o, sg, su, so, n_cols, BS: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    g += pid * sg
    u += pid * su
    o += pid * so
    for k in range(0, n_cols, BS):
        i = k + tl.arange(0, BS)
        m = i < n_cols
        a = tl.load(g + i, mask=m, other=0.0).to(tl.float32)
        b = tl.load(u + i, mask=m, other=0.0).to(tl.float32)
        c = a * tl.sigmoid(a) * b
        tl.store(g + i, c, mask=m)


def swiglu(gate, up, out):
    n_rows, n_cols = gate.shape
    swiglu_fwd[(n_rows,)](
        gate, up, out, gate.stride(0), up.stride(0), out.stride(0), n_cols, BS=1024
    )
