"""The size of the scored case on a given GPU: pure arithmetic on the card's figures.

No size is constant. A call must last long enough to be timed. The calls of one batch together must
dwarf the L2 cache. All of it must fit into the free memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.model import CannotGrade

CALL_S = 1e-3  # seconds that one call should last at the card's full bandwidth: many launches long
CALLS = 16  # per batch: 16 ms at full bandwidth; starting and stopping the clock is ~2 % of it
MIN_CALLS = 4
L2_MULTIPLE = 40  # bounds what caching can gain to 1.9 %: W / (W - 0.75 L2) for W = 40 L2
MEMORY_SHARE = 0.6  # of the free memory; the rest is for the judge's expected outputs


@dataclass(frozen=True)
class Gpu:
    """The GPU's figures that sizing needs: bytes per second, and bytes."""

    bandwidth: float
    l2: int
    free: int


@dataclass(frozen=True)
class Sizing:
    """`rows` of the scored case (elements of it, for 1-D arguments), and calls per batch."""

    rows: int
    calls: int


def fixed_size(gpu: Gpu, bytes_per_call: int, rows: int, most: int = CALLS) -> Sizing:
    """Choose the calls per batch, at most `most`, for a case with so many rows.

    Its arguments need not exceed the L2 cache: the bound is another than memory. Raises CannotGrade
    when the free memory is too small.
    """
    calls = min(most, int(MEMORY_SHARE * gpu.free) // bytes_per_call)
    if calls < MIN_CALLS:
        raise CannotGrade(
            f"The GPU has {gpu.free / 2**20:,.0f} MiB free, too little for {MIN_CALLS} calls with "
            f"{bytes_per_call / 2**20:,.0f} MiB each.",
            "`nvidia-smi` shows which program holds the rest.",
        )
    return Sizing(rows=rows, calls=calls)


def size(gpu: Gpu, bytes_per_row: int, multiple: int = 1, rounds: float = 1.0) -> Sizing:
    """Choose the rows per call, a multiple of `multiple`, and the calls per batch.

    `bytes_per_row` counts all arguments. A call moves at least `rounds` times the bytes of its
    arguments; an argument that it updates counts twice. Raises CannotGrade when the free memory is
    too small to measure anything.
    """
    usable = int(MEMORY_SHARE * gpu.free)
    ideal = max(gpu.bandwidth * CALL_S / rounds, L2_MULTIPLE * gpu.l2 / CALLS)
    per_call = min(ideal, usable / MIN_CALLS)
    rows = int(per_call // bytes_per_row) // multiple * multiple
    calls = min(CALLS, usable // (rows * bytes_per_row)) if rows else 0
    if calls < MIN_CALLS or calls * rows * bytes_per_row < L2_MULTIPLE * gpu.l2 // 2:
        raise CannotGrade(
            f"The GPU has {gpu.free / 2**20:,.0f} MiB free, too little to measure bandwidth "
            f"beyond its L2 cache of {gpu.l2 / 2**20:,.0f} MiB.",
            "`nvidia-smi` shows which program holds the rest.",
        )
    return Sizing(rows=rows, calls=calls)
