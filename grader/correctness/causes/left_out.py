"""An input that the formula leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness
from grader.model import Inputs


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by the reference's outputs for an input, or a factor, that is 0 or 1 throughout."""
    given = [a.name for a in evidence.spec.arguments if a.role == "in"]
    if not any(bool(evidence.outputs[name].any()) for name in evidence.bad):
        return None  # a product is 0 for many a reason
    for name in given if len(given) > 1 else []:
        if not isinstance(evidence.inputs.get(name), Tensor):
            continue
        for value in (0, 1):
            if evidence.computes(partial(_with, evidence, name, value)):
                line = evidence.line_of(evidence.bad[0])
                return Explanation(
                    f"The output would be right if {name} were {value} everywhere: where does "
                    f"the kernel use {name}? {evidence.quoted(line)} computes what is stored.",
                    line,
                    "formula",
                )
    return _of_scalar(evidence)


def _of_scalar(evidence: Evidence) -> Explanation | None:
    for argument in evidence.spec.arguments:
        name = argument.name
        if argument.role == "scalar" and all(
            witness.computes_from({**witness.inputs, name: 1.0})
            for witness in (evidence.main, *_if_so(evidence, name))
        ):
            line = evidence.line_of(evidence.bad[0])
            return Explanation(
                f"The output would be right if {name} were 1: is the factor {name} missing? "
                f"{evidence.quoted(line)} computes what is stored.",
                line,
                "factor",
            )
    return None


def _if_so(evidence: Evidence, name: str) -> tuple[Witness, ...]:
    """Return the further cases, which cost time, only if the failing one fits."""
    main = evidence.main
    return evidence.witnesses[1:] if main.computes_from({**main.inputs, name: 1.0}) else ()


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
