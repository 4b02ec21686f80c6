"""Two inputs that a kernel exchanges, or one that it uses twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.model import Inputs


def explain(evidence: Evidence) -> Explanation | None:
    for one, other in _pairs(evidence):
        if evidence.computes(partial(_with, evidence, {one: other, other: one})):
            return Explanation(
                f"The output is that of {one} and {other} exchanged: are they in another order in "
                "the launch than in the kernel's parameters, or swapped in the formula?",
                evidence.line_of(evidence.bad[0]),
            )
    for one, other in _pairs(evidence):
        for used, left in ((one, other), (other, one)):
            if evidence.computes(partial(_with, evidence, {left: used})):
                line = evidence.text.first_line(rf"^{left}\w* = ")
                return Explanation(
                    f"The output is that of {used} in place of {left}: where does the kernel use "
                    f"{left}?",
                    line or evidence.line_of(evidence.bad[0]),
                    "never_read",
                )
    return None


def _pairs(evidence: Evidence) -> Iterator[tuple[str, str]]:
    given = [a.name for a in evidence.spec.arguments if a.role != "out"]
    for one, other in combinations(given, 2):
        a, b = evidence.inputs[one], evidence.inputs[other]
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            if a.shape == b.shape and a.dtype == b.dtype:
                yield one, other
        elif type(a) is type(b):
            yield one, other


def _with(evidence: Evidence, takes: Mapping[str, str], inputs: Inputs) -> Mapping[str, Tensor]:
    """Compute the outputs where some inputs take the values of others."""
    changed = {name: inputs[takes.get(name, name)] for name in inputs}
    return evidence.spec.reference(changed)


CAUSE = Cause(
    name="swapped_arguments",
    looks_at="the reference's outputs with two inputs exchanged, or one in place of another",
    order=30,
    explain=explain,
)
