"""What the tests of grading share: the parents of workers, which take a second to start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from grader.sandbox.fork_servers import ForkServers


@pytest.fixture(scope="module")
def fork_servers() -> Iterator[ForkServers]:
    # Imported late: some files here need no torch, and are collected in a second.
    from grader.sandbox.fork_servers import ForkServers

    made = ForkServers()
    yield made
    made.close()


@pytest.fixture
def added() -> Iterator[Path]:
    """Extensions of tests/courses/added, for one test."""
    from grader.course.extensions import use_extensions
    from grader.grading import kinds, steps
    from grader.speed import bounds

    before = {package: list(package.__path__) for package in (steps, kinds, bounds)}
    course = Path(__file__).parents[1] / "courses" / "added"
    use_extensions(course)
    yield course
    for package, places in before.items():
        package.__path__[:] = places
    for name in ("steps.short", "steps.answers", "kinds.quiz", "kinds.brief"):
        sys.modules.pop(f"grader.grading.{name}", None)
    sys.modules.pop("grader.speed.bounds.calls", None)
    vars(bounds).pop("calls", None)
    for package, name in ((steps, "short"), (steps, "answers"), (kinds, "quiz"), (kinds, "brief")):
        vars(package).pop(name, None)
