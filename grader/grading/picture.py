"""Choose the case of a failed check that is drawn, so that a learner sees what each thread did."""

from __future__ import annotations

from collections.abc import Mapping

from grader import backends
from grader.model import Case, Failure, Result, Spec, Status, first_problem

MOST_ELEMENTS = 64  # of a case: more do not fit a terminal
# Kinds of failures whose accesses show the reason. A call that hangs is not among them: a second
# one would only hang again.
SHOWN = (
    "value",
    "never_written",
    "not_finite",
    "out_of_bounds",
    "race",
    "divergent_barrier",
    "divergent_shuffle",
    "uninitialised",
    "input_changed",
    "stray_write",
    "traffic",
    "counts",
)


def case_of(result: Result, spec: Spec, failing: Mapping[Failure, Case]) -> Case | None:
    """Return the failing case if its picture helps: small, of single threads, and not a hang.

    `failing` holds the case of each failure.
    """
    problem = first_problem(result)
    can = backends.find(spec.backend).can
    can_trace = can.trace_threads or can.trace_lanes
    if not can_trace or result.status is not Status.FAIL or problem is None:
        return None
    failure = problem.failure
    if failure is None or failure.kind not in SHOWN:
        return None
    case = failing.get(failure)
    return case if case is not None and case.elements <= MOST_ELEMENTS else None
