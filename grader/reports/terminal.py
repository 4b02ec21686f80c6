"""The report of a check, as text for a terminal.

Texts from the learner's process go through `rich.text.Text.append`, which does not read markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.text import Text

from grader import backends
from grader.authoring import LintFinding
from grader.model import (
    Environment,
    Frame,
    Outcome,
    Result,
    Sanitized,
    SanitizerError,
    Status,
    Step,
)
from grader.reports.advice import next_of_several, next_step
from grader.reports.fitting import Part, fitted, joined, rows, shortened
from grader.reports.layout import DETAIL, WIDEST, filled, labelled, once, row, wrap
from grader.reports.libraries import libraries
from grader.reports.picture_part import picture_part
from grader.reports.step_rows import INDENT, MARKS, frame_words, step_parts

MOST_LINES = 30  # of the report of a failure, on a terminal

_WORDS = {
    Status.PASS: ("PASS", "bold green"),
    Status.FAIL: ("FAIL", "bold red"),
    Status.NOT_STARTED: ("NOT STARTED", "bold yellow"),
    Status.CANNOT_GRADE: ("CANNOT GRADE", "bold yellow"),
    Status.ERROR: ("GRADER ERROR", "bold magenta"),
    Status.INTERRUPTED: ("INTERRUPTED", "bold yellow"),
    Status.UNFINISHED: ("UNFINISHED", "bold magenta"),
}


def check_report(
    result: Result,
    width: int = WIDEST,
    following: str | None = None,
    *,
    notes: Sequence[LintFinding] = (),
    picture: Text | None = None,
    excerpt: Callable[[int], Text | None] | None = None,
    waited_s: float | None = None,
    brief: bool = False,
    lesson: str = "",
) -> Text:
    """Return one check: steps with their failures, a picture, the verdict and the next step.

    `following` and `lesson` are those of `next_step`. `notes` are lines of a kernel that passed,
    about which a lesson warns. `picture` shows what the kernel did, and `excerpt` returns a shorter
    picture of at most so many lines. `waited_s` are the seconds that somebody waited for the
    verdict; without them the report names those of the judge. With `brief`, the report of a check
    that did not pass has at most `MOST_LINES` lines.
    """
    width = min(width, WIDEST)
    ending = verdict(result, waited_s)
    ending.append(
        filled(next_step(result, following, lesson), width, " " * 6, first="next: "), style="bold"
    )
    brief = brief and result.status is not Status.PASS
    space = MOST_LINES - rows(ending, width) if brief else None
    body = check_body(result, width, space, notes=notes, picture=picture, excerpt=excerpt)
    return body.append_text(ending)


def check_body(
    result: Result,
    width: int = WIDEST,
    space: int | None = None,
    *,
    heading: bool = True,
    notes: Sequence[LintFinding] = (),
    picture: Text | None = None,
    excerpt: Callable[[int], Text | None] | None = None,
) -> Text:
    """Return what a report says above the verdict, in `space` lines unless that is None.

    All else is as for `check_report`.
    """
    width, brief = min(width, WIDEST), space is not None
    file = Path(result.kernel.path).name
    parts = [Part(_heading(result, width))] if heading else []
    parts += _steps(result, file, width, brief)
    for sanitized in result.sanitized:
        parts.append(shortened(_sanitized(sanitized, file, width), width, (4, 6), (8, 2)))
    alike: dict[str, list[LintFinding]] = {}
    for note in notes:
        alike.setdefault(note.message, []).append(note)
    parts += [Part(_note(places, file, width)) for places in alike.values()]
    if result.message:
        parts.append(Part(Text(filled(result.message, width))))
    if picture is not None:
        parts.append(picture_part(picture, space or MOST_LINES, width, excerpt))
    return joined(parts) if space is None else fitted(parts, space, width)


def steps_so_far(steps: Sequence[Step], file: str, width: int = WIDEST) -> Text:
    """Return the steps of a check that have ended, and none that was not run, before its end."""
    done = [step for step in steps if step.outcome is not Outcome.NOT_RUN]
    return joined(step_parts(done, file, min(width, WIDEST), brief=True))


def _steps(result: Result, file: str, width: int, brief: bool) -> Iterator[Part]:
    """Yield the steps; those of several entries below the name and the points of each."""
    if not result.entries:
        yield from step_parts(result.steps, file, width, brief)
    for one in result.entries:
        points = f"{one.points}/{one.max_points}"
        heading = Text("\n").append(one.entry, style="bold")
        heading.append(f"{points:>{max(width - len(one.entry), len(points) + 2)}}\n")
        yield Part(heading)
        yield from step_parts(one.steps, file, width, brief)


def several(results: Sequence[Result]) -> Text:
    passed = sum(result.status is Status.PASS for result in results)
    points = sum(result.points for result in results)
    most = sum(result.max_points for result in results)
    style = "bold green" if passed == len(results) else "bold"
    text = Text(f"{passed} of {len(results)} passed · {points}/{most} points\n", style=style)
    return text.append(f"next: {next_of_several(results)}\n", style="bold")


def _heading(result: Result, width: int) -> Text:
    heading = Text()
    heading.append(result.exercise, style="bold")
    language = f"{backends.title(result.kernel.backend)} · " if result.kernel.backend else ""
    heading.append(f"   {result.title} · {language}{result.max_points} points")
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


def _sanitized(sanitized: Sanitized, file: str, width: int) -> Text:
    mark, style = MARKS[sanitized.outcome]
    line = Text("  ")
    line.append(mark, style=style)
    first, *more = wrap(sanitized.summary, width - len(INDENT))
    line.append(f" {sanitized.tool:<14}{first}\n")
    for part in more:
        line.append(f"{INDENT}{part}\n")
    for error in sanitized.errors:
        line.append(filled(_sanitizer_error(error), width, DETAIL))
        for label, frame in zip(once("at"), error.frames, strict=False):
            line.append(row(label, frame_words(frame, file), width))
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


def _note(places: Sequence[LintFinding], file: str, width: int) -> Text:
    """Write one note for all places that a lesson warns of in the same words."""
    finding = places[0]
    first, *more = wrap(finding.message, width - len(INDENT))
    note = Text("  ")
    note.append("»", style="yellow")
    note.append(f" {'note':<14}{first}\n")
    for part in more:
        note.append(f"{INDENT}{part}\n")
    for label, place in zip(once("at"), places, strict=False):
        frame = Frame(line=place.line, function=place.function, code=place.code)
        note.append(row(label, frame_words(frame, file), width))
    note.append(row("why", finding.why, width))
    note.append(row("hint", f"{finding.action} No points depend on it.", width))
    return note


def word_of(status: Status) -> str:
    return _WORDS[status][0]


def verdict(result: Result, waited_s: float | None = None) -> Text:
    """Return the line with the verdict; without `waited_s`, it names the judge's own seconds."""
    word, style = _WORDS[result.status]
    line = Text(word, style=style)
    facts = [f"  {result.points}/{result.max_points} points"]
    facts += ["great speed"] if _is_great(result) else []
    duration_s = result.duration_s if waited_s is None else waited_s
    facts += [f"{duration_s:.1f} s", f"seed {result.seed}"]
    line.append(" · ".join(facts) + "\n", style="not bold default")
    return line


def _is_great(result: Result) -> bool:
    steps = [step for one in result.entries or (result,) for step in one.steps]
    measured = [s.speed for s in steps if s.outcome is Outcome.PASS and s.speed]
    great = [speed.share >= speed.great for speed in measured]
    return result.status is Status.PASS and any(great) and all(great)
