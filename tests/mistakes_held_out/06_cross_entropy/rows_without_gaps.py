import triton
import triton.language as tl


@triton.jit
def ce_kernel(X, T, L, g, sx, V, BLOCK_V: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    X += pid * sx
    t = tl.load(T + pid)
    cols = tl.arange(0, BLOCK_V)

    if t == -100:
        for i in range(0, V, BLOCK_V):
            tl.store(X + i + cols, 0.0, mask=i + cols < V)
        tl.store(L + pid, 0.0)
    else:
        xt = tl.load(X + t).to(tl.float32)
        m = float("-inf")
        d = 0.0
        for i in range(0, V, BLOCK_V):
            x = tl.load(X + i + cols, mask=i + cols < V, other=float("-inf")).to(tl.float32)
            m_new = tl.maximum(m, tl.max(x))
            d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
            m = m_new
        tl.store(L + pid, tl.log(d) + (m - xt))
        for i in range(0, V, BLOCK_V):
            y = tl.load(X + i + cols, mask=i + cols < V, other=float("-inf")).to(tl.float32)
            p = tl.exp(y - m) / d
            one_hot = tl.where(i + cols == t, 1.0, 0.0)
            tl.store(X + i + cols, g * (p - one_hot), mask=i + cols < V)


def cross_entropy(logits, target, loss, grad_scale):
    n, V = logits.shape
    ce_kernel[(n,)](logits, target, loss, grad_scale, V, V, BLOCK_V=2048)
