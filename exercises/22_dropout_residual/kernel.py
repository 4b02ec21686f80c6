"""Dropout and residual in Triton: a mask that is drawn again when needed, and never stored."""

import torch
import triton
import triton.language as tl

BLOCK = 2048  # elements that one program computes; tl.arange asks for a power of two


@triton.jit
def dropout_residual_kernel(x_ptr, residual_ptr, p, seed, out_ptr, n, BLOCK: tl.constexpr):
    """Computes one block: program q owns the elements from q * BLOCK on, and n is the length.

    `x_ptr`, `residual_ptr` and `out_ptr` are addresses of the first elements; `p` and `seed` are
    numbers. Widen the program number by `.to(tl.int64)` before multiplying, or it overflows on
    vectors of more than 2**31 elements.
    """
    # TODO: load both blocks, draw a number for each element, drop or scale, add, store
    pass


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    """Fills out with residual + x / (1 - p), or with residual alone where x is dropped.

    `x`, `residual` and `out` are 1-D tensors of one length and one dtype.
    """
    n = out.numel()
    raise NotImplementedError(
        "22_dropout_residual: launch the kernel once, with enough programs for all elements"
    )
