"""What all our pages have in common: they need no network, and run nothing but their own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

Filters = Mapping[str, Callable[..., Any]]
NO_SCRIPT = Markup()


@dataclass(frozen=True)
class Own:
    """A page's own style and script, which page.html puts into it and lets run by their hashes."""

    style: Markup
    script: Markup = NO_SCRIPT

    @cached_property
    def style_hash(self) -> str:
        return _hash(self.style)

    @cached_property
    def script_hash(self) -> str:
        return _hash(self.script)


def page_templates(filters: Filters) -> Environment:
    """The templates of the folder pages, in which a text is never HTML."""
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
    """One of our files as it stands, between newlines."""
    assert templates.loader is not None
    source, _, _ = templates.loader.get_source(templates, name)
    return Markup(f"\n{source}\n")


def _hash(text: Markup) -> str:
    """As a Content-Security-Policy names what may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
