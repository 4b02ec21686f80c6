"""A learner's own results as pages that need no network: one for an exercise, one for the course.

They share their base, style and pictures with published solutions, run no script and load nothing.
A page names what a result does not have, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from grader import backends
from grader.course import History, Standing, progress
from grader.model import (
    Compiled,
    Failure,
    Outcome,
    Resources,
    Result,
    Status,
    Step,
    Trace,
    percent,
    utc,
)
from grader.model.verdict import first_problem
from grader.reports.advice import next_step
from grader.reports.figures import duration
from grader.reports.numbers import number_rows
from grader.reports.report_absent import absences
from grader.reports.report_plots import history_plot, in_bytes, memory_plot, share_of, sizes_plot
from grader.reports.small_plots import Plot
from grader.reports.solution_facts import where_and_when
from grader.reports.solution_pages import inline
from grader.reports.solution_plots import plots
from grader.reports.step_rows import MARKS, MOST_FRAMES, frame_words
from grader.reports.terminal import word_of
from grader.reports.text_html import html_of
from grader.reports.trace_terminal import drawing
from grader.reports.webpage import Own, file, page_templates
from grader.speed import rates_of

WIDTH = 100  # characters of a picture and of numbers
MOST_LINES = 60  # of a picture


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


def page(history: History, course: str | None = None, following: str | None = None) -> str:
    """Return the page of an exercise, whose last result is shown whole.

    `history` has at least one result. `course` is the title of the course, whose page lies beside
    this one; None where there is none. `following` names the exercise after this one.
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
            colour=_colour(result.status),
            tiles=_tiles(result),
            next_step=next_step(result, following),
            parts=_parts(result),
            picture=_picture(history.picture),
            why_no_picture=_why_no_picture(result),
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
    """Return names, values and notes of the figures to see first."""
    tiles = [("points", f"{result.points} of {result.max_points}", _reached(result))]
    steps = _all_steps(result)
    if speed := next((step.speed for step in steps if step.speed), None):
        bound, rate, _ = rates_of(speed)
        word = "great" if speed.share >= speed.great else "passes"
        word = word if speed.share >= speed.passing else "below the gate"
        between = f"{percent(speed.share_low)} to {percent(speed.share_high)}"
        share = f"{word}; 95 % interval {between}"
        tiles.append((f"share of {bound.held_to}", percent(speed.share), share))
        tiles.append((bound.rate_name, f"{rate:,.0f} {bound.unit}", duration(speed.time_ms)))
    if memory := next((step.memory for step in steps if step.memory), None):
        note = f"beyond the arguments; {in_bytes(memory.most_bytes)} are allowed"
        tiles.append(("memory of a call", in_bytes(memory.peak_bytes), note))
    return tiles


def _colour(status: Status) -> str:
    return {Status.PASS: "good", Status.FAIL: "bad"}.get(status, "faint")


def _reached(result: Result) -> str:
    problem = first_problem(result)
    return f"stopped at {problem.name}" if problem else "every step that ran has passed"


def _all_steps(result: Result) -> list[Step]:
    return [step for one in result.entries or (result,) for step in one.steps]


def _parts(result: Result) -> list[dict[str, Any]]:
    """Return the steps and figures of the result, or of each of its entries, by its name."""
    file_name = Path(result.kernel.path).name
    entries = [(one.entry, one.steps) for one in result.entries] or [("", result.steps)]
    return [
        {
            "entry": entry,
            "steps": [_step(step) for step in steps],
            "failures": [
                (step.name, _failure(step.failure, file_name)) for step in steps if step.failure
            ],
            "pictures": _pictures(steps),
            "resources": _resources(steps),
            "absent": absences(steps),
        }
        for entry, steps in entries
    ]


def _step(step: Step) -> dict[str, str]:
    earned = str(step.points) if step.outcome in (Outcome.PASS, Outcome.FAIL) else "–"
    failure = step.failure.message.splitlines()[0] if step.failure else ""
    colour = {"green": "good", "red": "bad"}.get(MARKS[step.outcome][1], "faint")
    return {
        "mark": MARKS[step.outcome][0],
        "colour": colour,
        "word": str(step.outcome).replace("_", " "),
        "name": step.name.replace("_", " "),
        "summary": step.summary or failure,
        "points": f"{earned} of {step.max_points}" if step.max_points else "",
    }


def _failure(failure: Failure, file_name: str) -> dict[str, Any]:
    whole = failure.numbers is not None and bool(failure.numbers.outputs)
    numbers = number_rows(failure.numbers, WIDTH) if failure.numbers else None
    return {
        "message": failure.message,
        "rows": [
            (name, text)
            for name, text in (
                ("case", failure.case),
                ("expected", failure.expected),
                ("got", failure.got),
                ("where", None if whole else failure.where),
                ("hint", failure.hint),
            )
            if text
        ],
        "numbers": html_of(numbers) if numbers else Markup(),
        "lines": [frame_words(frame, file_name) for frame in failure.frames[-MOST_FRAMES:]],
        "replay": failure.replay,
    }


def _pictures(steps: Sequence[Step]) -> list[Plot]:
    made = plots(steps)
    speed = next((step.speed for step in steps if step.speed), None)
    made += [sizes_plot(speed)] if speed and speed.sizes else []
    memory = next((step.memory for step in steps if step.memory), None)
    return made + ([memory_plot(memory)] if memory else [])


def _resources(steps: Sequence[Step]) -> list[tuple[str, ...]]:
    """Return the rows of a table: of compiled kernels, and of those that ran."""
    compiled = [one for step in steps for one in step.compiled]
    ran = [one for step in steps if step.speed for one in step.speed.resources]
    return [*map(_compiled, compiled), *map(_ran, ran)]


def _compiled(one: Compiled) -> tuple[str, ...]:
    if one.registers is None:
        return (one.kernel, f"sm_{one.target}, {one.dtype}", one.error or "refused", *"––––")
    return (one.kernel, f"sm_{one.target}, {one.dtype}", *_figures(one))


def _ran(one: Resources) -> tuple[str, ...]:
    return (one.kernel, "as it ran", *_figures(one))


def _figures(one: Compiled | Resources) -> tuple[str, ...]:
    return (
        str(one.registers),
        "–" if one.spills is None else f"{one.spills:,} B",
        "–" if one.shared_bytes is None else in_bytes(one.shared_bytes),
        "–" if one.threads is None else str(one.threads),
        "–" if one.occupancy is None else percent(one.occupancy),
    )


def _picture(trace: Trace | None) -> Markup | None:
    return None if trace is None else html_of(drawing(trace, width=WIDTH, lines=MOST_LINES))


def _why_no_picture(result: Result) -> str:
    drawn = f"`grader show {result.exercise} --trace` draws what each thread or lane does."
    if result.status is Status.PASS:
        return f"No picture of a failing case: nothing failed. {drawn}"
    problem = first_problem(result)
    if problem and problem.failure:
        return (
            "No picture: none is kept for this check. `grader check NAME` draws one of a single "
            f"exercise, where the accesses of a small case show the fault. {drawn}"
        )
    return f"No picture: no case failed. {drawn}"


def _attempts(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the rows of the history, newest first."""
    rows = []
    for one in reversed(results):
        problem = first_problem(one)
        why = (problem.failure.message if problem.failure else problem.summary) if problem else ""
        share = share_of(one)
        rows.append(
            {
                "when": utc(one.started_at).strftime("%Y-%m-%d %H:%M"),
                "word": word_of(one.status).lower(),
                "colour": _colour(one.status),
                "points": f"{one.points} of {one.max_points}",
                "share": "–" if share is None else percent(share),
                "step": problem.name if problem else "",
                "why": why.splitlines()[0] if why else "",
            }
        )
    return rows
