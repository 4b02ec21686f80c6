"""A limit on the instructions of compiled kernels, as a spec states it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.model.arguments import Argument
from grader.model.base_spec import require_tuples


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """The most instructions of arithmetic for each element that a compiled kernel stores.

    `best` is the fewest that are known. `near` are regular expressions: the first line of a kernel
    over the limit that has one of them is named. `hint` says how to need fewer.
    """

    most: float
    best: float
    hint: str
    near: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_tuples(self)


def faults_of(limit: Instructions | None, arguments: Sequence[Argument]) -> Iterator[str]:
    """Yield what is wrong with a limit for a kernel with these arguments."""
    if limit is None:
        return
    if not 0 < limit.best <= limit.most:
        yield "instructions must satisfy 0 < best <= most"
    if any(a.role == "out" and a.like is None for a in arguments):
        yield "instructions are counted for each element: every output needs `like`"
