"""Published solutions as files: for each exercise a static page, Markdown, and its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from grader.classroom import (
    Further,
    FurtherSolution,
    Model,
    PublishedSolution,
    Solutions,
    digest,
)
from grader.course import COMMENTARY, Settings
from grader.model import texts
from grader.reports import solution_markdown as markdown
from grader.reports import solution_pages as pages
from grader.reports.result_plots import plots
from grader.reports.solution_facts import long_date


@dataclass(frozen=True)
class Published:
    """All files of a publication by their paths in its folder, and the record beside them."""

    files: dict[str, str]
    record: Solutions


def published(settings: Settings, models: Sequence[Model]) -> Published:
    drawn = {
        model.name: plots(result.steps) for model in models if (result := model.evidence.result)
    }
    files = {
        "index.html": pages.index_page(settings, models),
        "README.md": markdown.index(settings, models),
    }
    for number, model in enumerate(models):
        pictures = drawn.get(model.name, [])
        before = models[number - 1] if number else None
        after = models[number + 1] if number + 1 < len(models) else None
        mine = {
            "index.html": pages.page(settings, model, pictures, before, after),
            "README.md": markdown.document(model, pictures),
            "kernel.py": model.source,
            **{mistake.name: mistake.source for mistake in model.mistakes},
            **{f"{picture.name}.svg": picture.svg for picture in pictures},
            **({COMMENTARY: model.commentary} if model.own else {}),
            **{one.file: one.source for one in model.further},
            **{one.text_file: one.text for one in model.further if one.own},
        }
        files |= {f"{model.name}/{name}": text for name, text in mine.items()}
    return Published(files, _record(settings, models, files))


def announced(settings: Settings, day: date) -> Published:
    """Return the folder before that day: it says when solutions come, and shows none of them."""
    files = {
        "index.html": pages.announcement(settings, long_date(day)),
        "README.md": (
            f"# {texts.markdown(settings.title)}: solutions\n\n"
            f"They come on {long_date(day)}, at 0:00 UTC.\n"
        ),
    }
    return Published(files, _record(settings, [], files))


def _further(one: Further) -> FurtherSolution:
    text = digest(one.text) if one.own else None
    return FurtherSolution(file=one.file, title=one.title, sha256=one.sha256, text=text)


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
                further=tuple(map(_further, model.further)),
            )
            for model in models
        ),
        files=tuple(sorted(files)),
    )
