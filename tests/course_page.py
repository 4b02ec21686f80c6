"""Tables and map of the course, made from its folders; as a program, this file writes the pages.

README.md has the table of gates, docs/course.md the map and the table of all exercises. Each lies
between two comments, `<!-- NAME -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from grader import backends
from grader.course import catalog, course_map
from grader.course.exercise import Exercise
from grader.grading.plan import with_step
from grader.model.exercise import Spec
from grader.reports.contract import builds_on

ROOT = Path(__file__).parents[1]


def gates() -> Iterator[str]:
    yield "| exercise | written in | scored with | pass | great |"
    yield "| --- | --- | --- | --- | --- |"
    for entry in with_step(catalog.parts(ROOT), "speed"):
        scored, limits = entry.spec.timed
        columns = f", {scored.row} columns" if scored.columns else ""
        yield (
            f"| {entry.name} | {_languages(entry.spec)} | {scored.dtype}{columns} "
            f"| {limits.passing:.2f} | {limits.great:.2f} |"
        )


def course() -> Iterator[str]:
    yield "| exercise | written in | builds on | what you do |"
    yield "| --- | --- | --- | --- |"
    for place in course_map(catalog.exercises(ROOT)):
        spec = place.exercise.any_spec
        yield (
            f"| [{place.exercise.name}]({_lesson(place.exercise)}) | {_languages(spec)} "
            f"| {builds_on(place)} | {spec.summary} |"
        )


def picture() -> Iterator[str]:
    """The map as Mermaid draws it; an arrow leads to what builds on an exercise."""
    yield "```mermaid"
    yield "flowchart LR"
    for place in course_map(catalog.exercises(ROOT)):
        number = place.exercise.name.partition("_")[0]
        yield f'    {place.exercise.name}["{number} {place.exercise.any_spec.title}"]'
        yield from (f"    {needed.name} --> {place.exercise.name}" for needed in place.needs)
    yield "```"


def _languages(spec: Spec) -> str:
    return ", ".join(map(backends.title, spec.backends))


def _lesson(exercise: Exercise) -> str:
    return f"../{(exercise.folder / 'README.md').relative_to(ROOT).as_posix()}"


PARTS: tuple[tuple[Path, str, Callable[[], Iterator[str]]], ...] = (
    (ROOT / "README.md", "gates", gates),
    (ROOT / "docs" / "course.md", "map", picture),
    (ROOT / "docs" / "course.md", "course", course),
)


def renewed(page: str, name: str, lines: Iterator[str]) -> str:
    """Return the page with these lines between the comments of `name`, which it must have."""
    between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    text = "".join(f"{line}\n" for line in lines)
    page, found = between.subn(lambda match: f"{match[1]}{text}{match[2]}", page)
    assert found == 1, f"the page has no {name}"
    return page


if __name__ == "__main__":
    for path, name, lines in PARTS:
        path.write_text(renewed(path.read_text(encoding="utf-8"), name, lines()), encoding="utf-8")
