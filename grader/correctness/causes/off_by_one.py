"""Elements that hold what their neighbours should hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import Tensor

from grader.correctness.acceptance import right_of
from grader.correctness.accesses import lines_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness
from grader.model import Inputs

FEWEST = 3  # wrong elements that hold a neighbour's value; fewer may do so by chance


def explain(evidence: Evidence) -> Explanation | None:
    return _of_output(evidence) or _of_input(evidence)


def _of_input(evidence: Evidence) -> Explanation | None:
    """Explain by the reference's outputs for an input that is read one place before or after."""
    for argument in evidence.spec.arguments:
        given = evidence.inputs.get(argument.name)
        if argument.role != "in" or not isinstance(given, Tensor) or not given.ndim:
            continue
        for by, where in ((-1, "after"), (1, "before")):
            for fill in (None, 0.0):
                if evidence.computes(partial(_shifted, evidence, argument.name, by, fill)):
                    return Explanation(
                        f"The output is that of {argument.name} read one place {where} the right "
                        "one: is an index off by one?",
                        _reading(evidence, argument.name),
                    )
    return None


def _reading(evidence: Evidence, name: str) -> int:
    lines = {use.line for use in evidence.uses if use.argument == name and use.reads}
    lines = lines or set(lines_of(evidence.text, name, reading=True))
    return lines.pop() if len(lines) == 1 else evidence.line_of(evidence.bad[0])


def _shifted(
    evidence: Evidence, name: str, by: int, fill: float | None, inputs: Inputs
) -> Mapping[str, Tensor]:
    """Compute the outputs of an input whose elements are moved by one, around the end or not."""
    given = inputs[name]
    assert isinstance(given, Tensor)
    moved = given.roll(by, -1)
    if fill is not None:
        moved[..., 0 if by > 0 else -1] = fill
    return evidence.spec.reference({**inputs, name: moved})


def _of_output(evidence: Evidence) -> Explanation | None:
    if len(evidence.bad) != 1:
        return None
    [name] = evidence.bad
    for by, where in ((1, "after"), (-1, "before")):
        if evidence.holds(partial(_holds_neighbours, name, by)) and any(
            int(witness.wrong[name].sum()) >= FEWEST for witness in evidence.witnesses
        ):
            return Explanation(
                f"Each element of {name} holds what the one {where} it should hold: is an index "
                "off by one?",
                evidence.line_of(name),
            )
    return None


def _holds_neighbours(name: str, by: int, witness: Witness) -> bool:
    got, answer = witness.outputs[name], witness.expected.outputs[name]
    if got.ndim != 1 or len(got) < 2:
        return False
    return bool(right_of(witness.expected, name, _moved(got, answer, by)).all())


def _moved(got: Tensor, answer: Tensor, by: int) -> Tensor:
    """Shift each element by `by` places, and fill the place at the end with the right value."""
    moved = got.roll(by)
    moved[0 if by > 0 else -1] = answer[0 if by > 0 else -1]
    return moved


CAUSE = Cause(
    name="off_by_one",
    looks_at="the outputs of neighbouring elements",
    order=50,
    explain=explain,
)
