"""A mistake that the exercise itself lists, in `Spec.mistakes`."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence, Witness
from grader.model import Inputs, Mistake


def explain(evidence: Evidence) -> Explanation | None:
    for mistake in evidence.spec.mistakes:
        if _fits(mistake, evidence):
            line = evidence.text.first_line(*mistake.near)
            if not line and evidence.bad:
                line = evidence.line_of(evidence.bad[0])
            return Explanation(mistake.hint, line, mistake.cause)
    return None


def _fits(mistake: Mistake, evidence: Evidence) -> bool:
    if mistake.reference is not None:
        own = mistake.reference

        def computed(inputs: Inputs) -> Mapping[str, Tensor]:
            return {**evidence.spec.reference(inputs), **own(inputs)}

        return evidence.computes(computed)
    if mistake.blocked is not None:
        return any(_is_blocked(mistake, evidence, lanes) for lanes in sorted(evidence.blocks))
    return evidence.holds(lambda witness: _inside(mistake, witness)) and any(
        _spares(mistake, witness) for witness in evidence.witnesses
    )


def _is_blocked(mistake: Mistake, evidence: Evidence, lanes: int) -> bool:
    assert mistake.blocked is not None
    own = mistake.blocked
    if all(bool(evidence.outputs[name].isnan().all()) for name in evidence.bad):
        return False  # many a formula gives NaN everywhere: it tells none from another

    def computed(inputs: Inputs) -> Mapping[str, Tensor]:
        return {**evidence.spec.reference(inputs), **own(inputs, lanes)}

    return evidence.computes(computed)


def _marks(mistake: Mistake, witness: Witness) -> Mapping[str, Tensor]:
    assert mistake.only is not None
    return mistake.only(witness.inputs)


def _inside(mistake: Mistake, witness: Witness) -> bool:
    marks = _marks(mistake, witness)
    return all(
        bool((~wrong | marks[name]).all()) if name in marks else not bool(wrong.any())
        for name, wrong in witness.wrong.items()
    )


def _spares(mistake: Mistake, witness: Witness) -> bool:
    """Say whether elements beyond the marked ones are right, so that the pattern says anything."""
    marks = _marks(mistake, witness)
    return any(bool((~witness.wrong[name] & ~each).any()) for name, each in marks.items())


CAUSE = Cause(
    name="known_mistake",
    looks_at="the mistakes that the exercise's spec lists",
    order=20,
    kinds=OUTPUTS,
    explain=explain,
)
