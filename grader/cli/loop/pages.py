"""The pages that the loop opens in place of the report: hints, lesson, diff, solution."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.console import RenderableType
from rich.markdown import Markdown
from rich.text import Text

from grader.cli.loop.state import Loop, Page, View
from grader.course import Exercise, When, settings, stubs, with_solution
from grader.course.progress import standing_of
from grader.grading import kind_of
from grader.model import UsageError, texts
from grader.reports import filled


def make(loop: Loop, view: View, width: int) -> Page:
    """Make a page of the current exercise. Raises GraderError where there is none to show."""
    exercise = loop.exercise
    content: RenderableType
    match view:
        case View.HINTS:
            content = _hints(exercise, standing_of(loop.progress, loop.current).hints, width)
        case View.LESSON:
            content = _lesson(exercise)
        case View.DIFF:
            content = _difference(exercise)
        case _:
            content = _solution(exercise, standing_of(loop.progress, loop.current).passed, width)
    return Page(view, f"{view} of {exercise.name}", content)


def _hints(exercise: Exercise, shown: int, width: int) -> Text:
    hints = exercise.any_spec.hints
    text = Text()
    for number, hint in enumerate(hints[:shown], start=1):
        text.append(filled(hint, width, "   ", first=f"{number}. "))
    left = len(hints) - shown
    more = {0: "there are no more", 1: "h shows the last one"}.get(
        left, f"h shows the next of {left} more hints"
    )
    return text.append(f"\n{more}", style="dim")


def _lesson(exercise: Exercise) -> Markdown:
    lesson = exercise.folder / "README.md"
    if not lesson.is_file():
        raise UsageError(f"{exercise.name} has no lesson.", "`h` shows a hint.")
    return Markdown(texts.visible(_text_of(lesson)), code_theme="ansi_dark", hyperlinks=False)


def _difference(exercise: Exercise) -> Text:
    from grader.reports import standing

    if not exercise.kernel.is_file():
        raise UsageError(f"{exercise.file} is not there.", "`x` writes the stub again.")
    own = _text_of(exercise.kernel)
    stub = stubs.stub_of(exercise, kind_of(exercise.any_spec).stub)
    return standing.difference(exercise, stub, own)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Check its permissions."
        ) from None


def _solution(exercise: Exercise, passed: bool, width: int) -> Text:
    from grader.classroom import Shown
    from grader.classroom.publish import models, records
    from grader.reports import solution_terminal

    policy = settings.read(exercise.root).solutions
    exercise = with_solution(exercise)
    if not exercise.solution.is_file() or policy.when is When.NEVER:
        raise UsageError("This course shows no solutions.", "h shows a hint.")
    if (day := records.future_release(policy, datetime.now(UTC))) is not None:
        raise UsageError(f"The solutions are shown from {day} on (0:00 UTC).", "h shows a hint.")
    if policy.when is When.ON_PASS and not passed:
        raise UsageError("The solution is shown once your kernel passes.", "h shows a hint.")
    source = _text_of(exercise.solution)
    commentary = models.commentary_of(exercise)
    shown = Shown(exercise.name, exercise.any_spec.title, source, commentary, ())
    return solution_terminal.solution(shown, width)
