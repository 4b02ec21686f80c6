"""One student's grades and results, as a page that needs no network and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment

from grader.classroom import FinalCell, StudentsView
from grader.classroom.policy.records import remark, text_of
from grader.model import Result, Status, texts
from grader.reports.report_parts import all_steps, colour_of, parts_of
from grader.reports.solution_pages import inline
from grader.reports.terminal import word_of
from grader.reports.webpage import Own, file, minute, page_templates

# The words of a cell that has no result.
_STANDING = {
    "graded": "graded",
    "not_started": "not started",
    "missing": "nothing handed in",
    "unreadable": "cannot be read",
    "not_graded": "not graded yet",
}
NOT_YOURS = "The fault is not yours, and it is no zero: ask whoever runs the course."


@dataclass(frozen=True)
class Course:
    """The course on all students' pages, and the time of the grades: UTC, ISO 8601."""

    title: str
    version: str
    made_at: str


def page(view: StudentsView, course: Course) -> str:
    """Return a student's page."""
    row = view.row
    return str(
        _templates()
        .get_template("feedback.html")
        .render(
            own=_own(),
            course=course,
            row=row,
            who=row.name or row.student,
            total=total(view),
            facts=_facts(view, course),
            grades=[_grade(cell, view) for cell in row.cells],
            parts=[
                (cell, result, word_of(result.status), colour_of(result.status), parts_of(result))
                for cell in row.cells
                if (result := _shown(view, cell)) is not None
            ],
        )
    )


def markdown(view: StudentsView, course: Course) -> str:
    """Return the same in Markdown, without the numbers of failing cases."""
    return "\n".join(_lines(view, course)) + "\n"


def total(view: StudentsView) -> str:
    """Return `17.5 of 60 points`, or the reason why there is no total."""
    row = view.row
    if row.total is None:
        return f"{row.why[:1].upper()}{row.why[1:]}. {NOT_YOURS}"
    return f"{text_of(row.total)} of {text_of(row.most)} points"


@cache
def _templates() -> Environment:
    return page_templates({"inline": inline})


@cache
def _own() -> Own:
    return Own(file(_templates(), "solution.css"))


def _shown(view: StudentsView, cell: FinalCell) -> Result | None:
    """Return the result of work that there is something to say about."""
    result = view.results.get(cell.exercise)
    begun = result is not None and result.status is not Status.NOT_STARTED
    return result if begun and result is not None and result.steps else None


def _facts(view: StudentsView, course: Course) -> list[tuple[str, str]]:
    row = view.row
    return [
        (name, text)
        for name, text in (
            ("handed in", minute(row.submitted_at)),
            ("deadline", minute(row.deadline)),
            ("graded", minute(course.made_at)),
            ("reason", row.reason),
            ("comment", row.comment),
        )
        if text
    ]


def _grade(cell: FinalCell, view: StudentsView) -> dict[str, Any]:
    result = view.results.get(cell.exercise)
    word, colour = _STANDING[cell.standing], "faint"
    if cell.standing == "graded" and result is not None:
        word, colour = word_of(result.status).lower(), colour_of(result.status)
    return {
        "exercise": cell.exercise,
        "title": result.title if result is not None else cell.exercise,
        "word": word,
        "colour": colour,
        "points": "–" if cell.final is None else f"{text_of(cell.final)} of {cell.max_points}",
        "remark": remark(cell, view.row),
        "counts": cell.counts,
        "link": result is not None and bool(all_steps(result)),
    }


def _lines(view: StudentsView, course: Course) -> Iterator[str]:
    row = view.row
    yield f"# {_plain(course.title)}: {_plain(row.name or row.student)}"
    yield from ("", f"**{_plain(total(view))}**", "")
    for name, text in _facts(view, course):
        yield f"- {name}: {_plain(text)}"
    yield from ("", "| exercise | verdict | points | remarks |", "| --- | --- | --- | --- |")
    for cell in row.cells:
        grade = _grade(cell, view)
        said = grade["remark"] + ("" if cell.counts else " (not in the total)")
        cells = (cell.exercise, grade["word"], grade["points"], said.strip())
        yield f"| {' | '.join(map(_plain, cells))} |"
    for cell in row.cells:
        result = _shown(view, cell)
        if result is not None:
            yield from _result_lines(result)


def _result_lines(result: Result) -> Iterator[str]:
    yield from ("", f"## {_plain(result.title)}: {word_of(result.status).lower()}", "")
    if result.message:
        yield from (_plain(result.message), "")
    for part in parts_of(result):
        of = f" of {part['entry']}" if part["entry"] else ""
        for step in part["steps"]:
            ran = step["points"] and not step["points"].startswith("–")
            points = f" ({step['points']} points)" if ran else ""
            yield f"- {step['mark']} {step['name']}{of}{points}: {_plain(step['summary'])}"
        for name, failure in part["failures"]:
            yield from ("", f"At {name}{of}: {_plain(failure['message'])}", "")
            for label, text in failure["rows"]:
                yield f"- {label}: {_plain(text)}"
            for line in failure["lines"]:
                yield f"- at: {_plain(line)}"
            if failure["replay"]:
                yield f"- run it again: `{texts.one_line(failure['replay']).replace('`', '')}`"


def _plain(text: str) -> str:
    return texts.markdown(texts.cut(text, 2000), code=True)
