"""The findings of `grader verify`, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from grader.authoring import Verified
from grader.model import counted, percent
from grader.reports.layout import DETAIL, WIDEST, row

# The name of each kind in a count, and its expected end.
_KINDS = {
    "stub": ("stubs", " ok"),
    "solution": ("solutions", " pass"),
    "compiled": ("compiled", ", not run without a GPU"),
    "wrong": ("wrong kernels", " rejected"),
    "no_work": ("degenerate outputs", " rejected"),
    "mutant": ("mutants", " rejected"),
    "equivalent": ("equivalent", ""),
    "slower": ("only slower", ""),
    "out_of_reach": ("out of reach", ""),
}


def verification(verified: Sequence[Verified], width: int = WIDEST) -> Text:
    width = min(width, WIDEST)
    report = Text()
    for exercise, group in groupby(verified, key=lambda one: one.exercise):
        kernels = list(group)
        sound = all(one.ok for one in kernels)
        report.append("✔ " if sound else "✘ ", style="green" if sound else "red")
        report.append(exercise, style="bold")
        report.append("  " + " · ".join(_tally(kernels)) + "\n")
        for one in kernels:
            if not one.ok:
                report.append(f"{DETAIL}{one.kernel}\n", style="red")
                for number, line in enumerate(one.change.splitlines()):
                    report.append(row("" if number else "change", line, width))
                report.append(row("expected", one.expected, width))
                report.append(row("actual", one.actual, width))
                report.append(row("detail", one.detail, width))
                report.append(row("next", one.advice, width))
    return report


def _tally(kernels: Sequence[Verified]) -> Iterator[str]:
    for kind, kernels_of_kind in groupby(kernels, key=lambda one: one.kind):
        group = list(kernels_of_kind)
        good = sum(one.ok for one in group)
        match kind:
            case "stub" if len(group) == 1:
                yield "stub ok" if good else "stub not ok"
            case "solution" if len(group) == 1:
                yield "solution passes" if good else "solution does not pass"
            case _:
                some = f"{good} of " if good != len(group) else ""
                what, became = _KINDS[kind]
                yield f"{some}{counted(len(group), what)}{became}{_speeds(group)}"


def _speeds(group: Sequence[Verified]) -> str:
    """Name the share of the bound that each of several solutions reached, where it was timed."""
    if group[0].kind != "solution":
        return ""
    speeds = ((one.kernel, step.speed) for one in group for step in one.result.steps if step.speed)
    shares = [f"{name} {percent(speed.share)}" for name, speed in speeds]
    return f" ({'; '.join(shares)})" if shares else ""
