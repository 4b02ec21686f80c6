"""The findings of `grader leaderboard verify`, in lines for the teacher."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from grader.classroom import Rerun, Span
from grader.model import percent, quoted


def lines(by_exercise: Mapping[str, Sequence[Rerun]]) -> Iterator[str]:
    for exercise, reruns in by_exercise.items():
        gpus = sorted({one.gpu for one in reruns if one.gpu})
        yield f"{exercise}  {', '.join(gpus)}".rstrip()
        for one in reruns:
            yield f"  {_line(one)}"


def _line(one: Rerun) -> str:
    measured = "not measured" if one.measured is None else f"measured {_span(one.measured)}"
    problem = f" ({one.problem})" if one.problem else ""
    if one.claim is None or one.claim.figures is None:
        return f"{'':<10} model solution: {measured}{problem}"
    figures = one.claim.figures
    claimed = _span(Span(figures.share_low, figures.share, figures.share_high))
    return (
        f"{one.finding or '':<10} {quoted(one.claim.student)}: {measured}, claimed {claimed} on "
        f"{quoted(figures.gpu)}{problem}; attempt {one.claim.id}"
    )


def _span(span: Span) -> str:
    return f"{percent(span.middle)} ({percent(span.low)} to {percent(span.high)})"
