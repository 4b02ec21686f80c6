"""A small course that can be released, for the tests of what is made from it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

from grader.classroom.release import pins
from grader.classroom.release.build import Order
from grader.course import catalog

SMALL = Path(__file__).parent / "courses" / "small"
NAMES = ("p01_copy", "01_double", "02_row_sum")


def small_course(folder: Path, version: str = "1.0") -> Path:
    """A copy of the small course with a name, a version, pins and a lesson."""
    shutil.copytree(SMALL, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "course.toml").write_text(f'name = "small"\ntitle = "Small"\nversion = "{version}"\n')
    (folder / "constraints.txt").write_text("# tested\nnumpy==2.0.0\nruff==0.17.5\n")
    (folder / "exercises" / "01_double" / "README.md").write_text("# Double\n\nTwice a vector.\n")
    return folder


def order(root: Path, *names: str, **options: object) -> Order:
    """All exercises, or those named; without a wheel and without git, which take their time."""
    chosen = tuple(e for e in catalog.exercises(root) if not names or e.name in names)
    quick: dict[str, object] = {"grader": "kernel-grader==0.1.0", "git": False}
    return Order(root, chosen, **(quick | options))  # type: ignore[arg-type]


@contextmanager
def libraries_read_once() -> Iterator[None]:
    """Have releases read once which libraries the grader needs, for a fixture of a whole file.

    Each release asks all installed packages, which takes nearly all of the time of a small one.
    What is installed stays the same among the tests.
    """
    with mock.patch.object(pins, "_needed", cache(pins._needed)):
        yield
