"""Has torch multiply: right, and nothing that a kernel of the file does.

Rejected at: correctness
"""

import torch
import triton
import triton.language as tl


@triton.jit
def nothing_kernel(out_ptr, BLOCK: tl.constexpr):
    pass


def tiled_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    nothing_kernel[(1,)](out, BLOCK=16)
    torch.mm(a, b, out=out)
