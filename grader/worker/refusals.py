"""What a simulator has refused in this call: a file that catches the error does not undo it.

A GPU raises nothing for a race or an access out of bounds, so that nothing can be caught there.
"""

from __future__ import annotations


class Refused(Exception):
    """A simulated kernel did what on a GPU would go wrong without a word."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _refused.append(self)


_refused: list[Refused] = []


def begin() -> None:
    """A call begins, in which nothing is refused yet."""
    _refused.clear()


def settle() -> None:
    """The call has come to its end. Raises the first that was refused, if the file caught it."""
    if _refused:
        raise _refused[0]
