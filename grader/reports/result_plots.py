"""The figures of a result as small pictures. They draw only values of the result."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator, NullFormatter

from grader.model import Count, Speed, Step, Traffic, counted, how_often, percent, printable
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
    label_rows,
)
from grader.speed import held_to

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_NAME = 24  # characters of an argument's or a count's name


def plots(steps: Sequence[Step]) -> list[Plot]:
    """Draw a picture each for speed, traffic and counts, as far as the steps have them."""
    made = []
    for step in steps:
        if step.speed:
            made.append(_share(step.speed))
            sizes = [one for one in step.speed.sizes or (step.speed,) if _has_roofs(one)]
            made += [_roofline(sizes)] if sizes else []
        if step.traffic:
            made.append(_traffic(step.traffic))
        if step.counts:
            made.append(_counts(step.counts))
    order = ("share", "roofline", "traffic", "counts")
    return sorted(made, key=lambda plot: order.index(plot.name))


def _share(speed: Speed) -> Plot:
    figure, axes = drawn(3)
    end = max(1.0, speed.share_high, speed.great) * 1.02
    axes.barh([0], [1.0], color=TRACK, height=0.62)
    axes.barh([0], [speed.share], color=BLUE, height=0.62)
    axes.errorbar(
        [speed.share],
        [0],
        xerr=[[speed.share - speed.share_low], [speed.share_high - speed.share]],
        color=INK,
        capsize=5,
        linewidth=1.4,
    )
    inside = speed.share > 0.2
    axes.text(
        0.012 if inside else max(speed.share, speed.share_high) + 0.012,
        0,
        percent(speed.share),
        color=PAPER if inside else INK,
        va="center",
        weight="bold",
    )
    _draw_gates(axes, speed)
    axes.set_ylim(-0.85, 1.1)
    axes.set_xlim(0, end)
    axes.set_yticks([])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value * 100:.0f} %")
    axes.set_xlabel(f"share of {held_to(speed)}")
    between = f"{percent(speed.share_low)} to {percent(speed.share_high)}"
    allowed = (
        f"; its traffic allows {percent(speed.attainable)}" if speed.attainable is not None else ""
    )
    alt = (
        f"Share of {held_to(speed)}: {percent(speed.share)}, 95 % interval {between}. "
        f"{percent(speed.passing)} passes, {percent(speed.great)} is great{allowed}."
    )
    return finished("share", f"Share of {held_to(speed)}", figure, alt)


def _draw_gates(axes: Axes, speed: Speed) -> None:
    # Labels of lines that lie close together go to different heights.
    lines = [(speed.passing, "pass"), (speed.great, "great")]
    if speed.attainable is not None:
        lines.append((speed.attainable, "its traffic allows"))
    for height, (share, word) in zip((0.5, 0.86, -0.62), lines, strict=False):
        below = height < 0
        axes.plot(
            [share, share],
            [-0.31, height] if not below else [0.31, height],
            color=ORANGE if below else INK,
            linestyle=(0, (3, 2)) if below else "-",
            linewidth=1.4,
        )
        right = share > 0.5
        axes.text(
            share + (-0.008 if right else 0.008),
            height,
            f"{word} {percent(share)}",
            color=ORANGE if below else INK,
            ha="right" if right else "left",
            va="center",
        )


def _roofline(sizes: Sequence[Speed]) -> Plot:
    """Draw operations a second against operations a byte: both roofs, and a point for each size."""
    points = sorted((_operations_per_byte(one), one.rate or 0.0, one.case) for one in sizes)
    rates = [{roof.name: roof.rate for roof in one.roofs} for one in sizes]
    peak = statistics.median(each["arithmetic"] for each in rates)
    slope = statistics.median(  # of the roof that memory makes: 1e12 bytes a second
        each["memory"] / _operations_per_byte(one) for each, one in zip(rates, sizes, strict=True)
    )
    ridge = peak / slope
    low, high = min(points[0][0], ridge) / 3, max(points[-1][0], ridge) * 3
    figure, axes = drawn(5)
    axes.loglog([low, ridge, high], [low * slope, peak, peak], color=ORANGE, linewidth=1.6)
    for per_byte, rate, _ in points:
        axes.plot([per_byte], [rate], "o", color=BLUE, markersize=7)
        below = (per_byte, rate / 1.25)
        axes.text(*below, f"{rate:,.3g}", color=INK, ha="left", va="top")
    axes.text(ridge, peak * 1.12, f"arithmetic {peak:,.3g}", color=ORANGE)
    axes.text(low * 1.1, peak / 1.8, f"memory {slope:,.3g} TB/s", color=ORANGE)
    axes.set_xlim(low, high)
    axes.set_ylim(low * slope / 1.5, peak * 2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    axes.grid(color=LINE, linewidth=0.6)
    axes.tick_params(which="both", colors=SOFT, length=3)
    axes.set_xlabel("operations a byte")
    axes.set_ylabel("TFLOP/s", color=SOFT)
    shown = "; ".join(
        f"{case}: {rate:,.3g} TFLOP/s at {per_byte:,.3g} operations a byte"
        for per_byte, rate, case in points
    )
    alt = (
        f"Roofline: memory allows {slope:,.3g} TB/s and arithmetic {peak:,.3g} TFLOP/s, which meet "
        f"at {ridge:,.3g} operations a byte. {shown}."
    )
    return finished("roofline", "Roofline", figure, alt)


def _has_roofs(speed: Speed) -> bool:
    positive = {roof.name for roof in speed.roofs if roof.rate > 0}
    return positive >= {"memory", "arithmetic"} and (speed.rate or 0.0) > 0 and speed.time_ms > 0


def _operations_per_byte(speed: Speed) -> float:
    return (speed.rate or 0.0) * 1e12 * speed.time_ms / 1e3 / speed.bytes_moved


def _traffic(traffic: Sequence[Traffic]) -> Plot:
    rows = [
        (f"{printable(each.argument, LONGEST_NAME)} {verb}", number, most)
        for each in traffic
        for verb, number, most in (
            ("read", each.reads, each.most_reads),
            ("written", each.writes, each.most_writes),
        )
        if number or most
    ]
    figure, axes = drawn(len(rows))
    for row, (_, number, most) in enumerate(rows):
        if most is not None:
            axes.barh([row], [most], color=TRACK, height=0.62)
            axes.plot([most, most], [row - 0.36, row + 0.36], color=ORANGE, linewidth=1.6)
        axes.barh([row], [number], color=BLUE, height=0.42)
        allowed = "" if most is None else f" of at most {most}"
        axes.text(
            max(number, most or 0) + 0.04,
            row,
            f"{_times(number)} ×{allowed}",
            color=INK,
            va="center",
        )
    label_rows(axes, [label for label, _, _ in rows])
    longest = max([max(number, most or 0) for _, number, most in rows], default=1)
    axes.set_xlim(0, max(longest, 1) * 1.55)
    axes.set_xlabel("times, on average over the elements")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    words = "; ".join(
        f"{label} {how_often(number)}" + ("" if most is None else f" (at most {how_often(most)})")
        for label, number, most in rows
    )
    return finished("traffic", "Counted reads and writes", figure, f"Traffic: {words}.")


def _counts(counts: Sequence[Count]) -> Plot:
    """Draw each count on a scale of its own: its budget fills the row."""
    figure, axes = drawn(len(counts))
    for row, each in enumerate(counts):
        axes.barh([row], [1.0], color=TRACK, height=0.62)
        used = each.value / each.most if each.most else float(each.value > 0)
        axes.barh([row], [used], color=BLUE, height=0.42)
        axes.plot([1.0, 1.0], [row - 0.36, row + 0.36], color=ORANGE, linewidth=1.6)
        axes.text(
            max(used, 1) + 0.02,
            row,
            f"{each.value:,} of {each.most:,}",
            color=INK,
            va="center",
        )
    label_rows(axes, [printable(each.count, LONGEST_NAME).replace("_", " ") for each in counts])
    most = max(each.value / each.most if each.most else 1.0 for each in counts)
    axes.set_xlim(0, max(most, 1.0) * 1.4)
    axes.set_xticks([0, 1.0], ["0", "budget"])
    words = "; ".join(
        f"{counted(each.value, each.count)}, at most {each.most:,} allowed" for each in counts
    )
    return finished("counts", "Counts against their budgets", figure, f"Counts: {words}.")


def _times(times: float) -> str:
    return f"{times:.2f}".rstrip("0").rstrip(".")
