"""Mean squared error in two launches: partial sums of all programs, then the sum of these.

loss = mean of (prediction[i] - target[i])²
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024  # elements that a program handles at a time
PROGRAMS = 792  # at most: 6 for each of an H100's 132 multiprocessors; each leaves one partial sum


@triton.jit
def partial_sums_kernel(prediction_ptr, target_ptr, partials_ptr, n, BLOCK: tl.constexpr):
    """Sets partials[p] to the sum of the squares in the blocks of program p.

    These are the blocks p, p + programs, p + 2 * programs and so on: the whole grid moves on
    together. Widen the program's number by `.to(tl.int64)` before multiplying, or it overflows on
    vectors of more than 2**31 elements.
    """
    # TODO: square the differences of each block in float32, add them up, store one sum
    pass


@triton.jit
def mean_kernel(partials_ptr, loss_ptr, programs, n, LANES: tl.constexpr):
    """Sets the loss to the sum of `programs` partial sums, divided by n. One program does it."""
    # TODO: load all partial sums in one block, add them up, divide, store
    pass


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    """Fills loss, float32 of shape (1,), with the mean of (prediction - target)².

    `prediction` and `target` are vectors of one length and one dtype.
    """
    n = prediction.numel()
    raise NotImplementedError(
        "12_fused_mse: choose the number of programs, allocate the partial sums, launch both "
        "kernels"
    )
