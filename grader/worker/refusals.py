"""The errors that a simulator raised in this call: a file that catches one does not undo it.

A GPU raises nothing for a race or an access out of bounds, so there is nothing to catch.
"""

from __future__ import annotations


class Refused(Exception):
    """A simulated kernel did something that would silently go wrong on a GPU."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _refused.append(self)


_refused: list[Refused] = []


def begin() -> None:
    """Forget the errors of earlier calls."""
    _refused.clear()


def settle() -> None:
    """Raise the first error of the call, which has ended, if the file caught it."""
    if _refused:
        raise _refused[0]
