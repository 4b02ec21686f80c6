"""The report of a check, as text for a terminal.

Texts from the learner's process go through `rich.text.Text.append`, which does not read markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from grader.model import (
    Environment,
    Failure,
    Frame,
    Outcome,
    Result,
    Sanitized,
    SanitizerError,
    Status,
    Step,
)
from grader.reports.advice import next_step
from grader.reports.figures import compiled_rows, counts_table, speed_rows
from grader.reports.layout import DETAIL, WIDEST, filled, labelled, once, row, wrap
from grader.reports.libraries import libraries
from grader.reports.numbers import number_rows

MOST_FRAMES = 4  # the innermost lines of the learner's code

_MARKS = {
    Outcome.PASS: ("✔", "green"),
    Outcome.FAIL: ("✘", "red"),
    Outcome.NOT_STARTED: ("○", "yellow"),
    Outcome.SKIP: ("–", "dim"),
    Outcome.NOT_RUN: ("–", "dim"),
    Outcome.ERROR: ("‼", "magenta"),
    Outcome.CANNOT_GRADE: ("‼", "yellow"),
    Outcome.NOISY: ("‼", "yellow"),
}
_WORDS = {
    Status.PASS: ("PASS", "bold green"),
    Status.FAIL: ("FAIL", "bold red"),
    Status.NOT_STARTED: ("NOT STARTED", "bold yellow"),
    Status.CANNOT_GRADE: ("CANNOT GRADE", "bold yellow"),
    Status.ERROR: ("GRADER ERROR", "bold magenta"),
    Status.INTERRUPTED: ("INTERRUPTED", "bold yellow"),
    Status.UNFINISHED: ("UNFINISHED", "bold magenta"),
}


def check_report(result: Result, width: int = WIDEST, following: str | None = None) -> Text:
    """Return one check: steps with their failures, then the verdict and the next step.

    `following` names the exercise after this one, if there is one.
    """
    width = min(width, WIDEST)
    report = _heading(result, width)
    for step in result.steps:
        report.append_text(_step(step, Path(result.kernel.path).name, width))
    for sanitized in result.sanitized:
        report.append_text(_sanitized(sanitized, Path(result.kernel.path).name, width))
    if result.message:
        report.append(filled(result.message, width))
    report.append_text(_verdict(result))
    report.append(
        filled(next_step(result, following), width, " " * 6, first="next: "), style="bold"
    )
    return report


def several(results: Sequence[Result]) -> Text:
    passed = sum(result.status is Status.PASS for result in results)
    points = sum(result.points for result in results)
    most = sum(result.max_points for result in results)
    style = "bold green" if passed == len(results) else "bold"
    return Text(f"{passed} of {len(results)} passed · {points}/{most} points\n", style=style)


def _heading(result: Result, width: int) -> Text:
    heading = Text()
    heading.append(result.exercise, style="bold")
    heading.append(f"   {result.title} · {result.max_points} points")
    where = _environment(result.environment)
    space = width - heading.cell_len - len(where)
    heading.append(" " * space if space >= 3 else "\n  ")
    heading.append(f"{where}\n", style="dim")
    return heading


def _environment(env: Environment) -> str:
    if env.device == "none":  # no judge graded this kernel
        return "not run"
    device = "CPU" if env.device == "cpu" else env.device
    parts = [f"{device}, simulated" if env.simulated else device]
    parts += [f"{name} {version}" for name, version in libraries(env)]
    return " · ".join(parts)


def _step(step: Step, file: str, width: int) -> Text:
    mark, style = _MARKS[step.outcome]
    earned = step.points if step.outcome in (Outcome.PASS, Outcome.FAIL) else "–"
    points = f"{earned}/{step.max_points}" if step.max_points else ""
    indent = " " * 18  # of the summary: after the mark and the step's name
    failure = step.failure
    if failure and step.outcome is Outcome.NOT_STARTED:
        failure = failure.model_copy(update={"case": None, "replay": None})  # any case shows it
    headline = step.summary or (_headline(failure) if failure else "")
    first, *more = wrap(headline, width - len(indent) - len(points) - 2)
    line = Text("  ")
    line.append(mark, style=style)
    line.append(f" {step.name:<14}{first}")
    # On a narrow terminal a long word may leave no space for the points: two blanks stay.
    line.append(f"{points:>{max(width - line.cell_len, len(points) + 2)}}".rstrip() + "\n")
    for part in more:
        line.append(f"{indent}{part}\n")
    if step.speed:
        line.append_text(speed_rows(step.speed, width))
    if step.compiled:
        line.append_text(compiled_rows(step.compiled, width))
    if step.counts:
        line.append_text(counts_table(step.counts))
    if failure:
        if _headline(failure) != headline:
            line.append(filled(_headline(failure), width, DETAIL))
        line.append_text(_failure(failure, file, width))
    return line


def _sanitized(sanitized: Sanitized, file: str, width: int) -> Text:
    mark, style = _MARKS[sanitized.outcome]
    indent = " " * 18
    line = Text("  ")
    line.append(mark, style=style)
    first, *more = wrap(sanitized.summary, width - len(indent))
    line.append(f" {sanitized.tool:<14}{first}\n")
    for part in more:
        line.append(f"{indent}{part}\n")
    for error in sanitized.errors:
        line.append(filled(_sanitizer_error(error), width, DETAIL))
        for label, frame in zip(once("at"), error.frames, strict=False):
            line.append(row(label, _frame(frame, file), width))
        if not error.frames:
            line.append(row("at", f"no line of {file} is known; in {error.function}", width))
    if sanitized.replay:
        line.append(f"{labelled('replay', sanitized.replay)}\n", style="cyan")
    return line


def _sanitizer_error(error: SanitizerError) -> str:
    lines = " and ".join(str(frame.line) for frame in error.frames)
    where = f"line {lines}: " if len(error.frames) == 1 else f"lines {lines}: " if lines else ""
    thread = f", thread {error.thread} of block {error.block}" if error.thread else ""
    times = f" ({error.count} reports)" if error.count > 1 else ""
    return f"{where}{error.message}{thread}{times}"


def _headline(failure: Failure) -> str:
    return f"{failure.case}: {failure.message}" if failure.case else failure.message


def _failure(failure: Failure, file: str, width: int) -> Text:
    block = Text()
    both = labelled("expected", failure.expected or "")
    both += " " * 6 + f"got  {failure.got}"
    if failure.expected and failure.got and len(both) <= width and "\n" not in both:
        block.append(f"{both}\n")
    else:
        block.append(row("expected", failure.expected, width))
        block.append(row("got", failure.got, width))
    if failure.numbers is None or not failure.numbers.outputs:  # else the numbers show where
        block.append(row("where", failure.where, width))
    if failure.numbers is not None:
        block.append_text(number_rows(failure.numbers, width))
    if failure.replay:
        block.append(f"{labelled('replay', failure.replay)}\n", style="cyan")
    for label, frame in zip(once("at"), failure.frames[-MOST_FRAMES:], strict=False):
        block.append(row(label, _frame(frame, file), width))
    block.append(row("hint", failure.hint, width))
    return block


def _frame(frame: Frame, file: str) -> str:
    function = f" in {frame.function}" if frame.function else ""
    return f"{file}:{frame.line}{function}: {frame.code.strip()}"


def _verdict(result: Result) -> Text:
    word, style = _WORDS[result.status]
    line = Text(word, style=style)
    facts = [f"  {result.points}/{result.max_points} points"]
    facts += ["great speed"] if _is_great(result) else []
    facts += [f"{result.duration_s:.1f} s", f"seed {result.seed}"]
    line.append(" · ".join(facts) + "\n", style="not bold default")
    return line


def _is_great(result: Result) -> bool:
    measured = [step.speed for step in result.steps if step.outcome is Outcome.PASS and step.speed]
    return result.status is Status.PASS and any(s.share >= s.great for s in measured)
