"""The step `instructions`: how much arithmetic the machine code has for each element it stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader import backends
from grader.grading import slow
from grader.grading.step import Finding, Step

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Spec

TARGET = 90  # the compute capability, unless the spec names its own


def instructions(grading: Grading) -> Finding:
    from grader.grading.steps.instructions import rates

    return rates.instructions(grading)


def is_limited(spec: Spec) -> bool:
    return spec.instructions is not None and backends.find(spec.backend).compiler is not None


def counted_target(spec: Spec) -> int:
    """Return the capability whose code is counted, on each machine the same."""
    return spec.targets[0] if spec.targets else TARGET


def asks(spec: Spec) -> str:
    limit = spec.instructions
    assert limit is not None
    return (
        f"at most {limit.most:g} instructions of arithmetic for each element that is stored, "
        f"for sm_{counted_target(spec)}; the best known is {limit.best:g}"
    )


STEP = Step(
    name="instructions",
    title="the machine code does little arithmetic for each element",
    needs=("compile",),
    kinds=("kernel",),
    may_skip=True,  # where no compiler is installed, and for code that cannot be counted
    applies=is_limited,
    asks=asks,
    run=instructions,
    slow=slow.compiling,
)
