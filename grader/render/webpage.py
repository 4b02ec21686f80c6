"""What pages that need no network have in common: their own style and script, known by a hash."""

from __future__ import annotations

import base64
import hashlib

from jinja2 import Environment
from markupsafe import Markup


def own(environment: Environment, name: str) -> Markup:
    """One of our files as it stands, between newlines."""
    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, name)
    return Markup(f"\n{source}\n")


def digest(text: Markup) -> str:
    """As a Content-Security-Policy names what may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
