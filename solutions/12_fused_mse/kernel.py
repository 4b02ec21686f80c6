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
    # BEGIN SOLUTION: square the differences of each block in float32, add them up, store one sum
    program = tl.program_id(0).to(tl.int64)
    step = tl.num_programs(0) * BLOCK
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(program * BLOCK, n, step):
        offsets = tl.arange(0, BLOCK) + start
        inside = offsets < n
        # Both are 0 in masked lanes, and so is their difference: it adds nothing.
        prediction = tl.load(prediction_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        target = tl.load(target_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        difference = prediction - target
        sums += difference * difference
    tl.store(partials_ptr + program, tl.sum(sums, axis=0))
    # END SOLUTION


@triton.jit
def mean_kernel(partials_ptr, loss_ptr, programs, n, LANES: tl.constexpr):
    """Sets the loss to the sum of `programs` partial sums, divided by n. One program does it."""
    # BEGIN SOLUTION: load all partial sums in one block, add them up, divide, store
    lanes = tl.arange(0, LANES)
    partials = tl.load(partials_ptr + lanes, mask=lanes < programs, other=0.0)
    tl.store(loss_ptr, tl.sum(partials, axis=0) / n)
    # END SOLUTION


def mse(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    """Fills loss, float32 of shape (1,), with the mean of (prediction - target)².

    `prediction` and `target` are vectors of one length and one dtype.
    """
    n = prediction.numel()
    # BEGIN SOLUTION: choose the number of programs, allocate the partial sums, launch both kernels
    programs = min(PROGRAMS, triton.cdiv(n, BLOCK))
    partials = torch.empty(programs, dtype=torch.float32, device=prediction.device)
    partial_sums_kernel[(programs,)](prediction, target, partials, n, BLOCK=BLOCK)
    # The second launch begins when the first has ended, and adds in the same order every time.
    lanes = triton.next_power_of_2(PROGRAMS)
    mean_kernel[(1,)](partials, loss, programs, n, LANES=lanes)
    # END SOLUTION
