"""The step `speed`: the share that a kernel reaches of what this GPU can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader import backends
from grader.grading import slow
from grader.grading.step import Finding, Step
from grader.model import Outcome, percent
from grader.speed import bound_of

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Spec


def speed(grading: Grading) -> Finding:
    if reason := _why_not(grading):
        outcome = Outcome.CANNOT_GRADE if grading.options.require_speed else Outcome.SKIP
        return Finding(reason, outcome=outcome)
    from grader.grading.steps.speed import measure

    return measure.measure(grading)


def prepare(grading: Grading) -> None:
    """Start the reference kernel's fork server, so that it imports during earlier steps."""
    if _why_not(grading) is None:
        reference = backends.reference().name
        grading.fork_servers.fork_server(reference, grading.options.device, reference=True)


def _why_not(grading: Grading) -> str | None:
    if grading.options.device == "cpu":
        return "needs a CUDA GPU: this check was simulated on the CPU"
    if (needed := _needed(grading.spec)) is None:
        return None
    from grader.machine import devices

    found = devices.capability()
    if found >= needed:
        return None
    return (
        f"needs a GPU of compute capability {_dotted(needed)}, for which the gates are meant: this "
        f"one has {_dotted(found)}"
    )


def _needed(spec: Spec) -> int | None:
    given = [one.timed[0].capability for one in spec.scored_specs]
    return max((each for each in given if each is not None), default=None)


def _dotted(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def is_scored(spec: Spec) -> bool:
    """Report whether the spec has a scored case.

    Raises BrokenExercise for an unknown bound, and where the spec lacks what its bound needs.
    """
    return spec.scored is not None and all(bound_of(one) for one in spec.scored_specs)


def asks(spec: Spec) -> str:
    needed = _needed(spec)
    gpu = "" if needed is None else f"; from compute capability {_dotted(needed)} on"
    return "; ".join(map(_asks, spec.scored_specs)) + gpu


def _asks(spec: Spec) -> str:
    scored, gates = spec.timed
    columns = f", {scored.rows_in_words} of {scored.row}" if scored.row else ""
    size = ", sized to the GPU" if scored.rows is None else ""
    return (
        f"{scored.dtype}{columns}{size}: {percent(gates.passing)} of "
        f"{bound_of(spec).held_to} passes, {percent(gates.great)} is great"
    )


STEP = Step(
    name="speed",
    title="a kernel reaches its share of what this GPU can do",
    points=3,
    needs=("memory",),
    may_skip=True,  # on a machine without a GPU, or with one older than the gates are meant for
    applies=is_scored,
    asks=asks,
    run=speed,
    prepare=prepare,
    slow=slow.timing,
    alone=True,
)
