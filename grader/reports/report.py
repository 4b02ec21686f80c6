"""A learner's own results as pages that need no network: one for an exercise, one for the course.

They share their base, style and pictures with published solutions, run no script and load nothing.
A page names what a result does not have, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any
from urllib.parse import quote

from jinja2 import Environment

from grader import backends
from grader.course import History, Standing, progress
from grader.model import (
    Result,
    limit_in_words,
    percent,
    size_in_words,
    utc,
)
from grader.model.verdict import first_problem
from grader.reports.advice import next_step
from grader.reports.figures import duration
from grader.reports.report_parts import (
    Operations,
    all_steps,
    colour_of,
    has_failing_case,
    no_operations,
    parts_of,
    picture_of,
    why_no_picture_of,
)
from grader.reports.report_plots import history_plot, share_of
from grader.reports.solution_facts import where_and_when
from grader.reports.solution_pages import inline
from grader.reports.terminal import word_of
from grader.reports.webpage import Own, file, page_templates
from grader.speed import rates_of


@dataclass(frozen=True)
class Row:
    """One exercise on the course's page. `link` leads to its page; None: nothing is kept of it."""

    name: str
    title: str
    shelf: str
    backend: str
    standing: Standing
    link: str | None = None

    @property
    def mark(self) -> str:
        return progress.mark(self.standing)


def page(
    history: History,
    course: str | None = None,
    following: str | None = None,
    operations: Operations = no_operations,
) -> str:
    """Return the page of an exercise, whose last result is shown whole.

    `history` has at least one result. `course` is the title of the course, whose page lies beside
    this one; None where there is none. `following` names the exercise after this one.
    `operations` counts those of a call, for the roofline, as `parts_of` says.
    """
    result = history.results[-1]
    return str(
        _templates()
        .get_template("report.html")
        .render(
            own=_own(),
            course=course,
            result=result,
            backend=backends.title(result.kernel.backend) if result.kernel.backend else "",
            word=word_of(result.status),
            colour=colour_of(result.status),
            tiles=_tiles(result),
            next_step=next_step(result, following),
            parts=parts_of(result, operations),
            failing_case=has_failing_case(result),
            picture=picture_of(history.picture),
            why_no_picture=why_no_picture_of(result),
            attempts=_attempts(history.results),
            history=history_plot(history.results) if len(history.results) > 1 else None,
            unreadable=history.unreadable,
            where=where_and_when(result),
        )
    )


def course_page(title: str, rows: Sequence[Row]) -> str:
    """Return the page of a course: each exercise with where the learner stands in it."""
    sections = [(shelf.capitalize(), list(some)) for shelf, some in _by_shelf(rows)]
    done = sum(row.standing.passed for row in rows)
    points = sum(row.standing.points for row in rows)
    return str(
        _templates()
        .get_template("report_course.html")
        .render(own=_own(), title=title, sections=sections, done=done, of=len(rows), points=points)
    )


def _by_shelf(rows: Sequence[Row]) -> Any:
    return groupby(rows, key=lambda row: row.shelf)


@cache
def _templates() -> Environment:
    return page_templates({"link": quote, "inline": inline, "standing": in_words})


def _own() -> Own:
    return Own(file(_templates(), "solution.css"))


def in_words(standing: Standing) -> str:
    """Return where a learner stands in one exercise, such as `passed, 10 of 10 points`."""
    if standing.checked_at is None:
        return "not begun"
    word = "passed" if standing.passed else "begun"
    words = f"{word}, {standing.points} of {standing.of} points"
    if standing.best_share is not None:
        words += f", best share {percent(standing.best_share)}"
    day = standing.checked_at[:10].replace("-", "\N{NON-BREAKING HYPHEN}")
    return f"{words}, checked on {day}"


# -- the parts of a page


def _tiles(result: Result) -> list[tuple[str, str, str]]:
    tiles = [("points", f"{result.points} of {result.max_points}", _reached(result))]
    steps = all_steps(result)
    if speed := next((step.speed for step in steps if step.speed), None):
        bound, rate, _ = rates_of(speed)
        word = "great" if speed.share >= speed.great else "passes"
        word = word if speed.share >= speed.passing else "below the gate"
        between = f"{percent(speed.share_low)} to {percent(speed.share_high)}"
        share = f"{word}; 95 % interval {between}"
        tiles.append((f"share of {bound.held_to}", percent(speed.share), share))
        tiles.append((bound.rate_name, f"{rate:,.0f} {bound.unit}", duration(speed.time_ms)))
    if memory := next((step.memory for step in steps if step.memory), None):
        limit = limit_in_words(memory.most_bytes, memory.rule)
        note = f"beyond the arguments, for {memory.case}; {limit}"
        tiles.append(("memory of a call", size_in_words(memory.peak_bytes), note))
    return tiles


def _reached(result: Result) -> str:
    problem = first_problem(result)
    return f"stopped at {problem.name}" if problem else "every step that ran has passed"


def _attempts(results: Sequence[Result]) -> list[dict[str, Any]]:
    rows = []
    for one in reversed(results):
        problem = first_problem(one)
        why = (problem.failure.message if problem.failure else problem.summary) if problem else ""
        share = share_of(one)
        rows.append(
            {
                "when": utc(one.started_at).strftime("%Y-%m-%d %H:%M"),
                "word": word_of(one.status).lower(),
                "colour": colour_of(one.status),
                "points": f"{one.points} of {one.max_points}",
                "share": "–" if share is None else percent(share),
                "step": problem.name if problem else "",
                "why": why.splitlines()[0] if why else "",
            }
        )
    return rows
