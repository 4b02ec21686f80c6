"""A polynomial of each element in Triton, by Horner's rule: sixteen or 64 elements a thread."""

import torch
import triton
import triton.language as tl

# Elements that one program computes: sixteen for each of its 128 threads, which are enough where
# memory is the limit, or 64, which share the load of each coefficient.
SHORT, LONG = 2048, 8192
FEW = 16  # coefficients, at most, for a short block


@triton.jit
def polynomial_kernel(x_ptr, c_ptr, out_ptr, n, degree, BLOCK: tl.constexpr):
    """Computes one block: program p owns the elements from p * BLOCK on, and n is the length.

    `x_ptr`, `c_ptr` and `out_ptr` are addresses of the first elements. Of the coefficients, number
    0 is the constant, and number `degree` is the last. Widen the program number by `.to(tl.int64)`
    before multiplying, or it overflows on vectors of more than 2**31 elements.
    """
    # TODO: load the block once, add up its polynomial by Horner's rule, store it once
    pass


def polynomial(x: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with c[0] + c[1] * x + c[2] * x**2 + ...: x and out are 1-D, and c is not empty."""
    n = x.numel()
    raise NotImplementedError(
        "19_roofline: launch the kernel once, with enough programs for all elements"
    )
