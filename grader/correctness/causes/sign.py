"""Outputs of the right size and the wrong sign."""

from __future__ import annotations

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness, exactly

MOST_OFF = 0.01  # of an element's size; a formula with a wrong sign may lose digits as well
MOST_SHARE = 0.95  # of the elements: some may be 0, or lost


def explain(evidence: Evidence) -> Explanation | None:
    bad = evidence.bad
    failing = [each for each in evidence.witnesses if each.fails and not _has_a_one(each)]
    few = all(each.numel() < 4 for each in evidence.wrong.values())
    chance = not failing or (len(failing) < 2 and few)
    if (
        not bad
        or chance
        or not all(_is_opposite(witness, name) for witness in evidence.witnesses for name in bad)
    ):
        return None
    return Explanation(
        f"Each element of {' and '.join(bad)} has the right size and the wrong sign: is a minus "
        "missing, one too many, or are its two sides swapped?",
        evidence.text.first_line(r"=\s*-\w") or evidence.line_of(bad[0]),
    )


def _has_a_one(witness: Witness) -> bool:
    """Say whether a scalar is 1 or -1, which a kernel that leaves it out turns into a sign."""
    return any(value in (1.0, -1.0) for value in witness.inputs.values() if is_scalar(value))


def is_scalar(value: object) -> bool:
    return isinstance(value, int | float)


def _is_opposite(witness: Witness, name: str) -> bool:
    got, answer = exactly(witness, name)
    got, answer = got.double(), answer.double()
    counts = answer != 0
    if not bool(counts.any()):
        return True
    close = ((got + answer).abs() <= MOST_OFF * answer.abs())[counts]
    return float(close.double().mean()) >= MOST_SHARE


CAUSE = Cause(
    name="sign",
    looks_at="wrong outputs, compared with the reference's of the other sign",
    order=40,
    explain=explain,
)
