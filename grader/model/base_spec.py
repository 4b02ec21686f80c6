"""The part of a `spec.py` that exercises of every kind have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Seconds of wall clock after which the worker is killed.

    `check_s` covers the whole check, which makes a hundred calls and more.
    """

    load_s: float = 60.0
    call_s: float = 30.0
    check_s: float = 300.0

    def __post_init__(self) -> None:
        for one in fields(self):
            seconds = getattr(self, one.name)
            if not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
                raise ValueError(f"{one.name} of the limits is {seconds!r}, not seconds above 0")


def require_tuples(record: DataclassInstance) -> None:
    for one in fields(record):
        value = getattr(record, one.name)
        if str(one.type).startswith("tuple[") and not isinstance(value, tuple):
            raise ValueError(
                f"{one.name} is a tuple, not {type(value).__name__}: one of a single entry has a "
                "comma, as in (entry,)"
            )


@dataclass(frozen=True, kw_only=True)
class BaseSpec:
    """One exercise of any kind. A kind's own spec derives from this and adds what it grades by.

    `kind` is the name of a folder in `grader.grading.kinds`. `needs` names the exercises that teach
    what this one takes for granted. `points` overrides what single steps earn, such as
    `points={"speed": 5}`. `file` is the name of the file that the learner writes.
    """

    file: ClassVar[str] = "kernel.py"

    title: str
    summary: str
    kind: str
    needs: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    points: Mapping[str, int] = field(default_factory=dict, hash=False)
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        require_tuples(self)
        if any(type(points) is not int or points < 0 for points in self.points.values()):
            raise ValueError('points must be whole numbers, 0 or more, such as {"speed": 5}')

    @property
    def entries(self) -> tuple[BaseSpec, ...]:
        """A spec for each entry of the file, which is graded by itself."""
        return (self,)
