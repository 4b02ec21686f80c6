"""Test contracts: a row for each private name of a library, and for each use of ours."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

import grader
from grader.worker.requirements import Library, Touchpoint

GRADER = Path(grader.__file__).parent


def rows(*libraries: Library) -> pytest.MarkDecorator:
    """Return the mark that runs a test with each touchpoint of these libraries."""
    every = list(chain.from_iterable(library.touchpoints for library in libraries))
    return pytest.mark.parametrize("touchpoint", every, ids=str)


def is_used(touchpoint: Touchpoint) -> bool:
    """Whether the file that a row names still mentions the name."""
    text = (GRADER / touchpoint.used_in).read_text(encoding="utf-8")
    last = touchpoint.name.rpartition(".")[2]
    return re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text) is not None
