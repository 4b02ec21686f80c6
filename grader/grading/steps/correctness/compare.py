"""The cases of the step `correctness`: the spec's edges, and drawn ones beside torch in float64."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import hypothesis
from hypothesis import Phase
from torch import Tensor

from grader.correctness import (
    MOST_WITHOUT,
    Expected,
    cases,
    expect,
    no_kernel_failure,
    output_dtype,
    reseeded,
    shares_right,
    spread_cases,
)
from grader.grading.recording import outcome_of
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.correctness.causes import with_cause
from grader.grading.steps.correctness.explained import explained, search_settings
from grader.grading.trials import trusted, try_case, with_case
from grader.model import Case, Failure, Inputs, Outcome, Spec, counted
from grader.sandbox import KernelFailure

DRAWN_SIMULATED, DRAWN_ON_GPU = 20, 60  # cases beyond the spec's edges
# Of values for the call without kernels. In exercise 07 one draw of 40 is too like the last call's;
# an output of bools always is, in about half of its elements.
MOST_DRAWS = 8
MOST_CALLS = 3  # without kernels: an output that is right by luck is so in one of them

# Failures that come from the file and not from the case, or that cost a time limit each.
NOT_WORTH_SHRINKING = ("not_started", "timeout", "missing_entry", "syntax", "import", "exit")


def correctness(grading: Grading) -> Finding:
    """Compare with torch in float64: the spec's edges, large cases, then Hypothesis's."""
    options, spec = grading.options, grading.spec
    if options.case is not None:
        return _finding(grading, "one case", options.case, try_case(grading, options.case))
    edges = [reseeded(case, options.seed) for case in spec.edges]
    on_gpu = options.device == "cuda"
    large = list(spread_cases(spec, random.Random(options.seed), on_gpu=on_gpu))
    drawn = DRAWN_ON_GPU if on_gpu else DRAWN_SIMULATED
    summary = f"{counted(len(edges), 'edge cases')} and {drawn} drawn ones"
    for number, case in enumerate((*edges, *large)):
        failure = try_case(grading, case)
        if failure is not None:
            if options.shrink and failure.kind not in NOT_WORTH_SHRINKING:
                case, failure = explained(grading, case, failure, smaller=number > 0)
            return _finding(grading, summary, case, failure)
    if spec.launched is not None and (refused := launch_refused(grading, spec.launched)):
        return _finding(grading, summary, spec.launched, refused)
    failing = _search(grading, drawn - len(large))
    if failing == (None, None) and spec.kernels:
        failure = without_kernels(grading)
        return Finding(summary, failure, Outcome.PASS if failure is None else Outcome.FAIL)
    return _finding(grading, summary, *failing)


def launch_refused(grading: Grading, case: Case) -> Failure | None:
    """Try a case whose programs are too many to simulate: there only its launches are checked.

    The kernels of such a call do nothing, so only a refused launch fails the file.
    """
    if grading.options.device != "cpu":
        return try_case(grading, case)
    kernel = grading.remote
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    try:
        kernel.run_without_kernels(inputs)
    except KernelFailure as error:
        return error.failure if error.failure.kind == "launch_refused" else None
    return None


def without_kernels(grading: Grading) -> Failure | None:
    """Call the kernel with all launches disabled; its output must be wrong then.

    Each call has the counted case with values that no call had before, so no earlier output can be
    used again. An output that the file's own code could not give counts as wrong. Memory left by
    earlier calls may make an output right by luck, such as a mean of losses over another number of
    tokens. So a file fails only if the outputs of all MOST_CALLS calls are right.
    """
    spec, kernel = grading.spec, grading.remote
    stale: dict[str, Tensor] = {}
    if grading.options.device == "cuda":
        # First a normal call: a file may tune or record at its first call of a shape, and must not
        # do so with launches that have no effect.
        normal = reseeded(spec.counted, grading.options.seed)
        failure = try_case(grading, normal)
        if failure is not None:
            return with_case(failure, grading, spec.counted)
        stale = _stored(spec, *_answer(grading, normal))
    for _ in range(MOST_CALLS):
        case, inputs, expected = _unlike(grading, stale)
        try:
            outputs = kernel.run_without_kernels(inputs)
        except KernelFailure as error:
            return with_case(error.failure, grading, case)
        if outputs is None:
            return None
        unwritten = kernel.unwritten(outputs)
        shares = shares_right(expected, outputs, unwritten, inputs, stale)
        failure = no_kernel_failure(spec, shares)
        if failure is None:
            return None
    return failure


def _unlike(
    grading: Grading, stale: Mapping[str, Tensor]
) -> tuple[Case, dict[str, Tensor | float], Expected]:
    """Draw values until `stale` outputs, of the call before, are not right for them, too.

    The file's memory may still hold what that call computed, and a mean over many numbers is nearly
    the same for others.
    """
    for _ in range(MOST_DRAWS):
        case = replace(grading.spec.counted, seed=random.SystemRandom().getrandbits(31))
        inputs, expected = _answer(grading, case)
        same = shares_right(expected, stale, {}, inputs) if stale else ()
        if all(share <= MOST_WITHOUT for _, share in same):
            break
    return case, inputs, expected


def _answer(grading: Grading, case: Case) -> tuple[dict[str, Tensor | float], Expected]:
    """Return the inputs of a case, and the outputs that are right for them."""
    inputs = trusted(lambda: grading.remote.inputs(case), "drawing the inputs", case)
    return inputs, trusted(lambda: expect(grading.spec, case, inputs), "the reference", case)


def _stored(spec: Spec, inputs: Inputs, expected: Expected) -> dict[str, Tensor]:
    filled = [argument for argument in spec.arguments if argument.filled]
    return {a.name: expected.outputs[a.name].to(output_dtype(a, inputs)) for a in filled}


def _finding(grading: Grading, summary: str, case: Case | None, failure: Failure | None) -> Finding:
    if failure is None:
        return Finding(summary)
    assert case is not None
    named = with_case(with_cause(failure, grading, case), grading, case)
    return Finding(summary, named, outcome_of(failure))


def _search(grading: Grading, count: int) -> tuple[Case | None, Failure | None]:
    """Have Hypothesis find a failing case, as small as it can; (None, None) if no case fails.

    Raises what a trial raised, unless a case had failed before: such a failure stays one.
    """
    strategy = cases(grading.spec, on_gpu=grading.options.device == "cuda")
    phases = (Phase.generate, Phase.shrink) if grading.options.shrink else (Phase.generate,)
    seen: dict[Case, Failure] = {}
    settled = False  # by a failure that is not worth shrinking: Hypothesis would try it 15 times
    raised: list[Exception] = []

    def fails(case: Case) -> bool:
        nonlocal settled
        if settled:
            return case in seen
        try:
            failure = try_case(grading, case)
        except Exception as error:
            # Not for Hypothesis, which calls again, and takes what is not raised again for chance.
            settled = True
            raised.append(error)
            return False
        if failure is not None:
            seen[case] = failure
            settled = failure.kind in NOT_WORTH_SHRINKING
        return failure is not None

    smallest: Case | None = None
    with suppress(hypothesis.errors.NoSuchExample, hypothesis.errors.Flaky):
        smallest = hypothesis.find(
            strategy,
            fails,
            settings=search_settings(count, *phases),
            random=random.Random(grading.options.seed),
        )
    if smallest is None and seen:  # but not again: a race, or memory read before it is written
        return next(iter(seen.items()))
    if smallest is None and raised:
        raise raised[0]
    if smallest is None:
        return None, None
    failure = seen[smallest]
    if grading.options.shrink and failure.kind not in NOT_WORTH_SHRINKING:
        return explained(grading, smallest, failure, smaller=False)
    return smallest, failure
