"""One call in simulation: its counts, and the memory that its kernel file held."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from grader import backends
from grader.correctness import expect, first_mismatch, numbers_of, reseeded
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.trials import failure_from, trusted, with_case
from grader.model import Case, Failure, HeldSeries, Outcome
from grader.sandbox import KernelFailure, NotSimulated

# Faults of the kernel itself, which a GPU may hide by luck and a simulator always finds, and
# intended damage to the worker's process.
CERTAIN = (
    *("race", "divergent_barrier", "divergent_shuffle", "uninitialised", "out_of_bounds"),
    *("protocol", "exit", "deadlock", "assert"),
)


@dataclass(frozen=True)
class Counted:
    """`counts`, `peak` and `held` are those of `sandbox.Counts`."""

    case: Case
    inputs: Mapping[str, Tensor | float]
    outputs: Mapping[str, Tensor]
    unwritten: Mapping[str, Tensor]
    counts: Mapping[str, int]
    peak: int
    held: HeldSeries


class FailedInSimulation(Finding):
    """A step that is skipped because the call fails in simulation alone, perhaps on purpose."""


def begin(grading: Grading) -> None:
    """Simulate one call for later steps while the first ones use the GPU."""
    simulates = backends.find(grading.spec.backend).can.compute_without_gpu
    if simulates and grading.options.device == "cuda" and grading.options.case is None:
        grading.begin(count)


def counted(grading: Grading) -> Counted | Finding:
    """Return the counted call, or a finding if its counts cannot be used.

    Raises KernelFailure for a failed call, and NotSimulated without a GPU. With a GPU, only the
    kinds in CERTAIN are raised; any other failure skips the step.
    """
    case = _case(grading)
    try:
        one = grading.once(count)
    except NotSimulated as error:
        if grading.options.device == "cpu":
            raise
        return Finding(f"not simulated: {error.what}", outcome=Outcome.SKIP)
    except KernelFailure as error:
        # Without a GPU the steps before ran in simulation, and passed. With one, an honest kernel
        # may query it, or use what no simulator has.
        if grading.options.device != "cpu" and error.failure.kind not in CERTAIN:
            reason = f"not counted: the simulator cannot run it: {error.failure.message}"
            return FailedInSimulation(reason, outcome=Outcome.SKIP)
        raise KernelFailure(with_case(error.failure, grading, case)) from None
    wrong = wrong_answer(grading, one)
    return one if wrong is None else Finding(case.headline, wrong, Outcome.FAIL)


def count(grading: Grading) -> Counted:
    return count_case(grading, _case(grading))


def count_case(grading: Grading, case: Case, first: Case | None = None) -> Counted:
    """Count one call, in simulation. Raises KernelFailure when the call goes wrong.

    Where a file may tune itself, a call of the case `first` comes before, or one of `case`.
    """
    kernel = grading.simulated
    # The first call has other values, for a file could keep its outputs.
    before = replace(first or case, seed=random.SystemRandom().getrandbits(31))
    cases = (before, case) if backends.find(grading.spec.backend).can.tune else (case,)
    *earlier, inputs = (
        trusted(partial(kernel.inputs, each), "drawing the inputs", each) for each in cases
    )
    outputs, counts = kernel.count(inputs, *earlier)
    unwritten = kernel.unwritten(outputs)
    return Counted(case, inputs, outputs, unwritten, counts.counts, counts.peak, counts.held)


def wrong_answer(grading: Grading, one: Counted) -> Failure | None:
    """Compare the outputs of a counted call, because counts of no work are worth nothing."""
    expected = trusted(
        lambda: expect(grading.spec, one.case, one.inputs), "the reference", one.case
    )
    mismatch = first_mismatch(expected, one.outputs, one.unwritten)
    if mismatch is None:
        return None
    numbers = numbers_of(grading.spec, one.inputs, expected, one.outputs, one.unwritten)
    failure = failure_from(mismatch, grading.spec.backend, numbers)
    return with_case(failure, grading, one.case)


def _case(grading: Grading) -> Case:
    return reseeded(grading.spec.counted, grading.options.seed)
