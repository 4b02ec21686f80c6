"""The limits of the step `traffic`: reads and writes of each element, counted in simulation.

Bandwidth alone cannot tell an online softmax from one that reads its rows three times on a faster
card. The counts are exact and the same on every machine: masks are honoured, and torch operations
on arguments count as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from torch import Tensor

from grader import backends
from grader.grading.counting import Counted, FailedInSimulation, counted
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.traffic import counters
from grader.grading.steps.traffic.allowance import AGAIN, BEYOND, SLACK
from grader.grading.trials import trusted, with_case
from grader.model import Failure, GraderError, Inputs, Outcome, Spec, Traffic, how_often
from grader.sandbox import NotSimulated

ONLY_COUNTERS = "nothing but a GPU's counters sees what kernels of its language read and write"


def traffic(grading: Grading) -> Finding:
    """Count one call on the spec's counted case and compare it with the most that it allows.

    On a GPU, the hardware counts for a kernel that cannot be simulated. Its counters see less than
    the simulation: a kernel that merely fails in simulation can fail by them, and earn nothing.
    """
    spec = grading.spec
    if not backends.find(spec.backend).can.count_traffic:
        if grading.options.device == "cpu":
            raise NotSimulated(ONLY_COUNTERS)
        return counters.traffic(grading, f"not simulated: {ONLY_COUNTERS}")
    one = counted(grading)
    if isinstance(one, Finding):
        found = counters.traffic(grading, one.summary) if one.outcome is Outcome.SKIP else one
        chosen = isinstance(one, FailedInSimulation) and found.outcome is Outcome.PASS
        return replace(found, outcome=Outcome.SKIP) if chosen else found
    rows = _per_element(grading, one)
    summary = f"{one.case.headline}: " + ", ".join(map(_in_words, rows))
    least_part = _least_part(spec, one.inputs)
    fault = next(filter(None, (_fault(spec, count, least_part) for count in rows)), None)
    if fault is None:
        return Finding(summary, traffic=tuple(rows))
    failure = with_case(fault, grading, one.case)
    return Finding(summary, failure, Outcome.FAIL, traffic=tuple(rows))


def _per_element(grading: Grading, one: Counted) -> list[Traffic]:
    """Divide counts by the elements that are needed.

    Raises GraderError when the worker did not count, or the spec is wrong about what is needed.
    """
    rows: list[Traffic] = []
    counts = one.counts
    tensors: Mapping[str, Tensor | float] = {**one.inputs, **one.outputs}
    for argument in grading.spec.arguments:
        tensor = tensors[argument.name]
        if not isinstance(tensor, Tensor):
            continue
        try:
            reads, writes = counts[f"reads.{argument.name}"], counts[f"writes.{argument.name}"]
        except KeyError:
            raise GraderError(f"The worker did not count the traffic of {argument.name}.") from None
        pass_bytes = partial(argument.needed_bytes, one.inputs, tensor.nbytes)
        what = f"the number of bytes of {argument.name}"
        elements = trusted(pass_bytes, what, one.case) / tensor.element_size()
        rows.append(
            Traffic(
                argument=argument.name,
                reads=round(reads / elements, 3),
                writes=round(writes / elements, 3),
                most_reads=argument.most_reads,
                most_writes=argument.most_writes,
            )
        )
    return rows


def _in_words(count: Traffic) -> str:
    parts = [f"read {how_often(count.reads)}"] if count.reads else []
    parts += [f"written {how_often(count.writes)}"] if count.writes else []
    return f"{count.argument} {' and '.join(parts) or 'untouched'}"


def _least_part(spec: Spec, inputs: Inputs) -> float:
    """Return the part of an input that must be read: where each element takes some choice."""
    if spec.random is None:
        return 1.0
    return min(choice.probability(inputs) for choice in spec.random.choices)


def _fault(spec: Spec, count: Traffic, least_part: float) -> Failure | None:
    argument = next(a for a in spec.arguments if a.name == count.argument)
    asked = " that the inputs ask for" if argument.needed else ""
    each = f"every element of {count.argument}{asked}"
    for done, number, least, most in (
        ("read", count.reads, argument.reads * least_part, argument.most_reads),
        ("written", count.writes, argument.writes, argument.most_writes),
    ):
        # The output is right, so the work was done where nothing is counted.
        if number * SLACK < least:
            return Failure(
                kind="uncounted",
                message=f"{each} must be {done}, and the simulation saw that {how_often(number)} "
                "on average",
                expected=f"at least {how_often(least)}",
                got=how_often(number),
                hint="Only kernels and torch operations may touch the arguments, not numpy or "
                "their addresses.",
            )
        if most is not None and number > most * SLACK:
            return Failure(
                kind="traffic",
                message=f"{each} is {done} {how_often(number)} on average",
                expected=f"at most {how_often(most)}",
                got=how_often(number),
                hint=BEYOND if argument.needed and done == "read" else AGAIN[done],
            )
    return None
