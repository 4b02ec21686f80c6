"""The measurements and counts of a step, as labelled lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from grader.model import Compiled, Count, Resources, Speed, compiled_words, percent
from grader.reports.layout import DETAIL, once, row
from grader.speed import rates_of

RAISED = 1.005  # a smaller raise by the judge's clock is not worth a line


def speed_rows(speed: Speed, width: int) -> Text:
    bound, rate, reference = rates_of(speed)
    measured = (
        f"{duration(speed.time_ms)} per call · {rate:,.0f} {bound.unit} · "
        f"{percent(speed.share)} of {bound.held_to} ({reference:,.0f} {bound.unit})"
    )
    if speed.sizes:
        measured = f"{percent(speed.share)}, the geometric mean of {len(speed.sizes)} sizes"
    interval = f"{percent(speed.share_low)} to {percent(speed.share_high)} with 95 % confidence"
    gates = f"pass {percent(speed.passing)}, great {percent(speed.great)}"
    start = (
        f"first call {speed.first_call_s:.1f} s, with compiling · "
        f"{speed.latency_case} takes {speed.latency_us:.1f} µs"
    )
    rows = [("measured", measured), ("interval", interval)]
    rows += [] if speed.sizes else [("gates", gates)]
    rows += [("start", start)]
    if speed.raised >= RAISED:
        longer = percent(speed.raised - 1)
        clock = (
            f"calls took {longer} longer by the judge's clock than by CUDA events: the CPU is "
            "busy, or the events miss some work"
        )
        rows.append(("clock", clock))
    rows += zip(once("limit"), speed.explanation, strict=False)
    rows += zip(once("compiled"), map(_resources, speed.resources), strict=False)
    words = Text("".join(row(label, text, width) for label, text in rows))
    return Text().join((sizes_table(speed.sizes), words)) if speed.sizes else words


def sizes_table(sizes: Sequence[Speed]) -> Text:
    """Write a line for each scored case, red where its share is below its gate."""
    rows: list[tuple[str, ...]] = [("", "per call", "", "share", "pass", "great")]
    rows += [_size_cells(one) for one in sizes]
    below = [False, *(one.share < one.passing for one in sizes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = Text()
    for cells, red in zip(rows, below, strict=True):
        name, *numbers = (
            f"{cell:<{width}}" if number == 0 else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        style = "dim" if cells is rows[0] else "red" if red else ""
        table.append(f"{DETAIL}{'  '.join((name, *numbers))}\n", style=style)
    return table


def _size_cells(one: Speed) -> tuple[str, ...]:
    bound, rate, _ = rates_of(one)
    return (
        *(one.case, duration(one.time_ms), f"{rate:,.0f} {bound.unit}"),
        *(percent(one.share), percent(one.passing), percent(one.great)),
    )


def duration(ms: float) -> str:
    """Return such as `1.35 ms`, and `18.3 µs` below a tenth of a millisecond."""
    return f"{ms:.3g} ms" if ms >= 0.1 else f"{ms * 1e3:.3g} µs"


def compiled_rows(compiled: Sequence[Compiled], width: int, brief: bool = False) -> Text:
    """Write a line for each GPU that was not required, of its largest kernel.

    With `brief`, one line names those for which the kernels compile.
    """
    others = dict.fromkeys(one.target for one in compiled if not one.required)
    words, compile_too = [], []
    for target in others:
        own = [one for one in compiled if one.target == target]
        refused = next((one for one in own if one.registers is None), None)
        if refused:
            words.append(f"sm_{target}: {refused.dtype}: {refused.error}")
        elif brief:
            compile_too.append(f"sm_{target}")
        else:
            worst = max(own, key=lambda one: one.registers or 0)
            words.append(f"sm_{target}: {compiled_words(worst, brief=True)}")
    words += [f"compiles for {' and '.join(compile_too)}"] if compile_too else []
    rows = (row(label, text, width) for label, text in zip(once("also"), words, strict=False))
    return Text("".join(rows))


def counts_table(counts: Sequence[Count]) -> Text:
    rows = [("", "yours", "allowed", "best known")]
    rows += [
        (one.count.replace("_", " "), f"{one.value:,}", f"{one.most:,}", f"{one.best:,}")
        for one in counts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = Text()
    for cells, count in zip(rows, (None, *counts), strict=True):
        name, *numbers = (
            f"{cell:<{width}}" if number == 0 else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        over = count is not None and count.value > count.most
        style = "dim" if count is None else "red" if over else ""
        table.append(f"{DETAIL}{'   '.join((name, *numbers))}\n", style=style)
    return table


def _resources(kernel: Resources) -> str:
    """Write `_softmax_kernel: 48 registers, none spilled, 4 KiB shared, 256 threads, …`."""
    if kernel.spills is None:
        spilled = "spills unknown"
    else:
        spilled = f"{kernel.spills} bytes spilled" if kernel.spills else "none spilled"
    shared = f"{_size(kernel.shared_bytes)} shared" if kernel.shared_bytes else "no shared memory"
    fits = "unknown" if kernel.occupancy is None else percent(kernel.occupancy)
    times = f", launched {kernel.launches} times" if kernel.launches > 1 else ""
    return (
        f"{kernel.kernel}: {kernel.registers} registers, {spilled}, {shared}, "
        f"{kernel.threads} threads, occupancy {fits}{times}"
    )


def _size(size: int) -> str:
    return f"{size / 1024:.1f}".removesuffix(".0") + " KiB" if size >= 1024 else f"{size} bytes"
