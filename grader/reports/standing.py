"""A learner's standing as text: the next task, the table of what is done, hints, changes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rich.text import Text

from grader.course import Exercise, Progress, Standing, progress
from grader.grading import kind_of, points_of
from grader.model import BrokenExercise, percent, texts, utc
from grader.reports.layout import WIDEST, filled

STYLES = {"✔": "green", "●": "yellow", "○": "dim"}
_CHANGES = {"+": "green", "-": "red", "@": "cyan"}
_WHAT_SHARE_IS = (
    "{points} of the points are for speed, which takes a CUDA GPU. BEST SHARE says how near your "
    "fastest kernel came to what that GPU can do: 100 % is the limit."
)


def task(exercise: Exercise, done: Progress, width: int = WIDEST) -> Text:
    """Return the page of `grader next`."""
    spec, width = exercise.any_spec, min(width, WIDEST)
    kind, most = kind_of(spec), sum(points_of(spec).values())
    standing = progress.standing_of(done, exercise.name)
    page = marked(standing).append(f" {exercise.name}", style="bold")
    page.append(f"   {spec.title} · {kind.backend(spec) or kind.title} · {most} points\n")
    page.append(filled(spec.summary, width))
    page.append("\n")
    for label, text in _of_task(exercise, standing, done):
        page.append(filled(text, width, " " * 10, first=f"  {label:<8}"))
    doing = _what_to_do(exercise, standing)
    page.append(filled(doing, width, " " * 6, first="next: "), style="bold")
    return page


def _of_task(exercise: Exercise, standing: Standing, done: Progress) -> Iterator[tuple[str, str]]:
    needs = exercise.any_spec.needs
    if unfinished := [name for name in needs if not progress.standing_of(done, name).passed]:
        yield "before", f"{', '.join(unfinished)}: not done yet, and this one builds on it"
    lesson = exercise.folder / "README.md"
    if lesson.exists():
        yield "read", lesson.relative_to(exercise.root).as_posix()
    yield "edit", exercise.kernel.relative_to(exercise.root).as_posix()
    hints = exercise.any_spec.hints
    if hints:
        yield "hints", f"{standing.hints} of {len(hints)} shown; `grader hint {exercise.name}`"
    if standing.checked_at:
        yield "so far", f"{standing.points}/{standing.of} points, checked {local(standing)}"


def _what_to_do(exercise: Exercise, standing: Standing) -> str:
    begin = "read the lesson, write the missing part" if not standing.checked_at else "go on"
    return f"{begin}, and type `grader check {exercise.name}`"


def all_done(exercises: Sequence[Exercise], done: Progress) -> Text:
    page = Text(f"All {len(exercises)} exercises are done: {_sum(exercises, done)}.\n", "bold")
    return page.append("next: `grader status` shows where there are points left\n", style="bold")


def status(exercises: Sequence[Exercise], done: Progress, width: int | None = None) -> Text:
    """Return the table of `grader status`. Times are those of this machine's zone.

    Where lines would be longer than `width`, the last columns are left out.
    """
    longest = max(len(one.name) for one in exercises)
    rows = [("POINTS", "BEST SHARE", "LAST PASS"), *(_columns(one, done) for one in exercises)]
    ends = (longest + 10, longest + 22, longest + 40)  # of the columns after the name
    shown = max(sum(width is None or end <= width for end in ends), 1)
    page = Text()
    for row, exercise in zip(rows, (None, *exercises), strict=True):
        page.append_text(
            marked(progress.standing_of(done, exercise.name)) if exercise else Text(" ")
        )
        cells = (f"{row[0]:>6}", f"{row[1]:>10}", row[2])[:shown]
        name = f" {exercise.name if exercise else 'EXERCISE':<{longest}}"
        page.append("  ".join([name, *cells]) + "\n", style="" if exercise else "bold")
    finished = sum(progress.standing_of(done, one.name).passed for one in exercises)
    page.append(
        f"{finished} of {len(exercises)} done · {_sum(exercises, done)}\n",
        style="bold green" if finished == len(exercises) else "bold",
    )
    if on_a_gpu := sum(_of_speed(one) for one in exercises):
        page.append(filled(_WHAT_SHARE_IS.format(points=on_a_gpu), min(width or WIDEST, WIDEST)))
    following = progress.following(exercises, done)
    if following is not None:
        page.append(f"next: {following.name}; `grader next` says how to begin\n", style="bold")
    return page


def hints(exercise: Exercise, first: int, last: int, width: int = WIDEST) -> Text:
    """Return the hints from number `first` to before `last`, counted from 0."""
    every, width = exercise.any_spec.hints, min(width, WIDEST)
    page = Text()
    for number in range(first, last):
        head = f"{number + 1}. "
        page.append(filled(every[number], width, " " * len(head), first=head))
    left = len(every) - last
    remaining = "the last one" if left == 1 else f"the next of {left} more"
    more = f"`grader hint {exercise.name}` shows {remaining}"
    end = f"these are all; `grader show {exercise.name} --trace` draws what your kernel does"
    return page.append(filled(more if left else end, width, " " * 6, "next: "), style="bold")


def difference(exercise: Exercise, stub: str, own: str) -> Text:
    """Return the changes since the stub, as a unified diff."""
    path = exercise.kernel.relative_to(exercise.root).as_posix()
    lines = list(
        difflib.unified_diff(
            stub.splitlines(), own.splitlines(), f"{path}, the stub", f"{path}, yours", lineterm=""
        )
    )
    page = Text()
    for line in lines:
        heading = line.startswith(("---", "+++"))
        page.append(f"{texts.visible(line)}\n", "bold" if heading else _CHANGES.get(line[:1], ""))
    if not lines:
        page.append(f"{path} is the untouched stub.\n")
        page.append("next: write the missing part; its lesson is in README.md\n", style="bold")
    return page


def forgotten(standing: Standing) -> str:
    """Name what a reset takes from `grader status`; empty where there is nothing."""
    points = f"{standing.points} points" if standing.points else ""
    return " and ".join(filter(None, ("the pass" if standing.passed else "", points)))


def marked(standing: Standing) -> Text:
    mark = progress.mark(standing)
    return Text(mark, STYLES[mark], end="")


def local(standing: Standing, passed: bool = False) -> str:
    """Return the time of the last check, or of the last pass, in this machine's time zone."""
    text = (standing.passed_at if passed else standing.checked_at) or ""
    try:
        time: datetime = utc(text).astimezone()
    except (ValueError, OverflowError):  # the file is the learner's, who may have written to it
        return "–"
    return time.strftime("%Y-%m-%d %H:%M")


def _columns(exercise: Exercise, done: Progress) -> tuple[str, str, str]:
    standing = progress.standing_of(done, exercise.name)
    share = "–" if standing.best_share is None else percent(standing.best_share)
    passed = local(standing, passed=True) if standing.passed_at else "–"
    return _points(exercise, standing), share, passed


def _points(exercise: Exercise, standing: Standing) -> str:
    return f"{standing.points}/{standing.of or _most(exercise) or '?'}"


def _most(exercise: Exercise) -> int:
    return sum(_points_by_step(exercise).values())


def _of_speed(exercise: Exercise) -> int:
    return _points_by_step(exercise).get("speed", 0)


def _points_by_step(exercise: Exercise) -> Mapping[str, int]:
    try:
        return points_of(exercise.any_spec)
    except BrokenExercise:
        return {}


def _sum(exercises: Sequence[Exercise], done: Progress) -> str:
    each = [progress.standing_of(done, one.name) for one in exercises]
    most = sum(s.of or _most(one) for s, one in zip(each, exercises, strict=True))
    return f"{sum(one.points for one in each)}/{most} points"
