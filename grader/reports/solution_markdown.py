"""Published solutions as Markdown, for those who read the folder itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from grader import backends
from grader.classroom import FILE, Evidence, Mistake, Model
from grader.course import Settings
from grader.model import texts
from grader.reports.small_plots import Plot
from grader.reports.solution_facts import (
    figures_in_short,
    figures_of,
    mistake_words,
    where_and_when,
    without_results,
)


def index(settings: Settings, models: Sequence[Model]) -> str:
    rows = [
        (
            f"[{texts.markdown(model.name)}]({quote(model.name)}/README.md)",
            texts.markdown(model.spec.title),
            backends.title(model.spec.backend),
            texts.markdown(figures_in_short(model)),
        )
        for model in models
    ]
    head = ("exercise", "title", "written in", "figures")
    note = without_results(models)
    table = _table(head[:3], [row[:3] for row in rows]) if note else _table(head, rows)
    return (
        f"# {texts.markdown(settings.title)}: solutions\n\n"
        f"The model solutions of version {texts.markdown(settings.version)}, each with a "
        "commentary, its figures and the mistakes that the tests reject. `index.html` shows the "
        "same as web pages. `grader solution NAME --from DIR`, with this folder as DIR, shows one "
        f"in a terminal; it reads `{FILE}`.{' ' * bool(note)}{note}\n\n{table}"
    )


def document(model: Model, pictures: Sequence[Plot]) -> str:
    parts = [
        f"# {texts.markdown(model.spec.title)}",
        f"{texts.markdown(model.name)} · [kernel.py](kernel.py)",
    ]
    if model.own:
        parts += ["## Commentary", _demoted(model.commentary)]
    elif model.commentary:
        parts.append(model.commentary)
    if figures := _figures(model.evidence, pictures):
        parts += ["## Figures", *figures]
    for one in model.further:
        parts += [f"## {texts.markdown(one.title)}", f"[{one.file}]({quote(one.file)})"]
        parts += [_demoted(_demoted(one.text))] if one.text else []
        parts += _figures(one.evidence)
    if model.mistakes:
        parts.append("## Mistakes that the tests reject")
        parts.append(
            "Lines with `-` are the solution's, with `+` the mistake's; comments are left out."
        )
        for mistake in model.mistakes:
            parts += _mistake(mistake)
    return "\n\n".join(parts) + "\n"


def _figures(evidence: Evidence, pictures: Sequence[Plot] = ()) -> list[str]:
    result, speed = evidence.result, evidence.speed
    parts = [texts.markdown(evidence.missing)] if evidence.missing else []
    if result is None:
        return parts
    if rows := [(name, texts.markdown(value)) for name, value in figures_of(result)]:
        parts.append(_table(("figure", "value"), rows).rstrip())
    parts += [f"![{texts.markdown(picture.alt)}]({picture.name}.svg)" for picture in pictures]
    if speed and speed.explanation:
        parts.append(f"`grader check` explains: “{texts.markdown(' '.join(speed.explanation))}”")
    return [*parts, texts.markdown(where_and_when(result)) + "."]


def _mistake(mistake: Mistake) -> list[str]:
    step = (
        f"Rejected at {mistake.step}." if mistake.step else "It does not say which step rejects it."
    )
    luck = f" On a GPU it {texts.markdown(mistake.luck)}" if mistake.luck else ""
    parts = [
        f"### {texts.markdown(mistake_words(mistake))}",
        f"[{texts.markdown(mistake.name)}]({quote(mistake.name)}) · {step}{luck}",
    ]
    if mistake.diff:
        parts.append(_fenced("\n".join(line or "…" for line in mistake.diff), "diff"))
    if mistake.cut:
        parts.append(f"{mistake.cut} more lines differ.")
    return parts


def _demoted(text: str) -> str:
    """Move the headings of Markdown one level lower, but not lines of code between fences."""
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
    """Return a block of code; its fences are longer than any row of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
