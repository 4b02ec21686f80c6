"""A result as HTML for a notebook: a fragment that takes the notebook's own style."""

from __future__ import annotations

from grader.model import Result, Trace
from grader.reports.advice import next_step
from grader.reports.report_parts import parts_of, picture_of
from grader.reports.solution_pages import inline
from grader.reports.terminal import word_of
from grader.reports.webpage import page_templates


def cell(
    result: Result, picture: Trace | None = None, following: str | None = None, lesson: str = ""
) -> str:
    """Return the fragment of one result; `following` and `lesson` are those of `next_step`."""
    template = page_templates({"inline": inline}).get_template("report_cell.html")
    return template.render(
        result=result,
        word=word_of(result.status),
        parts=parts_of(result),
        picture=picture_of(picture),
        next_step=next_step(result, following, lesson),
    )
