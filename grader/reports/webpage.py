"""The common base of all pages: they need no network, and run only their own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grader.model import utc

Filters = Mapping[str, Callable[..., Any]]
NO_SCRIPT = Markup()


@dataclass(frozen=True)
class Own:
    """A page's own style and script: page.html includes them, and allows them by their hashes."""

    style: Markup
    script: Markup = NO_SCRIPT

    @cached_property
    def style_hash(self) -> str:
        return _hash(self.style)

    @cached_property
    def script_hash(self) -> str:
        return _hash(self.script)


def page_templates(filters: Filters) -> Environment:
    """Return the templates of the folder pages, which escape every text."""
    made = Environment(
        loader=PackageLoader("grader.reports", "pages"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters
    return made


def file(templates: Environment, name: str) -> Markup:
    """Return one of our files unchanged, between newlines."""
    assert templates.loader is not None
    source, _, _ = templates.loader.get_source(templates, name)
    return Markup(f"\n{source}\n")


def minute(time: str) -> str:
    """Return a time in ISO 8601 to the minute, with its zone; empty if the text is not a time."""
    try:
        return utc(time).strftime("%Y-%m-%d %H:%M UTC") if time else ""
    except ValueError:
        return ""


def _hash(text: Markup) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
