"""Turn docstrings, which are written as plainly as comments, into what Sphinx reads."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

MARKUP = re.compile(r"([|*])")  # means something to Sphinx, and nothing in our prose


def converted(lines: list[str]) -> list[str]:
    """Return the lines with `code` marked as such, and indented blocks as Python."""
    done: list[str] = []
    inside = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not inside and done and not done[-1]:
            done += [".. code-block:: python", ""]
        inside = indented or (inside and not line)
        done.append(line if inside else _prose(line))
    return done


def _prose(line: str) -> str:
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(f"`{part}`" if part[:1] == "`" else MARKUP.sub(r"\\\1", part) for part in parts)


def convert(app: Sphinx, what: str, name: str, object_: object, options: object, lines: list[str]):
    """Convert one docstring in place, as Sphinx asks for."""
    lines[:] = converted(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this module with Sphinx."""
    app.connect("autodoc-process-docstring", convert)
    return {"parallel_read_safe": True}
