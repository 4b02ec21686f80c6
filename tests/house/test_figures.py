"""The house keeps the limits that bench/house.py counts: sizes, names, docstrings."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def test_the_house_keeps_its_limits(monkeypatch: pytest.MonkeyPatch):
    """A function of 51 lines, and a few docstrings too many, once came in unseen."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    house = importlib.import_module("house")
    figures = house.figures()
    beyond = {name: figures[name] for name, most in house.LIMITS.items() if figures[name] > most}
    assert beyond == {}, (figures["longest"], figures["unused"], figures["backend_names"])
