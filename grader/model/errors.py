"""The errors that end a command, each with the exit code that says whose fault it is.

GraderError
├── UsageError       2    the command line asks for something that does not exist
├── CannotGrade      3    this machine cannot grade what was asked for
└── BrokenExercise   4    the exercise or the grader is broken, never the learner's work
"""

from __future__ import annotations


class GraderError(Exception):
    """An error with a message, and in `next_step` what the reader can do about it."""

    exit_code = 4

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows in place of a traceback."""
        lines = [f"{type(self).__name__}: {self.message}"]
        return [*lines, f"next: {self.next_step}"] if self.next_step else lines


class UsageError(GraderError):
    exit_code = 2


class CannotGrade(GraderError):
    exit_code = 3


class BrokenExercise(GraderError):
    exit_code = 4
