"""Published solutions as files: for each exercise a static page, Markdown, and its kernels.

A page ships all that it shows, runs no script and asks no network for anything: its
Content-Security-Policy says so. What a file of the course says is text or, in a commentary,
Markdown, in which HTML has no meaning.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date
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
from grader.classroom import (
    FILE,
    Mistake,
    Model,
    PublishedSolution,
    Solutions,
    digest,
    started,
)
from grader.course import COMMENTARY, SHELVES, Settings
from grader.grading import has_step, points_of
from grader.model import Memory, Result, percent, texts
from grader.reports.libraries import libraries
from grader.reports.solution_plots import Plot, plots
from grader.reports.webpage import Own, file, page_templates


@dataclass(frozen=True)
class Published:
    """All files of a publication by their paths in its folder, and the record beside them."""

    files: dict[str, str]
    record: Solutions


def published(settings: Settings, models: Sequence[Model]) -> Published:
    """The folder of these solutions, in their order."""
    drawn = {model.name: plots(result) for model in models if (result := model.evidence.result)}
    files = {
        "index.html": _index_page(settings, models),
        "README.md": _index_markdown(settings, models),
    }
    for number, model in enumerate(models):
        pictures = drawn.get(model.name, [])
        before = models[number - 1] if number else None
        after = models[number + 1] if number + 1 < len(models) else None
        mine = {
            "index.html": _page(settings, model, pictures, before, after),
            "README.md": _markdown(model, pictures),
            "kernel.py": model.source,
            **{mistake.name: mistake.source for mistake in model.mistakes},
            **{f"{picture.name}.svg": picture.svg for picture in pictures},
            **({COMMENTARY: model.commentary} if model.own else {}),
        }
        files |= {f"{model.name}/{name}": text for name, text in mine.items()}
    return Published(files, _record(settings, models, files))


def announced(settings: Settings, day: date) -> Published:
    """The folder before that day: when solutions come, and nothing of any of them."""
    files = {
        "index.html": _template("solutions.html").render(
            **_common(settings), sections=[], day=_long(day)
        ),
        "README.md": (
            f"# {texts.markdown(settings.title)}: solutions\n\n"
            f"They come on {_long(day)}, at 0:00 UTC.\n"
        ),
    }
    return Published(files, _record(settings, [], files))


def _record(settings: Settings, models: Sequence[Model], files: dict[str, str]) -> Solutions:
    return Solutions(
        course=settings.name,
        title=settings.title,
        version=settings.version,
        policy=str(settings.solutions),
        exercises=tuple(
            PublishedSolution(
                name=model.name,
                title=model.spec.title,
                sha256=model.sha256,
                commentary=digest(model.commentary) if model.own else None,
            )
            for model in models
        ),
        files=tuple(sorted(files)),
    )


# -- pages


@cache
def _templates() -> Environment:
    return page_templates({"percent": percent, "link": quote, "inline": inline})


def _template(name: str) -> Any:
    return _templates().get_template(name)


def _common(settings: Settings) -> dict[str, Any]:
    """What each page needs."""
    return {"course": settings, "own": Own(file(_templates(), "solution.css"))}


def _index_page(settings: Settings, models: Sequence[Model]) -> str:
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
            told=_told_in_short,
        )
    )


def _told_in_short(model: Model) -> str:
    """What the index says of a solution's figures."""
    result, speed = model.evidence.result, model.evidence.speed
    if speed and result:
        share = percent(speed.share).replace(" ", "\N{NO-BREAK SPACE}")  # cards are narrow
        return f"{share} of the ceiling, {result.environment.device}"
    if result is None:
        return "nothing measured"
    return "speed not measured" if has_step(model.spec, "speed") else "counted in simulation"


def _page(
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
            lines=list(enumerate(_coloured(model.source).split("\n"), start=1)),
            result=result,
            speed=model.evidence.speed,
            where=_where(result) if result else "",
            memory=_memory(result) if result else None,
            pictures=[(picture, _as_data(picture.svg)) for picture in pictures],
            mistakes=[(mistake, _words(mistake)) for mistake in model.mistakes],
            before=before,
            after=after,
        )
    )


def _words(mistake: Mistake) -> str:
    """What a mistake is called where its author does not say it: by its file's name."""
    name = mistake.name.removeprefix("wrong_").removesuffix(".py").replace("_", " ")
    return mistake.told or name


def inline(text: str) -> Markup:
    """Plain text, escaped, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def markdown(text: str) -> Markup:
    """The HTML of a commentary. HTML in it is text; pictures, which a network may hold, are links.

    Its headings stand below those of the page.
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
    # A table that is wider than a phone is moved inside of a box, by keyboard, too.
    body = body.replace("<table>", '<div class="wide" role="group" tabindex="0"><table>')
    return Markup(body.replace("</table>", "</table></div>"))


def _fence(code: str, language: str) -> str:
    return _coloured(code) if language in ("python", "py") else ""


def _coloured(source: str) -> str:
    """Python as HTML, a line of it for each line; all of it is escaped."""
    coloured = highlight(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return str(coloured).removesuffix("\n")


def _as_data(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _where(result: Result) -> str:
    """On what a result was made, and when."""
    environment = result.environment
    device = "Simulated on a CPU" if environment.simulated else f"Measured on {environment.device}"
    versions = (
        ("driver", environment.driver),
        *libraries(environment),
        ("Python", environment.python),
        ("kernel-grader", environment.grader),
    )
    named = [f"{name} {version}" for name, version in versions if version]
    return " · ".join([device, *named, _long(started(result).astimezone(UTC).date())])


def _long(day: date) -> str:
    """Such as 18 December 2026, in English whatever the machine speaks."""
    months = "January February March April May June July August September October November December"
    return f"{day.day} {months.split()[day.month - 1]} {day.year}"


def _memory(result: Result) -> Memory | None:
    return next((step.memory for step in result.steps if step.memory), None)


# -- Markdown


def _index_markdown(settings: Settings, models: Sequence[Model]) -> str:
    rows = [
        (
            f"[{texts.markdown(model.name)}]({quote(model.name)}/README.md)",
            texts.markdown(model.spec.title),
            backends.title(model.spec.backend),
            texts.markdown(_told_in_short(model)),
        )
        for model in models
    ]
    return (
        f"# {texts.markdown(settings.title)}: solutions\n\n"
        f"The model solutions of version {texts.markdown(settings.version)}, each with a "
        "commentary, its figures and the mistakes that the tests reject. `index.html` is the same "
        "as a page, and `grader solution NAME --from` this folder shows one in a terminal; "
        f"`{FILE}` is for that command.\n\n"
        + _table(("exercise", "title", "written in", "figures"), rows)
    )


def _markdown(model: Model, pictures: Sequence[Plot]) -> str:
    parts = [
        f"# {texts.markdown(model.spec.title)}",
        f"{texts.markdown(model.name)} · [kernel.py](kernel.py)",
    ]
    if model.own:
        parts += ["## Commentary", _demoted(model.commentary)]
    elif model.commentary:
        parts.append(model.commentary)
    parts += ["## Figures", *_figures(model, pictures)]
    if model.mistakes:
        parts.append("## Mistakes that the tests reject")
        parts.append(
            "In what differs, lines with `-` are the solution's, and lines with `+` the mistake's; "
            "comments are left out."
        )
        for mistake in model.mistakes:
            parts += _mistake(mistake)
    return "\n\n".join(parts) + "\n"


def _figures(model: Model, pictures: Sequence[Plot]) -> list[str]:
    result, speed = model.evidence.result, model.evidence.speed
    parts = [texts.markdown(model.evidence.missing)] if model.evidence.missing else []
    if result is None:
        return parts
    rows = []
    if speed:
        between = f"{percent(speed.share_low)} to {percent(speed.share_high)}"
        rows += [
            ("share of the ceiling", f"{percent(speed.share)} (95 % interval {between})"),
            ("bandwidth", f"{speed.bandwidth_gbps:,.0f} GB/s"),
            ("ceiling", f"{speed.ceiling_gbps:,.0f} GB/s"),
            ("time of a call", f"{speed.time_ms:.3f} ms, {texts.markdown(speed.case)}"),
            ("gates", f"{percent(speed.passing)} passes, {percent(speed.great)} is great"),
        ]
    if memory := _memory(result):
        rows.append(("memory beyond the arguments", f"{memory.peak_bytes:,} bytes"))
    if rows:
        parts.append(_table(("figure", "value"), rows).rstrip())
    parts += [f"![{texts.markdown(picture.alt)}]({picture.name}.svg)" for picture in pictures]
    if speed and speed.explanation:
        parts.append(f"`grader check` says of it: “{texts.markdown(' '.join(speed.explanation))}”")
    return [*parts, texts.markdown(_where(result)) + "."]


def _mistake(mistake: Mistake) -> list[str]:
    step = f"Rejected at {mistake.step}." if mistake.step else "Which step rejects it is not said."
    luck = f" On a GPU it {texts.markdown(mistake.luck)}" if mistake.luck else ""
    parts = [
        f"### {texts.markdown(_words(mistake))}",
        f"[{texts.markdown(mistake.name)}]({quote(mistake.name)}) · {step}{luck}",
    ]
    if mistake.diff:
        parts.append(_fenced("\n".join(line or "…" for line in mistake.diff), "diff"))
    if mistake.cut:
        parts.append(f"{mistake.cut} more lines differ.")
    return parts


def _demoted(text: str) -> str:
    """Markdown whose headings begin one level lower; lines of code between fences stay."""
    fence, lines = "", []
    for line in text.split("\n"):
        if mark := re.match(r" {0,3}(```+|~~~+)", line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = ""
        elif not fence and re.match(r"#{1,5} ", line):
            line = ("#" if line.startswith("##") else "##") + line
        lines.append(line)
    return "\n".join(lines)


def _fenced(text: str, language: str) -> str:
    """A block of code, between fences that are longer than any row of backticks within."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
