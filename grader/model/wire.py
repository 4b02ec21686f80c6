"""Values in messages between processes, read strictly: a value of another form raises an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.model.texts import barred, printable, printable_line

LARGEST_COUNT = 2**31 - 1  # of registers, bytes, threads or launches
LARGEST_INTEGER = 2**63 - 1  # the judge calculates with what a worker counts, also as floats
MOST_AXES = 8  # of an array, and of a block
LONGEST_NAME = 200  # characters of a kernel's or an array's


def integer(value: Any) -> int:
    if type(value) is not int or abs(value) > LARGEST_INTEGER:
        raise TypeError(f"{value!r} is not an integer of 64 bits")
    return value


def bits(value: Any) -> int:
    """Return an integer that 64 bits hold, the lowest one included, which has no counterpart."""
    if type(value) is not int or not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
        raise TypeError(f"{value!r} is not 64 bits")
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return printable_line(value)


def lines(value: Any) -> str:
    """Return a text that may have several lines, which stay recognizable as a learner's."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return barred(printable(value))


def count(value: Any, largest: int = LARGEST_COUNT) -> int:
    if not 0 <= integer(value) <= largest:
        raise ValueError(f"{value} is not a count")
    return int(value)


def total(value: Any) -> int:
    return count(value, LARGEST_INTEGER)


def counts(value: Any) -> dict[str, int]:
    return {text(name): total(number) for name, number in dict(value).items()}


def three(value: Any) -> tuple[int, int, int]:
    x, y, z = extents(value)
    if min(x, y, z) < 1:
        raise ValueError("a launch of nothing")
    return x, y, z


def extents(value: Any) -> tuple[int, ...]:
    numbers = tuple(count(extent) for extent in list(value))
    if len(numbers) > MOST_AXES:
        raise ValueError(f"{len(numbers)} axes")
    return numbers


def one_of(words: Sequence[str], value: Any) -> str:
    if value not in words:
        raise ValueError(f"{value!r} is not one of {words}")
    return str(value)
