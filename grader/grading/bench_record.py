"""The record of one `grader bench`, `grader/bench/v1`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from grader.model import Environment, Record
from grader.speed import Profile

WRONG = "wrong"


class Size(Record):
    """One size of the scored case, and how it is timed."""

    rows: int = Field(description="of a matrix, or elements of a vector")
    case: str
    bytes: int = Field(description="the least that a call moves")
    flops: int | None = Field(description="operations of a call; null: not declared")
    calls: int = Field(description="one after the other, each on memory of its own")
    l2_multiple: float = Field(description="the memory of these calls, in L2 caches")


class Point(Record):
    """One contender at one size: its median call, or the reason why it has none."""

    contender: str
    case: str
    bytes: int
    seconds: float | None = None
    bandwidth: float | None = Field(default=None, description="least bytes per second")
    problem: str = Field(default="", description="`wrong`, or what went wrong")


class Benchmark(Record):
    """The record of one `grader bench`. Bandwidths are bytes per second."""

    schema_: Literal["grader/bench/v1"] = Field(default="grader/bench/v1", alias="schema")
    exercise: str
    title: str
    environment: Environment
    ceiling: float = Field(description="of a reference kernel of the same mix, at the largest size")
    peak_flops: float | None = Field(
        description="float32 operations per second at the highest clock; null: not known"
    )
    sizes: tuple[Size, ...]
    contenders: tuple[str, ...]
    points: tuple[Point, ...]
    profile: Profile | None = Field(default=None, description="null where none was asked for")

    @property
    def ridge(self) -> float | None:
        """The operations per byte at which memory and arithmetic limit a kernel alike."""
        return None if self.peak_flops is None else self.peak_flops / self.ceiling
