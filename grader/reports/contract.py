"""The contract of an exercise, as text: the rows of `grader list`, the page of `grader show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from grader import backends
from grader.course import Exercise, Place, Progress, progress
from grader.grading import kind_of, points_of, steps_of
from grader.model import BaseSpec, BrokenExercise, Spec, texts
from grader.reports.layout import WIDEST, filled
from grader.reports.standing import marked

SHORTEST_TITLE = 6  # characters of a title in a narrow list


def course_list(
    exercises: Sequence[Exercise], done: Progress | None = None, width: int | None = None
) -> Text:
    """Return a line for each exercise, with its mark in `done`.

    A broken spec.py shows in its line, and hides no other. Lines longer than `width` do without
    the language, then with less of the title, then without it.
    """
    done = done or Progress()
    rows = [("EXERCISE", "TITLE", "BACKEND", "POINTS"), *map(_list_row, exercises)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    if width is not None and sum(widths) + 13 > width:  # 13: mark, points, the space between
        left = width - widths[0] - 11
        widths = [widths[0], min(widths[1], left)] if left >= SHORTEST_TITLE else widths[:1]
    table = Text()
    for number, row in enumerate(rows):
        cells = [f"{texts.cut(row[place], most):<{most}}" for place, most in enumerate(widths)]
        mark = marked(progress.standing_of(done, row[0])) if number else Text(" ")
        table.append_text(mark)
        table.append(f" {'  '.join(cells)} {row[3]:>6}\n", style="" if number else "bold")
    return table


def _list_row(exercise: Exercise) -> tuple[str, str, str, str]:
    try:
        spec = exercise.any_spec
        kind, points = kind_of(spec), sum(points_of(spec).values())
    except BrokenExercise:
        return (exercise.name, "its spec.py is broken", "", "")
    further = spec.also_in if isinstance(spec, Spec) else ()
    written_in = ", ".join([kind.backend(spec) or kind.name, *further])
    return (exercise.name, spec.title, written_in, str(points))


def map_of(places: Sequence[Place], width: int = WIDEST) -> Text:
    """Return a line for each exercise: its name, and those that it builds on."""
    names = [place.exercise.name for place in places]
    longest, table = max(map(len, names)), Text()
    table.append(f"{'EXERCISE':<{longest}}  BUILDS ON\n", style="bold")
    for name, place in zip(names, places, strict=True):
        table.append(filled(builds_on(place), width, " " * (longest + 2), f"{name:<{longest}}  "))
    return table


def builds_on(place: Place) -> str:
    """Name what an exercise builds on; `–` where it builds on none."""
    elsewhere = (f"{name} (not in this course)" for name in place.elsewhere)
    return ", ".join([*(one.name for one in place.needs), *elsewhere]) or "–"


def contract(exercise: Exercise, width: int = WIDEST) -> Text:
    """Lay out the page of `grader show`: the kind's sections, then what is graded."""
    spec, width = exercise.any_spec, min(width, WIDEST)
    kind, points = kind_of(spec), sum(points_of(spec).values())
    page = Text()
    page.append(exercise.name, style="bold")
    page.append(f"   {spec.title} · {kind.backend(spec) or kind.title} · {points} points\n")
    page.append(filled(spec.summary, width))
    if isinstance(spec, Spec) and spec.also_in:
        page.append("\nwritten in\n", style="bold")
        page.append(_two_columns(list(_languages(exercise)), width))
    for one in spec.entries:
        for title, rows in (*kind.describe(one), ("graded", _graded(one))):
            page.append(f"\n{title}\n", style="bold")
            page.append(_two_columns(list(rows), width))
    page.append("\nto read\n", style="bold")
    page.append(_two_columns(list(_to_read(exercise)), width))
    return page


def _languages(exercise: Exercise) -> Iterator[tuple[str, str]]:
    spec = exercise.whole_spec
    there = {one.whole_spec.backend: one for one in exercise.in_all_backends}
    for name in spec.backends:
        one = there.get(name)
        file = f"{one.file}, checked with `--backend {name}`" if one and one.backend else ""
        yield backends.title(name), file or (one.file if one else f"your own {spec.file}")
    yield "choice", f"{spec.file} may be in either: what it imports says in which"


def _graded(spec: BaseSpec) -> Iterator[tuple[str, str]]:
    yield "points", ", ".join(f"{step} {most}" for step, most in points_of(spec).items())
    yield from ((step.name, text) for step in steps_of(spec) if (text := step.asks(spec)))
    if kind_of(spec).backend(spec) is None:
        return  # nothing is run that could take long
    limits = spec.limits
    yield (
        "time",
        f"{limits.load_s:g} s to load, {limits.call_s:g} s for a call, "
        f"{limits.check_s:g} s for all of a check",
    )


def _two_columns(rows: Sequence[tuple[str, str]], width: int) -> str:
    longest = max(len(label) for label, _ in rows)
    return "".join(
        filled(text, width, " " * (longest + 4), first=f"  {label:<{longest}}  ")
        for label, text in rows
    )


def _to_read(exercise: Exercise) -> Iterator[tuple[str, str]]:
    needs = exercise.any_spec.needs
    if needs:
        yield "before", ", ".join(needs)
    lesson = exercise.folder / "README.md"
    if lesson.exists():
        yield "lesson", lesson.relative_to(exercise.root).as_posix()
    shown = f"`grader hint {exercise.name}` shows one at a time"
    yield "hints", f"{len(exercise.any_spec.hints)}; {shown}"


def hints(exercise: Exercise, count: int, width: int = WIDEST) -> Text:
    text = Text()
    for number, hint in enumerate(exercise.any_spec.hints[:count], start=1):
        text.append(filled(hint, min(width, WIDEST), "   ", first=f"{number}. "))
    return text
