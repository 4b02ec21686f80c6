"""Published solutions as static pages.

A page holds all that it shows, runs no script and loads nothing from a network: its
Content-Security-Policy enforces that. Files of the course appear as text, and a commentary as
Markdown in which HTML has no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from grader import backends
from grader.classroom import Further, Model
from grader.course import SHELVES, Settings
from grader.grading import points_of
from grader.model import Memory, limit_in_words, percent, size_in_words
from grader.reports.small_plots import Plot
from grader.reports.solution_facts import (
    figures_in_short,
    figures_of,
    memory_of,
    mistake_words,
    where_and_when,
    without_results,
)
from grader.reports.webpage import Own, file, page_templates


@cache
def _templates() -> Environment:
    return page_templates(
        {
            "percent": percent,
            "link": quote,
            "inline": inline,
            "size": size_in_words,
            "limit": _limit,
        }
    )


def _limit(memory: Memory) -> str:
    return limit_in_words(memory.most_bytes, memory.rule, memory.case)


def _template(name: str) -> Any:
    return _templates().get_template(name)


def _common(settings: Settings) -> dict[str, Any]:
    return {"course": settings, "own": Own(file(_templates(), "solution.css"))}


def index_page(settings: Settings, models: Sequence[Model]) -> str:
    sections = [
        (shelf.capitalize(), [model for model in models if model.shelf == shelf])
        for shelf in reversed(SHELVES)
    ]
    return str(
        _template("solutions.html").render(
            **_common(settings),
            sections=[(title, some) for title, some in sections if some],
            day=None,
            title_of=backends.title,
            in_short=figures_in_short,
            without_results=without_results(models),
        )
    )


def page(
    settings: Settings,
    model: Model,
    pictures: Sequence[Plot],
    before: Model | None,
    after: Model | None,
) -> str:
    result = model.evidence.result
    return str(
        _template("solution.html").render(
            **_common(settings),
            model=model,
            backend=backends.title(model.spec.backend),
            points=sum(points_of(model.spec).values()),
            commentary=markdown(model.commentary),
            lines=list(enumerate(_python_as_html(model.source).split("\n"), start=1)),
            result=result,
            speed=model.evidence.speed,
            where=where_and_when(result) if result else "",
            memory=memory_of(result) if result else None,
            pictures=pictures,
            further=[_further(one) for one in model.further],
            mistakes=[(mistake, mistake_words(mistake)) for mistake in model.mistakes],
            before=before,
            after=after,
        )
    )


def _further(one: Further) -> dict[str, Any]:
    result = one.evidence.result
    return {
        "solution": one,
        "text": markdown(one.text),
        "lines": _python_as_html(one.source).split("\n"),
        "figures": figures_of(result) if result else [],
        "where": where_and_when(result) if result else "",
    }


def announcement(settings: Settings, day: str) -> str:
    return str(_template("solutions.html").render(**_common(settings), sections=[], day=day))


def inline(text: str) -> Markup:
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def markdown(text: str) -> Markup:
    """Return the HTML of a commentary, with its headings one level below those of the page.

    HTML in it becomes text. Pictures, which might come from a network, become links.
    """
    reader = MarkdownIt(
        "commonmark", {"html": False, "highlight": lambda code, language, _: _fence(code, language)}
    )
    reader.enable("table").disable("image")
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, max(3, int(token.tag[1:]) + 1))}"
    body = str(reader.renderer.render(tokens, reader.options, {}))
    # A table that is wider than a phone scrolls inside a box, by keyboard, too.
    body = body.replace("<table>", '<div class="wide" role="group" tabindex="0"><table>')
    return Markup(body.replace("</table>", "</table></div>"))


def _fence(code: str, language: str) -> str:
    return _python_as_html(code) if language in ("python", "py") else ""


def _python_as_html(source: str) -> str:
    coloured = highlight(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return str(coloured).removesuffix("\n")
