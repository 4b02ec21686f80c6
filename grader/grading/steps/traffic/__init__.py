"""The step `traffic`: how often a kernel reads and writes each element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader import backends
from grader.grading import slow
from grader.grading.step import Finding, Step
from grader.model import how_often

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Argument, Spec


def traffic(grading: Grading) -> Finding:
    from grader.grading.steps.traffic import limits

    return limits.traffic(grading)


def can_be_counted(spec: Spec) -> bool:
    can = backends.find(spec.backend).can
    return can.count_traffic or can.record_launches


def why_slow(grading: Grading) -> str:
    if backends.find(grading.spec.backend).can.count_traffic:
        return slow.simulated(grading)
    return "a profiler starts, and counts the bytes of one call"


def asks(spec: Spec) -> str:
    allowed = ", ".join(filter(None, map(_may_move, spec.arguments)))
    if backends.find(spec.backend).can.count_traffic:
        return f"on average {allowed}; counted in simulation for {spec.counted.headline}"
    return f"on average {allowed}; by hardware counters, where the GPU's may be read"


def _may_move(argument: Argument) -> str:
    moves = (("read", argument.most_reads), ("written", argument.most_writes))
    allowed = " and ".join(f"{word} at most {how_often(most)}" for word, most in moves if most)
    return allowed and f"{argument.name} {allowed}"


STEP = Step(
    name="traffic",
    title="each element is read and written no more often than needed",
    points=1,
    needs=("properties",),
    may_skip=True,  # by a kernel that no simulator knows
    applies=can_be_counted,
    asks=asks,
    run=traffic,
    slow=why_slow,
    alone=True,
)
