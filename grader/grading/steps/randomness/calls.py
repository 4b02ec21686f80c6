"""The calls of the step `randomness`, and what must be equal between them.

A choice may depend on the seed and on the element's place, and on nothing else. So the same seed
must give the same bits again, the same choices in a new process at other addresses, and the same
choices for other inputs. Three further seeds, each close to the first in its bits, must give
choices that are independent of each other (`grader.correctness.randomness`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from grader.correctness import (
    MOST_FALSE,
    Draws,
    Expected,
    bits,
    choices_differ,
    choices_taken,
    expect,
    first_mismatch,
    numbers_of,
    reseeded,
    unlikely,
    with_layout,
)
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.randomness import words
from grader.grading.text_causes import with_line
from grader.grading.trials import failure_from, trusted, with_case
from grader.model import MOST_SEED, BrokenExercise, Case, Failure, Outcome
from grader.sandbox import KernelFailure

LEAST_TELLING = 0.5  # of the elements of an output that is drawn
HIGHEST_BIT = (MOST_SEED + 1) >> 1
# A call of a generator, as most are named: its line is where to look for a fault of the draws.
DRAWS = re.compile(r"^(?!\s*(?:def |#)).*\b\w*(?:rand|philox|xoroshiro)\w*\(", re.IGNORECASE)

Values = dict[str, Tensor | float]


@dataclass(frozen=True)
class Called:
    """One call: its outputs, and what each element of its random outputs took."""

    outputs: Mapping[str, Tensor]
    drawn: Mapping[str, Draws]


class Rejected(Exception):
    """A fault of the kernel, which the failure describes."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def randomness(grading: Grading) -> Finding:
    """Call the kernel several times with a large case; compare and count what it drew."""
    spec, options = grading.spec, grading.options
    assert spec.random is not None
    case = options.case or reseeded(spec.random.case, options.seed)
    try:
        summary = _tried(grading, case)
    except Rejected as error:
        failure = with_case(_with_draws(error.failure, grading.source), grading, case)
        return Finding(case.headline, failure, Outcome.FAIL)
    except KernelFailure as error:
        raise KernelFailure(with_case(error.failure, grading, case)) from None
    return Finding(f"{case.headline}: {summary}")


def _with_draws(failure: Failure, source: list[str]) -> Failure:
    """Name the first line that draws, unless a value is not among the choices."""
    lines = (number for number, text in enumerate(source, 1) if DRAWS.search(text))
    return with_line(failure, source, next(lines, 0)) if failure.cause else failure


def _tried(grading: Grading, case: Case) -> str:
    kernel, name = grading.remote, _seed_of(grading)
    others = trusted(lambda: kernel.inputs(_with_other_values(case)), "drawing the inputs", case)
    inputs = trusted(lambda: kernel.inputs(case), "drawing the inputs", case)
    seed = min(int(inputs[name]), MOST_SEED - 1)
    inputs[name] = seed
    call = partial(_called, grading, case)
    first = call(inputs)
    _require_same_bits(first, call(inputs))
    other = {name: others[name] if isinstance(v, Tensor) else v for name, v in inputs.items()}
    _require_same_choices(first, call(other), words.of_values)
    further = [call(inputs | {name: each}) for each in _further_seeds(seed)]
    summaries = [_judged(grading, output, [first, *further], inputs) for output in first.drawn]
    grading.executor.close()  # a new process has other addresses, and nothing kept in memory
    _require_same_choices(first, call(_moved(inputs, case)), words.elsewhere)
    return ", ".join(summaries)


def _seed_of(grading: Grading) -> str:
    return next(argument.name for argument in grading.spec.arguments if argument.seeds)


def _with_other_values(case: Case) -> Case:
    return replace(case, seed=(case.seed + 1) % 2**31)


def _further_seeds(seed: int) -> Sequence[int]:
    """Return three more seeds: the next one, one with another high bit, one with a middle bit."""
    middle = 1 << random.Random(seed).randint(8, HIGHEST_BIT.bit_length() - 2)
    return seed + 1, seed ^ HIGHEST_BIT, seed ^ middle


def _moved(inputs: Values, case: Case) -> Values:
    """Copy each tensor to a place with another offset in its 16 bytes, with the same strides."""

    def moved(value: Tensor) -> Tensor:
        pad = value.stride(-2) - value.shape[-1] if value.ndim > 1 else 0
        return with_layout(value, pad, 1 - min(case.offset, 1), value.device)

    return {k: moved(v) if isinstance(v, Tensor) else v for k, v in inputs.items()}


def _called(grading: Grading, case: Case, inputs: Values) -> Called:
    spec, kernel = grading.spec, grading.remote
    outputs = kernel.run(inputs)
    unwritten = kernel.unwritten(outputs)
    expected = trusted(lambda: expect(spec, case, inputs), "the reference", case)
    mismatch = first_mismatch(expected, outputs, unwritten)
    if mismatch is not None:
        numbers = numbers_of(spec, inputs, expected, outputs, unwritten)
        raise Rejected(failure_from(mismatch, spec.backend, numbers))
    seed = int(inputs[_seed_of(grading)])
    drawn = {name: _draws(expected, name, out, seed) for name, out in outputs.items()}
    random_ones = {name: each for name, each in drawn.items() if each.telling.any()}
    few = [n for n, each in random_ones.items() if each.telling.mean() < LEAST_TELLING]
    if not random_ones or few:
        raise BrokenExercise(
            f"The exercise is broken: for {case}, most elements have equal choices.",
            "Let the spec's `random` have a case whose choices differ.",
        )
    return Called(outputs, random_ones)


def _draws(expected: Expected, name: str, got: Tensor, seed: int) -> Draws:
    taken, telling = choices_taken(expected, name, got), choices_differ(expected, name, got)
    return Draws(seed, taken.flatten().cpu().numpy(), telling.flatten().cpu().numpy())


def _require_same_bits(first: Called, again: Called) -> None:
    for name, one in first.outputs.items():
        changed = int((bits(one) != bits(again.outputs[name])).sum())
        if changed:
            raise Rejected(words.again(name, changed, one.numel()))


def _require_same_choices(first: Called, other: Called, fault: words.Fault) -> None:
    for name, one in first.drawn.items():
        if name in other.drawn:
            both = one.telling & other.drawn[name].telling
            changed = int(((one.taken != other.drawn[name].taken) & both).sum())
            if changed:
                raise Rejected(fault(name, changed, int(both.sum())))


def _judged(grading: Grading, name: str, called: Sequence[Called], inputs: Values) -> str:
    """Test one output; return what to say of it. Raises Rejected."""
    spec = grading.spec
    assert spec.random is not None
    names = [choice.name for choice in spec.random.choices]
    probabilities = [float(choice.probability(inputs)) for choice in spec.random.choices]
    calls, shape = [each.drawn[name] for each in called], called[0].outputs[name].shape
    failing, count = unlikely(calls, shape, probabilities)
    total = sum(int(each.telling.sum()) for each in calls)
    if max(probabilities) ** total > MOST_FALSE / count:  # so no test can reject that kernel
        raise BrokenExercise(
            f"The exercise is broken: a kernel that draws nothing is right, because the choices of "
            f"{name} have the probabilities {probabilities}.",
            "Let the spec's `random` have a case with more elements, or other probabilities.",
        )
    if failing:
        raise Rejected(words.of_tests(failing, name, shape, names))
    share = sum(int((each.taken[each.telling] == 0).sum()) for each in calls) / total
    return (
        f"{share:.4f} {names[0]} for {probabilities[0]:.4f} asked, of {total:,} elements with "
        f"{len(calls)} seeds; {count:,} tests of independence"
    )
