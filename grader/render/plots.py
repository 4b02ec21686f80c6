"""A benchmark as two pictures side by side: bandwidth against size, and the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from grader.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from grader.bench import Benchmark, Point

# Okabe and Ito's colours, which people with any colour vision can tell apart; markers differ too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#555555"
MEBIBYTE = 2**20
NARROWEST = 0.055  # of an axis's height: labels closer than this are moved apart


def draw(benchmark: Benchmark, path: Path) -> None:
    """Write both pictures to `path`, in the format of its suffix. Raises UsageError."""
    with matplotlib.rc_context({"font.size": 10, "svg.fonttype": "none"}):
        figure = Figure(figsize=(14, 5.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        figure.suptitle(f"{benchmark.exercise} on {benchmark.environment.device}")
        _bandwidth(left, benchmark)
        _roofline(right, benchmark)
        try:
            figure.savefig(path, dpi=144)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The picture {path} cannot be written: {error}.", "Give a path that ends in .png."
            ) from None


def _styles(benchmark: Benchmark) -> dict[str, tuple[str, str]]:
    return dict(zip(benchmark.contenders, cycle(zip(COLOURS, MARKERS, strict=True)), strict=False))


def _points(benchmark: Benchmark, contender: str) -> list[Point]:
    return [p for p in benchmark.points if p.contender == contender and p.bandwidth is not None]


def _bandwidth(axes: Axes, benchmark: Benchmark) -> None:
    ceiling = benchmark.ceiling / 1e9
    axes.set_title("Bandwidth against size")
    axes.set_xlabel("least bytes that one call moves (MiB)")
    axes.set_ylabel("bandwidth (GB/s)")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    top = ceiling
    ends = []
    for name, (colour, marker) in _styles(benchmark).items():
        points = _points(benchmark, name)
        if not points:
            continue
        x = [p.bytes / MEBIBYTE for p in points]
        y = [(p.bandwidth or 0) / 1e9 for p in points]
        axes.plot(x, y, color=colour, marker=marker, markersize=6, linewidth=1.5)
        top = max(top, *y)
        ends.append((y[-1], name, colour))
    axes.set_ylim(0, 1.12 * top)
    axes.axhline(ceiling, color=GREY, linestyle="--", linewidth=1)
    axes.annotate(
        f"ceiling {ceiling:,.0f} GB/s",
        (0.01, ceiling),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        color=GREY,
    )
    axes.grid(alpha=0.25)
    heights = spread([y / (1.12 * top) for y, *_ in ends])
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        axes.annotate(
            name,
            (1.01, height),
            xycoords="axes fraction",
            color=colour,
            verticalalignment="center",
            annotation_clip=False,
        )


def _roofline(axes: Axes, benchmark: Benchmark) -> None:
    """Operations per second against operations per least byte, at each contender's largest size."""
    axes.set_title("Roofline at the largest size")
    axes.set_xlabel("operations per byte that must move (FLOP/byte)")
    axes.set_ylabel("operations per second (GFLOP/s)")
    flops = {size.case: size.flops for size in benchmark.sizes}
    dots = []
    for name, style in _styles(benchmark).items():
        for point in _points(benchmark, name)[-1:]:
            count = flops[point.case]
            if count and point.seconds:
                dots.append((count / point.bytes, count / point.seconds / 1e9, name, style))
    if not dots:
        axes.text(0.5, 0.5, "no contender to show", transform=axes.transAxes, ha="center")
        return
    ridge, ceiling = benchmark.ridge, benchmark.ceiling / 1e9
    low = min(x for x, *_ in dots) / 4
    high = (ridge or max(x for x, *_ in dots)) * 8
    corner = ridge or high
    axes.loglog([low, corner], [low * ceiling, corner * ceiling], color=GREY, linewidth=1.5)
    axes.set_xlim(low, high)
    bottom = min(y for _, y, *_ in dots) / 8
    axes.set_ylim(min(bottom, low * ceiling / 2), corner * ceiling * 4)
    axes.grid(alpha=0.25)
    axes.annotate(
        f"memory: {ceiling:,.0f} GB/s",
        (low, low * ceiling),
        xytext=(8, 34),
        textcoords="offset points",
        color=GREY,
    )
    if ridge is not None and benchmark.peak_flops is not None:
        peak = benchmark.peak_flops / 1e9
        axes.plot([ridge, high], [peak, peak], color=GREY, linewidth=1.5)
        axes.plot([ridge], [peak], color=GREY, marker="*", markersize=11)
        axes.annotate(
            f"ridge: {ridge:.1f} FLOP/byte\nfloat32 peak: {peak / 1e3:.1f} TFLOP/s",
            (ridge, peak),
            xytext=(0, 10),
            textcoords="offset points",
            color=GREY,
            horizontalalignment="center",
        )
    for x, y, _, (colour, marker) in dots:
        axes.plot([x], [y], color=colour, marker=marker, markersize=8)
    # Where they lie in the picture: all have one intensity, so that their labels would overlap.
    box = [axes.transAxes.inverted().transform(axes.transData.transform((x, y))) for x, y, *_ in dots]
    heights = spread([float(where[1]) for where in box])
    for height, where, (x, y, name, (colour, _)) in zip(heights, box, dots, strict=True):
        axes.annotate(
            f"{name}: {y:,.0f}",
            (x, y),
            xytext=(float(where[0]) + 0.06, height),
            textcoords="axes fraction",
            color=colour,
            verticalalignment="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6},
        )


def spread(heights: Sequence[float]) -> list[float]:
    """The heights (shares of an axis), moved up as far as needed to be NARROWEST apart."""
    moved = [0.0] * len(heights)
    last = float("-inf")
    for index in sorted(range(len(heights)), key=heights.__getitem__):
        last = max(heights[index], last + NARROWEST)
        moved[index] = last
    over = max(0.0, max(moved, default=0.0) - 1.0)
    return [height - over for height in moved]
