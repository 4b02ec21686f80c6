"""The steps of a check as parts of a report: each with its figures and its failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from grader.model import Failure, Frame, Outcome, Step
from grader.reports.figures import compiled_rows, counts_table, speed_rows
from grader.reports.fitting import Part, cut, joined, shortened
from grader.reports.layout import DETAIL, filled, labelled, once, row, wrap
from grader.reports.numbers import number_rows

MOST_FRAMES = 4  # the innermost lines of the learner's code
INDENT = " " * 18  # of a summary: after the mark and the step's name

MARKS = {
    Outcome.PASS: ("✔", "green"),
    Outcome.FAIL: ("✘", "red"),
    Outcome.NOT_STARTED: ("○", "yellow"),
    Outcome.SKIP: ("–", "dim"),
    Outcome.NOT_RUN: ("–", "dim"),
    Outcome.ERROR: ("‼", "magenta"),
    Outcome.CANNOT_GRADE: ("‼", "yellow"),
    Outcome.NOISY: ("‼", "yellow"),
}
# The ranks of shorter forms: what a reader misses least has the lowest.
PASSED_STEPS, LATER_FAILURES, LONG_TEXTS, OUTER_FRAMES, VALUES, TEXTS = 2, 4, 4, 5, 7, 8


def step_parts(steps: Sequence[Step], file: str, width: int, brief: bool) -> Iterator[Part]:
    """Yield the parts of all steps, in their order.

    With `brief` the steps that were not run share a line, and those that passed do where space
    lacks.
    """
    failures = 0
    for outcome, group in groupby(steps, key=lambda step: step.outcome):
        alike = list(group)
        if brief and outcome is Outcome.NOT_RUN and len(alike) > 1:
            yield Part(_together(alike, "not run", width))
        elif brief and outcome is Outcome.PASS:
            every = joined(part for step in alike for part in _parts(step, file, width, brief))
            together = _together(alike, "passed", width) if len(alike) > 1 else every
            yield Part(every, ((PASSED_STEPS, together),))
        else:
            for step in alike:
                first, *more = _parts(step, file, width, brief)
                later = ((LATER_FAILURES, Text()),) if step.failure and failures else ()
                yield first
                yield from (Part(part.text, later) for part in more) if later else more
                failures += step.failure is not None


def _together(steps: Sequence[Step], word: str, width: int) -> Text:
    """Write steps of one outcome as one step, such as `– not run  traffic, memory and speed`."""
    mark, style = MARKS[steps[0].outcome]
    points = f"{sum(step.points for step in steps)}" if word == "passed" else "–"
    most = sum(step.max_points for step in steps)
    names = ", ".join(step.name for step in steps)
    return _head(mark, style, word, names, f"{points}/{most}" if most else "", width)


def _parts(step: Step, file: str, width: int, brief: bool) -> Iterator[Part]:
    mark, style = MARKS[step.outcome]
    earned = step.points if step.outcome in (Outcome.PASS, Outcome.FAIL) else "–"
    points = f"{earned}/{step.max_points}" if step.max_points else ""
    failure = step.failure
    if failure and step.outcome is Outcome.NOT_STARTED:
        failure = failure.model_copy(update={"case": None, "replay": None})  # any case shows it
    headline = step.summary or (_headline(failure) if failure else "")
    head = _head(mark, style, step.name, headline, points, width)
    yield shortened(head, width, (LONG_TEXTS, 12), (TEXTS, 5))
    if step.speed:
        yield Part(speed_rows(step.speed, width))
    if step.compiled:
        yield Part(compiled_rows(step.compiled, width, brief))
    if step.counts:
        yield Part(counts_table(step.counts))
    if failure:
        if _headline(failure) != headline:
            message = Text(filled(_headline(failure), width, DETAIL))
            yield shortened(message, width, (LONG_TEXTS, 12), (TEXTS, 5))
        yield from _failure(failure, file, width)


def _head(mark: str, style: str, name: str, headline: str, points: str, width: int) -> Text:
    first, *more = wrap(headline, width - len(INDENT) - len(points) - 2)
    line = Text("  ")
    line.append(mark, style=style)
    line.append(f" {name:<14}{first}")
    # On a narrow terminal a long word may leave no space for the points: two blanks stay.
    line.append(f"{points:>{max(width - line.cell_len, len(points) + 2)}}".rstrip() + "\n")
    for part in more:
        line.append(f"{INDENT}{part}\n")
    return line


def _headline(failure: Failure) -> str:
    return f"{failure.case}: {failure.message}" if failure.case else failure.message


def _failure(failure: Failure, file: str, width: int) -> Iterator[Part]:
    both = labelled("expected", failure.expected or "")
    both += " " * 6 + f"got  {failure.got}"
    if failure.expected and failure.got and len(both) <= width and "\n" not in both:
        yield Part(Text(f"{both}\n"))
    else:
        for label, value in (("expected", failure.expected), ("got", failure.got)):
            yield shortened(Text(row(label, value, width)), width, (VALUES, 3))
    if failure.numbers is None or not failure.numbers.outputs:  # else the numbers show where
        yield shortened(Text(row("where", failure.where, width)), width, (VALUES, 3))
    if failure.numbers is not None:
        yield shortened(number_rows(failure.numbers, width), width, (VALUES, 8))
    if failure.replay:
        yield Part(Text(f"{labelled('replay', failure.replay)}\n", style="cyan"))
    outer = _frames(failure.frames[-MOST_FRAMES:], file, width)
    inner = _frames(failure.frames[-2:], file, width)
    yield Part(outer, ((OUTER_FRAMES, inner), (TEXTS, cut(inner, 4, width))))
    yield shortened(Text(row("hint", failure.hint, width)), width, (LONG_TEXTS, 6), (TEXTS, 3))


def _frames(frames: Sequence[Frame], file: str, width: int) -> Text:
    rows = (
        row(label, frame_words(frame, file), width)
        for label, frame in zip(once("at"), frames, strict=False)
    )
    return Text("".join(rows))


def frame_words(frame: Frame, file: str) -> str:
    function = f" in {frame.function}" if frame.function else ""
    return f"{file}:{frame.line}{function}: {frame.code.strip()}"
