"""The GPU's free memory as the judge sees it, and what of it a kernel does not get."""

from __future__ import annotations

import torch
from torch import Tensor

MIB = 1 << 20
# What a kernel may hold on a GPU if it does not grow with the arguments. On an H200 honest kernels
# held 78 MiB when torch loads kernels of its own, 54 MiB for its pool of streams, 150 MiB with a
# recorded graph, 332 MiB with an autotuner's buffer. A copy of an argument does not hide in
# it: that grows.
FIXED = 512 * MIB
# By how much a kernel may hold more while it is timed than it held when it was watched.
SLACK = 128 * MIB


def room(held: int) -> int:
    """Bytes that a kernel may hold while it is timed, if a call held so many when it was watched.

    FIXED is not added to these: who held it from the start would have twice that for a copy of its
    inputs.
    """
    return max(FIXED, held + SLACK)


def free_bytes() -> int:
    return torch.cuda.mem_get_info()[0]


def available() -> int:
    """Bytes that are free, or that the judge has for its own work."""
    return free_bytes() + torch.cuda.memory_reserved()


def keep_room(piece: int) -> None:
    """Take two more pieces of so many bytes than torch has by now, for the judge's own work.

    What was done once may need more memory the next time: torch cuts a large piece of what it has
    to hold a small tensor, and while that lives, takes a new one for the next large tensor.
    """
    enough, taken = torch.cuda.memory_reserved() + 2 * piece, []
    while torch.cuda.memory_reserved() < enough:
        taken.append(torch.empty(piece, dtype=torch.uint8, device="cuda"))


def hold_back(held: int) -> Tensor | None:
    """All free memory but the room of a kernel that held so much; None where all is less.

    While the tensor lives, a kernel cannot take more than it took there, nor does the judge get
    more: its own work must have been done once before, with room to spare.
    """
    spare = free_bytes() - room(held)
    return torch.empty(spare, dtype=torch.uint8, device="cuda") if spare > 0 else None
