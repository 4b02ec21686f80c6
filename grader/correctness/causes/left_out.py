"""An input that the formula leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.model import Inputs


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by the reference's outputs for an input that is 0, or 1, throughout."""
    given = [a.name for a in evidence.spec.arguments if a.role == "in"]
    for name in given if len(given) > 1 else []:
        if not isinstance(evidence.inputs.get(name), Tensor):
            continue
        for value in (0, 1):
            if evidence.computes(partial(_with, evidence, name, value)):
                line = evidence.line_of(evidence.bad[0])
                return Explanation(
                    f"The output is that of a {name} which is {value} everywhere: where does the "
                    f"kernel use {name}? {evidence.quoted(line)} computes what is stored.",
                    line,
                    "formula",
                )
    return None


def _with(evidence: Evidence, name: str, value: int, inputs: Inputs) -> Mapping[str, Tensor]:
    """Compute the outputs where all elements of an input are one number."""
    given = inputs[name]
    assert isinstance(given, Tensor)
    return evidence.spec.reference({**inputs, name: given.new_full(given.shape, value)})


CAUSE = Cause(
    name="left_out",
    looks_at="the reference's outputs for an input that is 0 or 1 throughout",
    order=72,
    kinds=("value",),
    explain=explain,
)
