"""What the tests of grading share: the parents of workers, which take a second to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import extended
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

    course = Path(__file__).parents[1] / "courses" / "added"
    use_extensions(course)
    yield course
    extended.take_back()
