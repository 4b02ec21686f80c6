"""How large the scored case is on a given GPU: pure arithmetic on what the card tells.

Nothing is a constant size: a call has to last long enough to be timed, the calls of one go together
have to dwarf the L2 cache, and all of it has to fit into the free memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.model import CannotGrade

CALL_S = 1e-3  # seconds that one call should last at the card's full bandwidth: many launches long
CALLS = 16  # per go: 16 ms at full bandwidth, of which starting and stopping the clock is ~2 %
MIN_CALLS = 4
L2_MULTIPLE = 40  # bounds what caching can gain to 1.9 %: W / (W - 0.75 L2) for W = 40 L2
MEMORY_SHARE = 0.6  # of the free memory; the rest is for the judge's own answers


@dataclass(frozen=True)
class Gpu:
    """What sizing needs to know: bytes per second, and bytes."""

    bandwidth: float
    l2: int
    free: int


@dataclass(frozen=True)
class Sizing:
    """`rows` of the scored case (elements of it, for 1-D arguments), and calls per go."""

    rows: int
    calls: int


def size(gpu: Gpu, bytes_per_row: int, multiple: int = 1, rounds: float = 1.0) -> Sizing:
    """Rows per call and calls per go. `bytes_per_row` counts all arguments; rows are a multiple.

    A call moves at least `rounds` times the bytes of its arguments: twice those that it updates.
    Raises CannotGrade when the free memory holds too little to measure anything.
    """
    room = int(MEMORY_SHARE * gpu.free)
    wanted = max(gpu.bandwidth * CALL_S / rounds, L2_MULTIPLE * gpu.l2 / CALLS)
    per_call = min(wanted, room / MIN_CALLS)
    rows = int(per_call // bytes_per_row) // multiple * multiple
    calls = min(CALLS, room // (rows * bytes_per_row)) if rows else 0
    if calls < MIN_CALLS or calls * rows * bytes_per_row < L2_MULTIPLE * gpu.l2 // 2:
        raise CannotGrade(
            f"The GPU has {gpu.free / 2**20:,.0f} MiB free, too little to measure bandwidth "
            f"beyond its L2 cache of {gpu.l2 / 2**20:,.0f} MiB.",
            "See with `nvidia-smi` which program holds the rest.",
        )
    return Sizing(rows=rows, calls=calls)
