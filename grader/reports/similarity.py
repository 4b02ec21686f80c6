"""Alike kernels of a class, as pages for the instructor: pairs, clusters, lines side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment

from grader.classroom import Comparison, Pair
from grader.model import percent, texts
from grader.reports.webpage import Own, file, page_templates

MOST_PAIRS = 200  # with a page each; those that share most
MOST_LINES = 2000  # of one file


@dataclass(frozen=True)
class Found:
    """A class's comparisons, and its names by login."""

    title: str
    comparisons: tuple[Comparison, ...]
    share: float  # from which two files are a pair
    names: Mapping[str, str]


def pages(found: Found) -> dict[str, str]:
    """Return the pages by their file names: index.html, and one for each pair."""
    pairs = sorted(
        (pair for one in found.comparisons for pair in one.pairs),
        key=lambda pair: (-pair.share, pair.exercise, pair.students),
    )
    shown = pairs[:MOST_PAIRS]
    links = {id(pair): f"pair-{number}.html" for number, pair in enumerate(shown, 1)}
    titles = {one.exercise: one.title for one in found.comparisons}
    made = {"index.html": _index(found, links, len(pairs))}
    for number, pair in enumerate(shown, 1):
        made[f"pair-{number}.html"] = _pair(found, pair, titles[pair.exercise], number, len(shown))
    return made


def _index(found: Found, links: Mapping[int, str], pairs: int) -> str:
    return _rendered(
        "similarity.html",
        found=found,
        least=percent(found.share, 0),
        sections=[_section(one, links) for one in found.comparisons],
        pairs=pairs,
        left_out=pairs - len(links),
        students=len({name for one in found.comparisons for p in one.pairs for name in p.students}),
    )


def _section(one: Comparison, links: Mapping[int, str]) -> dict[str, Any]:
    return {
        "of": one,
        "pairs": [(pair, links[id(pair)]) for pair in one.pairs if id(pair) in links],
        "clusters": [cluster for cluster in one.clusters if len(cluster.students) > 2],
        "unread": [texts.one_line(sentence) for sentence in one.unread],
    }


def _pair(found: Found, pair: Pair, title: str, number: int, of: int) -> str:
    return _rendered(
        "similarity_pair.html",
        found=found,
        pair=pair,
        exercise=title,
        number=number,
        of=of,
        sides=[
            _side(student, text, lines)
            for student, text, lines in zip(pair.students, pair.texts, pair.lines, strict=True)
        ],
    )


def _side(student: str, text: str, shared: frozenset[int]) -> dict[str, Any]:
    lines = text.expandtabs(4).splitlines()
    return {
        "student": student,
        "lines": [
            (texts.visible(line.replace("\n", " ")), number in shared)
            for number, line in enumerate(lines[:MOST_LINES], 1)
        ],
        "shared": len(shared),
        "of": len(lines),
        "cut": len(lines) > MOST_LINES,
    }


def _rendered(template: str, found: Found, **values: Any) -> str:
    def who(student: str) -> str:
        name = found.names.get(student, "")
        return f"{name} ({student})" if name else student

    made = _templates()
    own = Own(file(made, "solution.css"))
    return str(made.get_template(template).render(own=own, found=found, who=who, **values))


@cache
def _templates() -> Environment:
    return page_templates({"percent": percent})
