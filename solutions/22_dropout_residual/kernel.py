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
    # BEGIN SOLUTION: load both blocks, draw a number for each element, drop or scale, add, store
    block = tl.program_id(0).to(tl.int64)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    residual = tl.load(residual_ptr + offsets, mask=inside).to(tl.float32)
    # One counter gives four numbers with the work of one: those of four neighbouring elements.
    counters = block * (BLOCK // 4) + tl.arange(0, BLOCK // 4)
    n0, n1, n2, n3 = tl.rand4x(seed, counters)
    numbers = tl.interleave(tl.interleave(n0, n2), tl.interleave(n1, n3))
    # One quotient serves all elements: a product is cheaper than a division for each.
    scaled = x * (1.0 / (1.0 - p))
    tl.store(out_ptr + offsets, residual + tl.where(numbers < p, 0.0, scaled), mask=inside)
    # END SOLUTION


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    """Fills out with residual + x / (1 - p), or with residual alone where x is dropped.

    `x`, `residual` and `out` are 1-D tensors of one length and one dtype.
    """
    n = out.numel()
    # BEGIN SOLUTION: launch the kernel once, with enough programs for all elements
    programs = triton.cdiv(n, BLOCK)  # rounded up, so that the last block may be short
    dropout_residual_kernel[(programs,)](x, residual, p, seed, out, n, BLOCK=BLOCK)
    # END SOLUTION
