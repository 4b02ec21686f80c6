"""A benchmark as a table for a terminal, and a profile as a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading import WRONG
from grader.speed import L2_MULTIPLE

if TYPE_CHECKING:
    from grader.grading import Benchmark, Point
    from grader.speed import Profile

MICROSECONDS = 1e6  # in a second


def report(benchmark: Benchmark) -> str:
    parts = [table(benchmark)]
    if benchmark.profile is not None:
        parts.append(profile(benchmark.profile))
    return "\n\n".join(parts)


def table(benchmark: Benchmark) -> str:
    """Return one line for each size; for each contender microseconds a call and GB/s."""
    by_place = {(p.contender, p.case): p for p in benchmark.points}
    head = ["size", "MiB", *benchmark.contenders]
    rows = [head]
    for size in benchmark.sizes:
        mark = "" if size.l2_multiple >= L2_MULTIPLE else "*"
        cells = [_cell(by_place.get((name, size.case))) for name in benchmark.contenders]
        rows.append([size.case + mark, f"{size.bytes / 2**20:,.1f}", *cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{benchmark.exercise}  {benchmark.title}, on {benchmark.environment.device}"]
    for row in rows:
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    lines.append("each cell: microseconds a call, then GB/s of the least bytes")
    lines.append(f"ceiling: {benchmark.ceiling / 1e9:,.0f} GB/s, at the largest size")
    if any(size.l2_multiple < L2_MULTIPLE for size in benchmark.sizes):
        lines.append(
            f"* all calls together hold less than {L2_MULTIPLE} L2 caches: the cache may have "
            "served some of the bytes"
        )
    failed = (point for point in benchmark.points if point.problem not in ("", WRONG))
    lines += [f"{point.contender}: {point.problem}" for point in failed]
    return "\n".join(lines)


def _cell(point: Point | None) -> str:
    if point is None:
        return "–"
    if point.seconds is None or point.bandwidth is None:
        return WRONG if point.problem == WRONG else "failed"
    return f"{point.seconds * MICROSECONDS:,.1f} {point.bandwidth / 1e9:>7,.0f}"


def profile(profile: Profile) -> str:
    if profile.problem:
        return f"profile: {profile.problem}\nnext: {profile.next_step}"
    moved = profile.dram_read + profile.dram_written
    launches = "1 launch" if profile.launches == 1 else f"{profile.launches} launches"
    lines = [
        f"profile of one call of your kernel, {launches}, by Nsight Compute",
        f"  memory read    {profile.dram_read / 1e9:,.2f} GB",
        f"  memory written {profile.dram_written / 1e9:,.2f} GB",
        f"  together       {moved / profile.needed:.2f} times the least bytes",
    ]
    if profile.l2_hit_rate is not None:
        lines.append(f"  L2 hits        {profile.l2_hit_rate:.0f} % of accesses")
    if profile.occupancy is not None:
        lines.append(f"  occupancy      {profile.occupancy:.0f} % of the warps that fit on the GPU")
    lines += [
        f"  warps stall    {stall.warps:.1f} at a time: {stall.reason}" for stall in profile.stalls
    ]
    return "\n".join(lines)
