"""Rows and columns exchanged, in an output or in an input."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.model import Inputs


def explain(evidence: Evidence) -> Explanation | None:
    bad = evidence.bad
    tables = [name for name in bad if _is_table(evidence.outputs[name])]
    if tables:

        def turned(inputs: Inputs) -> Mapping[str, Tensor]:
            outputs = evidence.spec.reference(inputs)
            return {n: _turned(each) if n in tables else each for n, each in outputs.items()}

        if evidence.computes(turned):
            return _explained(evidence, tables[0], "row and column")
    for argument in evidence.spec.arguments:
        name, given = argument.name, evidence.inputs.get(argument.name)
        if argument.role != "in" or not isinstance(given, Tensor) or not _is_table(given):
            continue
        if evidence.computes(partial(_of_turned, evidence, name)):
            return _explained(evidence, name, "the row's and the column's index")
    return None


def _is_table(values: Tensor) -> bool:
    return values.ndim == 2 and min(values.shape) > 1


def _turned(values: Tensor) -> Tensor:
    """Return the elements that lie where those of the transposed table would, in its shape."""
    return values.T.reshape(values.shape) if values.ndim == 2 else values


def _of_turned(evidence: Evidence, name: str, inputs: Inputs) -> Mapping[str, Tensor]:
    given = inputs[name]
    assert isinstance(given, Tensor)
    return evidence.spec.reference({**inputs, name: _turned(given)})


def _explained(evidence: Evidence, name: str, what: str) -> Explanation:
    return Explanation(
        f"The output is that of {name} transposed: are {what} exchanged where {name} is accessed?",
        evidence.line_of(evidence.bad[0]),
    )


CAUSE = Cause(
    name="transposed",
    looks_at="the reference's outputs with rows and columns of a table exchanged",
    order=35,
    explain=explain,
)
