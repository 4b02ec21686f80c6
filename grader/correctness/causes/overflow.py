"""Large inputs that overflow on the way to a result that does not."""

from __future__ import annotations

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness

EXP_OVERFLOWS = 88.7  # exp of more does not fit into float32
SAFE = 40.0


def explain(evidence: Evidence) -> Explanation | None:
    for argument in evidence.spec.arguments:
        name, given = argument.name, evidence.inputs.get(argument.name)
        if argument.role == "out" or not isinstance(given, Tensor):
            continue
        if given.is_floating_point() and _fits(evidence, name):
            return Explanation(
                f"The output is wrong only where {name} is far from 0, and the right result is an "
                "ordinary number: something overflows on the way. exp(x) is infinite above "
                f"{EXP_OVERFLOWS:g} in float32, and 0 far below 0; subtract the largest element "
                "first, or use a form whose exponent is at most 0.",
                evidence.text.first_line(r"\bexp2?\(") or evidence.line_of(evidence.bad[0]),
            )
    return None


def _fits(evidence: Evidence, name: str) -> bool:
    main = evidence.main
    if not any(_lost(main, out) for out in evidence.bad) or not _only_large(main, name):
        return False
    calm = [w for w in evidence.witnesses if not _only_large(w, name) or not w.fails]
    return bool(calm) and all(not w.fails for w in calm)


def _lost(witness: Witness, out: str) -> bool:
    """Say whether wrong elements are infinite or NaN, where the right ones are finite."""
    got, wrong = witness.outputs[out].double(), witness.wrong[out]
    finite = witness.expected.outputs[out].isfinite()
    return bool((~got.isfinite() & finite & wrong).any())


def _only_large(witness: Witness, name: str) -> bool:
    """Say whether wrong elements, or rows, are only where an input is far from 0."""
    given = witness.inputs[name]
    assert isinstance(given, Tensor)
    size = given.double().abs()
    some = False
    for wrong in witness.wrong.values():
        if not bool(wrong.any()):
            continue
        some = True
        if wrong.shape == size.shape and wrong.ndim == 2:
            rows = size.amax(1)[wrong.any(1)]
        elif wrong.ndim and size.ndim and len(wrong) == len(size):
            rows = size.reshape(len(size), -1).amax(1)[wrong.reshape(len(wrong), -1).any(1)]
        else:
            rows = size.max().reshape(1)
        if bool((rows < SAFE).any()):
            return False
    return some


CAUSE = Cause(
    name="overflow",
    looks_at="the size of the inputs where outputs are infinite or NaN",
    order=60,
    kinds=("not_finite", "value"),
    explain=explain,
)
