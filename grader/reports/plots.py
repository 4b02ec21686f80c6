"""A benchmark as two pictures side by side: bandwidth against size, and the roofline."""

from __future__ import annotations

import os
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

from grader.model import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from grader.grading import Benchmark, Point

# Okabe and Ito's colours, which people with any colour vision can tell apart; markers differ too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#555555"
MEBIBYTE = 2**20
SUFFIXES = (".png", ".svg", ".pdf")


def require_writable(path: Path) -> None:
    """Raise UsageError, before anything is measured, if no picture can be written there."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"The picture {path} must end in {', '.join(SUFFIXES)}.", "Give it such a name."
        )
    if not os.access(path.parent, os.W_OK):
        raise UsageError(
            f"The folder of {path} does not exist, or you may not write to it.", "Make that folder."
        )


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
                f"The picture {path} cannot be written: {error}.", "Give another path."
            ) from None


def _styles(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Return hollow markers of falling size: one that lies on another hides nothing."""
    looks = cycle(zip(COLOURS, MARKERS, strict=True))
    return {
        name: {
            "color": colour,
            "marker": marker,
            "markersize": max(5, 12 - 2 * number),
            "markerfacecolor": "none",
            "markeredgewidth": 1.6,
        }
        for number, (name, (colour, marker)) in enumerate(
            zip(benchmark.contenders, looks, strict=False)
        )
    }


def _escaped(name: str) -> str:
    """Escape a file's name for matplotlib: `$` begins a formula, and a leading `_` hides it."""
    return (f" {name}" if name.startswith("_") else name).replace("$", r"\$")


def _points(benchmark: Benchmark, contender: str) -> list[Point]:
    return [p for p in benchmark.points if p.contender == contender and p.bandwidth is not None]


def _bandwidth(axes: Axes, benchmark: Benchmark) -> None:
    ceiling = benchmark.ceiling / 1e9
    axes.set_title("Bandwidth against size")
    axes.set_xlabel("least bytes that one call moves (MiB)")
    axes.set_ylabel("bandwidth (GB/s)")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    top = ceiling
    for name, style in _styles(benchmark).items():
        points = _points(benchmark, name)
        x = [p.bytes / MEBIBYTE for p in points]
        y = [(p.bandwidth or 0) / 1e9 for p in points]
        label = _escaped(name if points else f"{name}: no figure")
        axes.plot(x, y, linewidth=1.5, label=label, **style)
        top = max(top, *y, 0)
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
    axes.legend(loc="best")


def _roofline(axes: Axes, benchmark: Benchmark) -> None:
    """Plot operations per second against operations per byte, at each contender's largest size.

    All share the intensity of the task: a kernel that moves more bytes lies lower.
    """
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
    slope = f"memory: {ceiling:,.0f} GB/s"
    axes.loglog([low, corner], [low * ceiling, corner * ceiling], color=GREY, label=slope)
    axes.set_xlim(low, high)
    axes.set_ylim(min(min(y for _, y, *_ in dots) / 3, low * ceiling / 2), corner * ceiling * 4)
    axes.grid(alpha=0.25)
    if ridge is not None and benchmark.peak_flops is not None:
        peak = benchmark.peak_flops / 1e9
        flat = f"arithmetic: {peak / 1e3:,.1f} TFLOP/s, float32"
        axes.plot([ridge, high], [peak, peak], color=GREY, linestyle="--", label=flat)
        axes.plot([ridge], [peak], color=GREY, marker="*", markersize=11)
        axes.annotate(
            f"ridge: {ridge:.1f} FLOP/byte",
            (ridge, peak),
            xytext=(0, 10),
            textcoords="offset points",
            color=GREY,
            horizontalalignment="center",
        )
    for x, y, name, style in dots:
        label = _escaped(f"{name}: {y:,.0f} GFLOP/s")
        axes.plot([x], [y], linestyle="none", label=label, **style)
    axes.legend(loc="best")
