"""Vector add in Triton: out = x + y, one block of elements a program."""

import torch
import triton
import triton.language as tl

BLOCK = 1024  # elements that one program adds; tl.arange asks for a power of two


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Adds one block: program p owns the elements from p * BLOCK on, and n is the length.

    `x_ptr`, `y_ptr` and `out_ptr` are addresses of the first elements. The program number is a
    32-bit integer: widen it by `.to(tl.int64)` before multiplying, or it overflows on vectors of
    more than 2**31 elements.
    """
    # TODO: find this program's offsets, load both blocks, add them, store the sum
    pass


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with x + y: 1-D tensors of one length and one dtype."""
    n = out.numel()
    raise NotImplementedError(
        "01_vector_add: launch enough programs that every element belongs to one of them"
    )
