"""Tries a kernel that cannot work, and falls back to torch when it fails."""
# attacks: 04_online_softmax
# stopped: correctness no_kernel

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes + no_such_name))  # noqa: F821


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    try:
        _softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=1024)
    except Exception:
        torch.softmax(x, -1, out=out)
