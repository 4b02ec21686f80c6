"""The measurements and proposals of `grader verify --calibrate`, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.authoring import SPARE, Calibration, Measured, gates_line
from grader.model import percent
from grader.reports.layout import WIDEST, filled

_HEADINGS = ("", "runs", "median", "lowest", "highest", "spread")
_LABEL = 10  # columns of a label, after two blanks


def report(calibrations: Sequence[Calibration], width: int = WIDEST) -> str:
    return "\n".join(_one(one, min(width, WIDEST)) for one in calibrations)


def _one(one: Calibration, width: int) -> str:
    where = " · ".join(part for part in (one.case, one.device) if part)
    rows = [_HEADINGS, *map(_row, one.kernels)]
    name, *columns = (max(map(len, column)) for column in zip(*rows, strict=True))
    table = "".join(
        f"  {row[0]:<{name}}"
        + "".join(
            f"{cell:>{wide + 3}}" for cell, wide in zip(row[1:], columns, strict=True)
        ).rstrip()
        + "\n"
        for row in rows
    )
    notes = "".join(
        filled(text, width, " " * (_LABEL + 2), first=f"  {label:<{_LABEL}}")
        for label, text in _below(one)
    )
    return f"{one.exercise}   {where}\n{table}{notes}"


def _row(kernel: Measured) -> tuple[str, ...]:
    name = "solution" if kernel.kernel == "kernel" else kernel.kernel
    runs = f"{len(kernel.shares)}"
    if kernel.median is None or kernel.lowest is None or kernel.highest is None:
        return (name, runs, "–", "–", "–", "–")
    shares = (kernel.median, kernel.lowest, kernel.highest)
    return (name, runs, *map(percent, shares), f"{100 * (kernel.spread or 0):.2f} %")


def _below(one: Calibration) -> Iterator[tuple[str, str]]:
    for kernel in one.kernels:
        for reason in dict.fromkeys(kernel.left_out):
            times = kernel.left_out.count(reason)
            yield "left out", f"{times} of {kernel.kernel}.py: {reason}"
    yield "proposed", gates_line(one.proposed) or f"nothing: {one.proposed.reason}"
    if one.spare is not None:
        yield "passing", f"{one.passing:.2f} today: {_gate_verdict(one)}"
        runs = len(one.kernels[0].shares)
        yield "great", f"{one.great:.2f} today: reached in {one.great_runs} of {runs} runs"


def _gate_verdict(one: Calibration) -> str:
    spare = one.spare or 0.0
    if spare < 0:
        return f"too high: the slowest run is {percent(-spare)} below it"
    if not one.holds:
        return f"too high: it has {percent(spare)} to spare, and needs {percent(SPARE)}"
    return f"holds, with {percent(spare)} to spare"
