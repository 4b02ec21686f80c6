"""The pictures that a learner's page has beside those of a published solution."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator, NullFormatter

from grader.model import (
    HeldOverCall,
    Memory,
    Result,
    Speed,
    Status,
    limit_in_words,
    percent,
    size_in_words,
)
from grader.reports.small_plots import (
    BLUE,
    INK,
    LINE,
    ORANGE,
    PAPER,
    SOFT,
    TRACK,
    Plot,
    drawn,
    finished,
    halves,
    label_rows,
)
from grader.speed import held_to

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sizes_plot(speed: Speed) -> Plot:
    """Draw the share at each scored size, with the two gates of each."""
    figure, axes = drawn(len(speed.sizes))
    for row, one in enumerate(speed.sizes):
        axes.barh([row], [1.0], color=TRACK, height=0.62)
        axes.barh([row], [one.share], color=BLUE, height=0.42)
        for gate in (one.passing, one.great):
            axes.plot([gate, gate], [row - 0.36, row + 0.36], color=ORANGE, linewidth=1.6)
        axes.text(
            max(one.share, one.great, 1.0) + 0.02, row, percent(one.share), color=INK, va="center"
        )
    label_rows(axes, [one.case for one in speed.sizes])
    axes.set_xlim(0, max(1.0, *(one.share for one in speed.sizes)) * 1.3)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value * 100:.0f} %" if value <= 1 else "")
    axes.set_xlabel("share; lines: pass and great")
    words = "; ".join(
        f"{one.case}: {percent(one.share)} of {held_to(one)}, {percent(one.passing)} passes, "
        f"{percent(one.great)} is great"
        for one in speed.sizes
    )
    return finished("sizes", "Share over sizes", figure, f"Share over sizes: {words}.")


def memory_roof_plot(points: Sequence[tuple[Speed, int]]) -> Plot:
    """Draw a roofline of memory alone, and the point of each size with its operations a call."""
    figure, axes = drawn(5)
    places = [
        (operations / one.bytes_moved, operations / one.time_ms / 1e9, one)
        for one, operations in points
    ]
    slope = statistics.median(one.ceiling_gbps for _, _, one in places) / 1e3
    low, high = min(x for x, _, _ in places) / 8, max(x for x, _, _ in places) * 8
    axes.loglog([low, high], [low * slope, high * slope], color=ORANGE, linewidth=1.6)
    axes.text(low * 1.2, high * slope / 3, f"memory {slope:,.3g} TB/s", color=ORANGE)
    for per_byte, rate, _ in places:
        axes.plot([per_byte], [rate], "o", color=BLUE, markersize=7)
        axes.text(per_byte * 1.15, rate / 1.25, f"{rate:,.3g}", color=INK, va="top")
    axes.set_xlim(low, high)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    axes.grid(color=LINE, linewidth=0.6)
    axes.set_xlabel("operations a byte")
    axes.set_ylabel("TFLOP/s", color=INK)
    shown = "; ".join(
        f"{one.case}: {rate:,.3g} TFLOP/s at {per_byte:,.3g} operations a byte"
        for per_byte, rate, one in places
    )
    alt = f"Roofline of memory: it allows {slope:,.3g} TB/s; arithmetic was not measured. {shown}."
    return finished("roofline", "Roofline of memory", figure, alt)


def memory_plot(memory: Memory) -> Plot:
    """Draw the peak of memory that a call held beyond its arguments, and the most that passes."""
    figure, axes = drawn(1)
    used = memory.peak_bytes / memory.most_bytes if memory.most_bytes else memory.peak_bytes > 0
    axes.barh([0], [1.0], color=TRACK, height=0.62)
    axes.barh([0], [float(used)], color=BLUE, height=0.42)
    axes.plot([1.0, 1.0], [-0.36, 0.36], color=ORANGE, linewidth=1.6)
    held = size_in_words(memory.peak_bytes)
    most = limit_in_words(memory.most_bytes, "")
    inside = used < 0.1
    where = 0.012 if inside else max(float(used), 1.0) + 0.02
    axes.text(where, 0, f"{held}, {most}", color=INK, va="center")
    axes.set_ylim(-0.6, 0.6)
    axes.set_yticks([])
    axes.set_xlim(0, max(float(used), 1.0) * (1.05 if inside else 1.9))
    axes.set_xticks([0, 1.0], ["0", "allowed"])
    limit = limit_in_words(memory.most_bytes, memory.rule)
    alt = f"Memory beyond the arguments, {memory.case}: {held}; {limit}."
    return finished("memory", "Memory beyond the arguments", figure, alt)


def over_call_plot(held: HeldOverCall) -> Plot:
    """Draw the bytes held after each allocation and release, by the kernel and by torch."""
    figure, left, right = halves(4)
    most = [max(size for _, size in points) for points in (held.kernel, held.torch)]
    top = max(*most, 1)
    unit = 1024 ** min(3, (top.bit_length() - 1) // 10)
    _draw_held(left, held.kernel, unit, BLUE)
    _draw_held(right, held.torch, unit, ORANGE)
    outputs = held.torch_outputs / unit
    right.plot(right.get_xlim(), [outputs, outputs], color=INK, linestyle=(0, (3, 2)))
    for axes, whose, peak in ((left, "the kernel", most[0]), (right, "torch", most[1])):
        words = f"at most {in_bytes(peak)}" if peak else "nothing"
        axes.set_title(f"{whose}\n{words}", color=INK, fontsize=10.5)
    left.set_ylim(-0.04 * top / unit, 1.06 * top / unit)
    left.set_ylabel(in_bytes(unit).removeprefix("1 "), color=INK)
    right.tick_params(axis="y", length=0)
    words = "allocations and releases, in order; dashed: torch's outputs"
    figure.supxlabel(words, color=SOFT, fontsize=10.5)
    alt = (
        f"Bytes held over one call, {held.case}, after each allocation and release. The kernel: at "
        f"most {in_bytes(most[0])} beyond its arguments, {held.kernel[-1][0]:,} changes. Torch: at "
        f"most {in_bytes(most[1])} beyond its inputs, {held.torch[-1][0]:,} changes; its outputs "
        f"are {in_bytes(held.torch_outputs)}."
    )
    return finished("over_call", f"Memory over one call, {held.case}", figure, alt)


def _draw_held(axes: Axes, points: Sequence[tuple[int, int]], unit: int, colour: str) -> None:
    last, held = points[-1]
    numbers = [*(number for number, _ in points), last + 1]
    heights = [size / unit for _, size in (*points, (last, held))]
    axes.fill_between(numbers, heights, step="post", color=TRACK)
    axes.step(numbers, heights, where="post", color=colour, linewidth=1.8)
    axes.set_xlim(0, last + 1)
    ticks = MaxNLocator(nbins=3, integer=True).tick_values(0, last)
    axes.set_xticks([tick for tick in ticks if 0 <= tick <= last])
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_major_formatter("{x:g}")


def history_plot(results: Sequence[Result]) -> Plot:
    """Draw the points of each check, oldest first, and the share of those that measured one."""
    figure, axes = drawn(4)
    numbers = range(1, len(results) + 1)
    earned = [one.points / one.max_points if one.max_points else 0.0 for one in results]
    axes.plot(numbers, earned, color=BLUE, linewidth=1.2)
    for number, (one, part) in enumerate(zip(results, earned, strict=True), start=1):
        fill = BLUE if one.status is Status.PASS else PAPER
        axes.plot([number], [part], "o", color=BLUE, markerfacecolor=fill, markersize=6)
    measured = [(n, share_of(one)) for n, one in enumerate(results, start=1)]
    known = [(number, share) for number, share in measured if share is not None]
    axes.plot([n for n, _ in known], [share for _, share in known], "D", color=ORANGE, markersize=5)
    top = max([1.0, *(share for _, share in known)])
    axes.set_ylim(-0.05, top * 1.06)
    axes.set_xlim(0.5, len(results) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value * 100:.0f} %")
    axes.set_xlabel("check" + ("; diamonds: share" if known else ""))
    axes.set_ylabel("points", color=INK)
    passed = sum(one.status is Status.PASS for one in results)
    alt = f"Points of {len(results)} checks, of which {passed} passed: from {results[0].points} "
    alt += f"to {results[-1].points} of {results[-1].max_points}. The table has each."
    return finished("history", "Points of each check", figure, alt)


def share_of(result: Result) -> float | None:
    """Return the share that a check measured, None where it measured none."""
    return next((step.speed.share for step in result.steps if step.speed), None)


def in_bytes(count: int) -> str:
    """Return such as `0 B`, `1.5 KiB` and `128 MiB`."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:,.4g} {unit}"
