"""Free GPU memory, and how much of it is reserved from the kernel."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.model import MIB

# Memory that a kernel may hold on a GPU if it does not grow with the arguments. On an H200 honest
# kernels held 78 MiB when torch loaded kernels of its own, 54 MiB for its pool of streams, 150 MiB
# with a recorded graph, and 332 MiB with an autotuner's buffer. A copy of an argument cannot
# hide here, because it grows with the argument.
FIXED_ALLOWANCE = 512 * MIB
# A kernel may hold this much more while it is timed than in the memory step.
SLACK = 128 * MIB
# For the judge's own work. With two, one of 40 measurements of 01 on an H100 ran out of memory.
PIECES = 3


def allowance(held_bytes: int) -> int:
    """Return the bytes that a kernel may hold while it is timed.

    `held_bytes` is the memory that a call held in the memory step. FIXED_ALLOWANCE is not added: a
    kernel that held as many bytes from the start could use twice as many for a copy of its inputs.
    """
    return max(FIXED_ALLOWANCE, held_bytes + SLACK)


def free_bytes() -> int:
    return torch.cuda.mem_get_info()[0]


def available() -> int:
    return free_bytes() + torch.cuda.memory_reserved()


def reserve_for_judge(piece_bytes: int) -> None:
    """Reserve PIECES more pieces of memory than torch has by now, for the judge's own work.

    The same work may need more memory the second time: torch cuts a small tensor from a large
    piece, and while that tensor lives, takes a new piece for the next large one.
    """
    enough, taken = torch.cuda.memory_reserved() + PIECES * piece_bytes, []
    while torch.cuda.memory_reserved() < enough:
        taken.append(torch.empty(piece_bytes, dtype=torch.uint8, device="cuda"))


def reserve_from_kernel(held_bytes: int) -> Tensor | None:
    """Occupy all free memory beyond the kernel's allowance; None when nothing lies beyond it.

    While the tensor lives, a kernel cannot hold more than it did in the memory step. The judge
    gets no more memory either: `reserve_for_judge` must come first.
    """
    spare = free_bytes() - allowance(held_bytes)
    return torch.empty(spare, dtype=torch.uint8, device="cuda") if spare > 0 else None
