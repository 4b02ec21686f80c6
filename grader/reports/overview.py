"""The instructor's pages of a class: one page for the whole class, and one for each student."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import median
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from grader.classroom import AtExercise, FinalCell, FinalRow, Overview
from grader.classroom.policy.overview import PASSED
from grader.classroom.policy.records import remark, text_of
from grader.model import Attempt, percent, texts
from grader.model.verdict import first_problem
from grader.reports.board_plots import share_strip
from grader.reports.formats import facts
from grader.reports.report_parts import colour_of
from grader.reports.report_plots import share_of
from grader.reports.solution_pages import inline
from grader.reports.terminal import word_of
from grader.reports.webpage import Own, file, minute, page_templates

MOST_MISTAKES = 30
MOST_NAMED = 6  # students of a mistake
# Columns behind the steps, with their titles.
_ENDS = {
    "other": "other failure",
    "not_started": "not started",
    "missing": "missing",
    "unreadable": "unreadable",
    "not_graded": "not graded",
}
_MARKS = {"not_started": "○", "missing": "–", "unreadable": "?", "not_graded": "‼"}


@dataclass(frozen=True)
class Course:
    """The course on the pages, the time of the grades (UTC, ISO 8601), the section or nothing."""

    title: str
    made_at: str
    section: str = ""


def index(of: Overview, course: Course, links: Mapping[str, str], notes: Sequence[str] = ()) -> str:
    """Return the page of the class; `links` lead from logins to the pages of students.

    `notes` are about the roster and the submissions, a sentence each.
    """
    return _rendered(
        "overview.html",
        course=course,
        when=minute(course.made_at),
        tiles=_tiles(of),
        columns=[(PASSED, PASSED), *_columns(of)],
        standings=[_standing(one, of) for one in of.exercises],
        mistakes=[
            (one, one.students[:MOST_NAMED], len(one.students) - MOST_NAMED)
            for one in of.mistakes[:MOST_MISTAKES]
        ],
        more_mistakes=max(len(of.mistakes) - MOST_MISTAKES, 0),
        strips=[_strip(one) for one in of.exercises if one.gates],
        names=[cell.exercise for cell in of.rows[0].cells] if of.rows else [],
        students=[
            (row, links[row.student], [_mark(cell) for cell in row.cells]) for row in of.rows
        ],
        sections=any(row.section for row in of.rows),
        notes=[texts.one_line(note) for note in notes],
    )


def student(of: Overview, row: FinalRow, course: Course) -> str:
    """Return the page of one student, with all attempts that are known."""
    return _rendered(
        "overview_student.html",
        course=course,
        row=row,
        total=text_of(row.total) if row.total is not None else row.why,
        grades=[(cell, text_of(cell.final) or "–", remark(cell, row)) for cell in row.cells],
        facts=[
            (name, text)
            for name, text in (
                ("section", row.section),
                ("group", row.group),
                ("handed in", minute(row.submitted_at)),
                ("deadline", minute(row.deadline)),
                ("reason", row.reason),
                ("comment", row.comment),
                ("notes", "; ".join(row.notes)),
            )
            if text
        ],
        attempts=[_attempt(one) for one in reversed(of.history.get(row.student, ()))],
    )


def _columns(of: Overview) -> list[tuple[str, str]]:
    steps = [(step, f"failed at {step.replace('_', ' ')}") for step in of.steps]
    ends = [
        (key, title)
        for key, title in _ENDS.items()
        if any(one.counts.get(key) for one in of.exercises)
    ]
    return steps + ends


def _standing(one: AtExercise, of: Overview) -> dict[str, Any]:
    """Return a row of the table: of each column its count, and how dark it is, from 0 to 4."""
    students = sum(one.counts.values())
    keys = [PASSED, *(key for key, _ in _columns(of))]
    counts = [one.counts.get(key, 0) for key in keys]
    return {
        "exercise": one.exercise,
        "title": one.title,
        "cells": [(count, -(-4 * count // students) if students else 0) for count in counts],
    }


def _tiles(of: Overview) -> list[tuple[str, str, str]]:
    rows = of.rows
    totals = sorted(row.total for row in rows if row.total is not None)
    handed_in = sum(any(cell.standing != "missing" for cell in row.cells) for row in rows)
    without = sum(row.total is None for row in rows)
    tiles = [("students", f"{len(rows):,}", f"{handed_in:,} handed in something")]
    if totals:
        most = max(row.most for row in rows)
        between = f"from {text_of(totals[0])} to {text_of(totals[-1])}"
        middle = text_of(Fraction(median(totals)))
        tiles.append(("middle total", f"{middle} of {text_of(most)}", between))
    tiles.append(("without a total", f"{without:,}", "something was not graded"))
    return tiles


def _strip(one: AtExercise) -> tuple[AtExercise, Markup, str]:
    assert one.gates is not None
    passing, great = one.gates
    reached = sum(share >= passing for share in one.shares)
    said = (
        f"{len(one.shares)} measured, the middle one at {percent(median(one.shares))}; "
        f"from the gate at {percent(passing)} on: {reached}, "
        f"great from {percent(great)} on: {sum(share >= great for share in one.shares)}"
    )
    return one, share_strip(one.shares, one.gates), said


def _mark(cell: FinalCell) -> tuple[str, str, str]:
    """Return the points of a cell, its colour, and the cell in words."""
    if cell.standing == "graded":
        colour = "good" if cell.status == "pass" else "bad"
        return text_of(cell.final), colour, ""
    words = _ENDS.get(cell.standing, cell.standing)
    changed = cell.final is not None and cell.final != 0
    return text_of(cell.final) if changed else _MARKS[cell.standing], "faint", words


def _attempt(one: Attempt) -> dict[str, Any]:
    result = one.result
    problem = first_problem(result)
    share = share_of(result)
    return {
        "when": minute(result.started_at),
        "exercise": result.exercise,
        "word": word_of(result.status).lower(),
        "colour": colour_of(result.status),
        "points": f"{result.points} of {result.max_points}",
        "share": "–" if share is None else percent(share),
        "why": facts.reason(result) if problem or not result.steps else "",
        "notes": "; ".join(one.notes),
    }


def _rendered(template: str, **values: Any) -> str:
    made = _templates()
    own = Own(file(made, "solution.css"))
    return str(made.get_template(template).render(own=own, **values))


@cache
def _templates() -> Environment:
    return page_templates({"inline": inline, "link": quote, "points": text_of})
