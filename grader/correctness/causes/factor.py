"""Outputs that are a constant factor too large or too small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness, exactly

Factor = Callable[[Witness], float]


def explain(evidence: Evidence) -> Explanation | None:
    if len(evidence.bad) != 1:
        return None
    [name] = evidence.bad
    for words, factor in _named(evidence, name):
        if _fits(evidence, name, factor):
            return Explanation(
                f"Each element of {name} is {words}: is a factor or a divisor missing, or one too "
                "many?",
                evidence.text.first_line(r"= 0?\.5\b|= 2(\.0)? ?\*") or evidence.line_of(name),
            )
    failing = [witness for witness in evidence.witnesses if witness.fails]
    if len(failing) > 1 and all(_is_multiple(witness, name) for witness in failing):
        return Explanation(
            f"{name} is a whole number of times too large: does each block, or each thread, add "
            "what others add as well?",
            evidence.line_of(name),
        )
    return None


def _is_multiple(witness: Witness, name: str) -> bool:
    """Say whether all elements are as many times too large, by a whole number."""
    got, answer = exactly(witness, name)
    counts = answer.abs() > 0
    if not bool(counts.any()) or not bool(got.isfinite().all()):
        return False
    ratio = (got.double() / answer.double())[counts].flatten()
    times = round(float(ratio.median()))
    return times >= 2 and bool(((ratio / times - 1).abs() < 1e-3).all())


def _fits(evidence: Evidence, name: str, factor: Factor) -> bool:
    return all(
        _computes(witness, name, factor(witness))
        for witness in (evidence.main, *_lazily(evidence, name, factor))
    )


def _lazily(evidence: Evidence, name: str, factor: Factor) -> Iterator[Witness]:
    """Yield the further cases, which cost time, only if the failing one fits."""
    if _computes(evidence.main, name, factor(evidence.main)):
        yield from evidence.witnesses[1:]


def _computes(witness: Witness, name: str, factor: float) -> bool:
    def scaled(inputs: Mapping[str, Tensor | float]) -> Mapping[str, Tensor]:
        outputs = dict(witness.spec.reference(inputs))
        outputs[name] = outputs[name] * factor
        return outputs

    return math.isfinite(factor) and factor != 0 and witness.computes(scaled)


def _named(evidence: Evidence, name: str) -> Iterator[tuple[str, Factor]]:
    """Yield factors that have a meaning, and last the ratio itself; each with its words."""
    for scalar in (a.name for a in evidence.spec.arguments if a.role == "scalar"):
        yield f"{scalar} times too large", partial(_scalar, scalar)
        yield f"{scalar} times too small", partial(_inverse, partial(_scalar, scalar))
    yield (
        "log2(e) = 1.4427 times too large, as with exp2 or log2 for exp or log",
        _constant(math.log2(math.e)),
    )
    yield (
        "log2(e) = 1.4427 times too small, as with exp or log for exp2 or log2",
        _constant(math.log(2)),
    )
    for axis in reversed(range(len(evidence.main.case.shape))):
        of = ("rows", "columns")[axis] if len(evidence.main.case.shape) == 2 else "elements"
        yield f"too large by the number of {of}", partial(_extent, axis)
        yield f"too small by the number of {of}", partial(_inverse, partial(_extent, axis))
    for lanes in sorted({use.lanes for use in evidence.uses if use.lanes > 1}):
        yield f"too large by {lanes}, the lanes of a block", _constant(lanes)
        yield f"too small by {lanes}, the lanes of a block", _constant(1 / lanes)
    for times in (2, 3, 4):
        yield f"{times} times too large", _constant(times)
        yield f"{times} times too small", _constant(1 / times)


def _scalar(name: str, witness: Witness) -> float:
    value = witness.inputs[name]
    return math.nan if isinstance(value, Tensor) else float(value)


def _extent(axis: int, witness: Witness) -> float:
    return float(witness.case.shape[axis])


def _inverse(factor: Factor, witness: Witness) -> float:
    return 1 / (factor(witness) or math.nan)


def _constant(factor: float) -> Factor:
    return lambda witness: factor


CAUSE = Cause(
    name="factor",
    looks_at="the ratio of the output to the right one",
    order=45,
    explain=explain,
)
