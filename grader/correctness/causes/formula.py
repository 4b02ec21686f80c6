"""A formula that is wrong in every element, although each element is read where it should be."""

from __future__ import annotations

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness

MOST_RIGHT = 0.1  # of the elements, which chance or a 0 may make right


def explain(evidence: Evidence) -> Explanation | None:
    """Explain outputs that are element by element; in others an index may be wrong as well."""
    if not evidence.complete or len(evidence.bad) != 1 or len(evidence.wrong) != 1:
        return None
    [name] = evidence.bad
    if not all(_reads_all(evidence, a.name) for a in evidence.spec.arguments if a.role == "in"):
        return None
    if not all(is_elementwise(witness, name) for witness in evidence.witnesses):
        return None
    if len(evidence.witnesses) < 2 or not all(_is_wrong(w, name) for w in evidence.witnesses):
        return None
    line = evidence.line_of(name)
    return Explanation(
        f"Every element of {name} is wrong, and every input is read: compare the formula with the "
        f"task's. {evidence.quoted(line)} computes what is stored.",
        line,
    )


def _reads_all(evidence: Evidence, name: str) -> bool:
    given, read = evidence.inputs.get(name), evidence.read(name)
    if not isinstance(given, Tensor):
        return True
    return read is not None and bool(read.all())


def is_elementwise(witness: Witness, name: str) -> bool:
    """Say whether an input's first element changes no output element but those of its index."""
    for argument in witness.spec.arguments:
        given = witness.inputs.get(argument.name)
        if argument.role != "in" or not isinstance(given, Tensor) or not given.numel():
            continue
        changed = given.clone()
        first = (0,) * given.ndim
        changed[first] = changed[first] + 1
        other = witness.spec.reference({**witness.inputs, argument.name: changed})[name]
        before = witness.spec.reference(witness.inputs)[name]
        touched = int((other != before).sum())
        if touched > 1 and given.shape == before.shape:
            return False
    return True


def _is_wrong(witness: Witness, name: str) -> bool:
    """Say whether nearly all elements are wrong, of an output that sums nothing up."""
    wrong = witness.wrong[name]
    given = [each for each in witness.inputs.values() if isinstance(each, Tensor)]
    same = any(each.shape == wrong.shape for each in given)
    outer = wrong.ndim > max(each.ndim for each in given)
    return (same or outer) and float(wrong.double().mean()) >= 1 - MOST_RIGHT


CAUSE = Cause(
    name="formula",
    looks_at="outputs of which nearly every element is wrong in every case",
    order=95,
    kinds=("value",),
    explain=explain,
)
