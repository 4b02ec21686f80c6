"""No course's extensions stay in the tests' process: tests/extended.py."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import extended

from grader import backends
from grader.course import catalog
from grader.speed import bounds

COURSES = Path(__file__).parents[1] / "courses"


def test_a_language_that_came_with_a_spec_is_gone():
    # A file of grading's tests read a spec of this course, and 15 tests of added backends failed
    # behind it on the one machine where both files came to the same process.
    before = backends.names()
    assert catalog.find(COURSES / "toy", "p01_double").spec
    assert "toy" in backends.names()
    assert backends.find("toy")
    extended.take_back()
    assert backends.names() == before
    assert "toy" not in vars(backends)
    assert not [name for name in sys.modules if name.startswith("grader.backends.toy")]


def test_a_bound_of_another_course_is_gone_and_the_installations_stay():
    assert catalog.find(COURSES / "added", "01_copy").spec
    for name in ("bandwidth", "calls"):
        importlib.import_module(f"grader.speed.bounds.{name}")
    extended.take_back()
    assert "grader.speed.bounds.calls" not in sys.modules
    assert "grader.speed.bounds.bandwidth" in sys.modules
    assert not hasattr(bounds, "calls")
