"""The step `correctness` for outputs without work: every case that can tell must reject them.

A case in which such an answer is right, to the last digit that the output's dtype has, cannot tell:
the softmax of one column is 1. Every other case of `spec.edges`, and `spec.counted`, must reject
it, for each output by itself: a gradient that is right does not make up for a loss of all zeros.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from torch import Tensor

from grader.correctness import expect, is_nearest, is_whole, mismatches, reseeded
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.trials import trusted
from grader.model import Case, Failure, Outcome, counted

# A small case may be met by luck: rounding leaves a single number as it is half of the time, and
# the loss of two rows that are sure of their targets is 0. A case rejects an answer when one of so
# many draws does.
MOST_DRAWS = 16
MOST_NAMED = 3  # cases in a message


def every_case(grading: Grading) -> Finding:
    """Try one of `sandbox.ANSWERS` on every case.

    The finding fails, as it should, when each case that can tell rejects the answer. It passes
    where a case accepts the answer, or where no case can tell.
    """
    spec, options = grading.spec, grading.options
    cases = [reseeded(case, options.seed) for case in (*spec.edges, spec.counted)]
    verdicts = [_of_case(grading, case) for case in cases]
    accepting = [
        f"{case.headline} ({name})"
        for case, verdict in zip(cases, verdicts, strict=True)
        for name, rejected in verdict.items()
        if rejected is False
    ]
    if accepting:
        more = len(accepting) - MOST_NAMED
        named = ", ".join(accepting[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        passed = counted(len(accepting), "cases")
        return Finding(f"this answer passes {passed} that can tell it: {named}")
    rejecting = sum(any(verdict.values()) for verdict in verdicts)
    decided = [a.name for a in spec.arguments if any(a.name in v for v in verdicts)]
    silent = [name for name in decided if not any(v.get(name) for v in verdicts)]
    if silent:
        return Finding(f"in no case is this answer wrong for {' and '.join(silent)}")
    message = "whole numbers have no lower precision"
    if decided:
        message = f"rejected by each of the {rejecting} cases that can tell, of {len(cases)}"
    return Finding(message, Failure(kind="value", message=message), Outcome.FAIL)


def _of_case(grading: Grading, case: Case) -> dict[str, bool | None]:
    """Report for each output whether the case rejects the answer; None where it cannot tell."""
    rejects: dict[str, bool | None] = {}
    for number in range(MOST_DRAWS):
        drawn = replace(case, seed=case.seed + number)
        kernel = grading.remote
        inputs = trusted(partial(kernel.inputs, drawn), "drawing the inputs", drawn)
        outputs = kernel.run(inputs)
        expected = trusted(partial(expect, grading.spec, drawn, inputs), "the reference", drawn)
        for name, wrong in mismatches(expected, outputs, kernel.unwritten(outputs)):
            if _cannot_differ(grading.options.pretend, outputs[name], name in expected.inherits):
                continue
            if wrong is not None:
                rejects[name] = True
            elif not is_nearest(expected, name, outputs[name]):
                rejects[name] = rejects.get(name) or False
            else:
                rejects.setdefault(name, None)
        if False not in rejects.values():
            break
    return rejects


def _cannot_differ(answer: str | None, output: Tensor, inherits: bool) -> bool:
    """Report whether the answer is right by its nature, and no case need tell.

    Whole numbers have no lower precision, what numbers in between have lost may be as much, and the
    mean of one number is that number.
    """
    if answer == "lower_precision":
        return inherits or is_whole(output.dtype)
    return answer == "constant_mean" and output.shape[-1:] == (1,)
