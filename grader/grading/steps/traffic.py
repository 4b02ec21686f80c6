"""The traffic step: how often a kernel reads and writes each element, counted in simulation.

Bandwidth alone cannot tell an online softmax from one that reads its rows three times on a faster
card. The counts are exact and the same on every machine: masks are honoured, and torch operations
on arguments count as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from grader.correctness import expect, first_mismatch, reseeded
from grader.grading.session import Counted, Finding, Grading
from grader.grading.steps.correctness import failure_from, trusted, with_case
from grader.model import Case, Failure, GraderError, Outcome, Spec, Traffic
from grader.sandbox import KernelFailure

# What passes beyond the limit: a last block that is shifted back to be full reads up to a block
# twice, 13 % of the counted rows with blocks of 4096. A further pass over two would be 50 %.
SLACK = 1.2
# Faults of the kernel itself, which a GPU may forgive by luck and a simulator never misses, and
# what a file does to its process on purpose.
SURE = (
    *("race", "divergent_barrier", "divergent_shuffle", "uninitialised", "out_of_bounds"),
    *("protocol", "exit"),
)


def traffic(grading: Grading) -> Finding:
    """Count one call on the spec's counted case and hold it against the most that it allows."""
    spec, one = grading.spec, counted(grading)
    if isinstance(one, Finding):
        return one
    found = _per_element(grading, {**one.inputs, **one.outputs}, one.counts)
    tried = f"{one.case.headline}: " + ", ".join(map(_told, found))
    fault = next(filter(None, (_fault(spec, count) for count in found)), None)
    if fault is None:
        return Finding(tried, traffic=tuple(found))
    failure = with_case(fault, grading, one.case)
    return Finding(tried, failure, Outcome.FAIL, traffic=tuple(found))


def counted(grading: Grading) -> Counted | Finding:
    """The one call that is counted; or why there are no counts, or none worth anything.

    Raises KernelFailure when the call goes wrong.
    """
    case = _case(grading)
    try:
        one = grading.counted(count)
    except KernelFailure as error:
        # Without a GPU the steps before ran in simulation, and got through it. With one, an honest
        # kernel may ask its card, or use what no simulator has.
        if grading.options.device != "cpu" and error.failure.kind not in SURE:
            told = f"not counted, for the simulator cannot run it: {error.failure.message}"
            return Finding(told, outcome=Outcome.SKIP)
        raise KernelFailure(with_case(error.failure, grading, case)) from None
    wrong = wrong_answer(grading, one)
    return one if wrong is None else Finding(case.headline, wrong, Outcome.FAIL)


def count(grading: Grading) -> Counted:
    """As `count_case`, of the spec's counted case."""
    return count_case(grading, _case(grading))


def count_case(grading: Grading, case: Case) -> Counted:
    """Call the kernel once, in simulation. Raises KernelFailure when the call goes wrong."""
    kernel = grading.simulated
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    outputs, counts = kernel.count(inputs)
    unwritten = kernel.unwritten(outputs)
    return Counted(case, inputs, outputs, unwritten, counts.counts, counts.peak)


def wrong_answer(grading: Grading, one: Counted) -> Failure | None:
    """What is wrong with the answer of a counted call: what did no work counts for nothing."""
    expected = trusted(
        lambda: expect(grading.spec, one.case, one.inputs), "the reference", one.case
    )
    mismatch = first_mismatch(expected, one.outputs, one.unwritten)
    if mismatch is None:
        return None
    return with_case(failure_from(mismatch, grading.spec.backend), grading, one.case)


def _case(grading: Grading) -> Case:
    return reseeded(grading.spec.counted, grading.options.seed)


def _per_element(
    grading: Grading, tensors: Mapping[str, Tensor | float], counts: Mapping[str, int]
) -> list[Traffic]:
    """Raises GraderError when the worker did not count: nothing passes by default."""
    found = []
    for argument in grading.spec.arguments:
        tensor = tensors[argument.name]
        if not isinstance(tensor, Tensor):
            continue
        try:
            reads, writes = counts[f"reads.{argument.name}"], counts[f"writes.{argument.name}"]
        except KeyError:
            raise GraderError(f"The worker did not count the traffic of {argument.name}.") from None
        found.append(
            Traffic(
                argument=argument.name,
                reads=round(reads / tensor.numel(), 3),
                writes=round(writes / tensor.numel(), 3),
                most_reads=argument.most_reads,
                most_writes=argument.most_writes,
            )
        )
    return found


def _told(count: Traffic) -> str:
    parts = [f"read {count.reads:.3g} ×"] if count.reads else []
    parts += [f"written {count.writes:.3g} ×"] if count.writes else []
    return f"{count.argument} {' and '.join(parts) or 'untouched'}"


AGAIN = {
    "read": "Each further pass over the data costs the time of that pass: what could be kept from "
    "an earlier one? Or do several threads do the same work?",
    "written": "Each further write costs the time of the first: keep a value in a variable until "
    "it is final, and let only one thread store it.",
}


def _fault(spec: Spec, count: Traffic) -> Failure | None:
    argument = next(a for a in spec.arguments if a.name == count.argument)
    for done, times, least, most in (
        ("read", count.reads, argument.reads, argument.most_reads),
        ("written", count.writes, argument.writes, argument.most_writes),
    ):
        # The answer is right all the same, so the work was done where nothing is counted.
        if times * SLACK < least:
            return Failure(
                kind="uncounted",
                message=f"every element of {count.argument} must be {done}, and the simulation saw "
                f"that {times:.3g} times on average",
                expected=f"at least {least} ×",
                got=f"{times:.3g} ×",
                hint="Only kernels and torch operations may touch the arguments, not numpy or "
                "their addresses.",
            )
        if most is not None and times > most * SLACK:
            return Failure(
                kind="traffic",
                message=f"every element of {count.argument} is {done} {times:.3g} times on average",
                expected=f"at most {most} ×",
                got=f"{times:.3g} ×",
                hint=AGAIN[done],
            )
    return None
