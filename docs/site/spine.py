"""Order the pages of the site, with the course as its spine, and add what only the site shows.

The folders of the course and the files of `docs/` decide which pages there are: a new exercise or
page appears on the site, and no line changes here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lessons import ROOT, entry, exercise_of, with_hints
from sphinx.application import Sphinx

from grader import backends
from grader.course import catalog, course_map

# What a learner reads first, in this order; the other pages of docs/ follow by their names.
LEARNERS = (
    *("first-exercise", "course", "learning", "loop", "notebook", "commands", "steps"),
    *("measuring", "trust"),
)


def contents() -> Iterator[tuple[str, list[str]]]:
    """Yield each part of the site: its title, and the pages in their order."""
    first = [page for name in LEARNERS if (page := f"docs/{name}") in _pages("docs")]
    yield "Start here", first
    yield from _course()
    others = [page for page in _pages("docs") if page not in first]
    yield "Reference", [*others, *_pages("classroom")]
    yield "API for authors", ["docs/site/api"]
    yield "Work on the grader", [page for page in _pages(".") if page != "README"]


def _course() -> Iterator[tuple[str, list[str]]]:
    parts: dict[str, list[str]] = {"Puzzles": _pages("puzzles")}
    for place in course_map(catalog.exercises(ROOT)):
        spec = place.exercise.any_spec
        of_puzzles = f"Puzzles in {backends.title(spec.backends[0])}"
        title = of_puzzles if place.exercise.shelf == "puzzles" else "Exercises"
        parts.setdefault(title, []).append(entry(place.exercise))
    yield from parts.items()


def _pages(folder: str) -> list[str]:
    found = sorted((ROOT / folder).glob("*.md"))
    return [path.relative_to(ROOT).with_suffix("").as_posix() for path in found]


def _tables_of_contents() -> str:
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *_absolute(pages)])
        + "\n```\n"
        for title, pages in contents()
        if pages
    )


def _absolute(pages: list[str]) -> list[str]:
    return [re.sub(r"([^ <]+)(>?)$", r"/\1\2", page) for page in pages]


def added(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the tables of contents to README, and to a lesson its hints."""
    if page == app.config.root_doc:
        app.env.note_reread()  # each time, for a folder may be new
        source[0] += _tables_of_contents()
    if exercise := exercise_of(page):
        app.env.note_dependency(str(exercise.folder / "spec.py"))
        source[0] = with_hints(source[0], exercise.any_spec)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this module with Sphinx."""
    app.connect("source-read", added)
    return {"parallel_read_safe": True}
