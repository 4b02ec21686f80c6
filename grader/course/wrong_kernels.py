"""The docstring of a wrong kernel: the step that rejects it, and whether a GPU may hide it."""

from __future__ import annotations

import re
from pathlib import Path

from grader.course.exercise import text_of
from grader.model import BrokenExercise


def needs_simulator(kernel: Path) -> bool:
    """Report whether a wrong kernel is wrong in a way that a GPU may hide, for example a race.

    Its docstring then has a line `On a GPU: may pass by luck` that ends with the reason.
    """
    return bool(re.search(r"^On a GPU: may pass by luck", text_of(kernel), re.MULTILINE))


def rejected_at(kernel: Path) -> str:
    """Read the step that must reject a wrong kernel from the `Rejected at:` line of its docstring.

    Raises BrokenExercise when that line is missing.
    """
    match = re.search(r"^\W*Rejected at: (\w+)", text_of(kernel), re.MULTILINE)
    if match is None:
        raise BrokenExercise(
            f"{kernel} does not say which step must reject it.",
            "Add a line `Rejected at: correctness` (or another step) to its docstring.",
        )
    return match.group(1)


def rejected_entry(kernel: Path) -> str | None:
    """Read which of several entries must be rejected, as in `Rejected at: speed of backward`."""
    match = re.search(r"^\W*Rejected at: \w+ of (\w+)", text_of(kernel), re.MULTILINE)
    return None if match is None else match.group(1)
