"""Hints are for learners, who may have nothing but the wheel and their folder."""

from __future__ import annotations

import pytest

from grader import backends


@pytest.mark.parametrize("name", backends.names())
def test_no_hint_names_a_page_that_only_the_repository_has(name: str):
    assert "docs/" not in repr(backends.find(name).hints)
