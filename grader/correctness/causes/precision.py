"""Results that are right to a few digits only."""

from __future__ import annotations

import re

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness, exactly

MOST_OFF = 0.02  # of an element's size: float16 has 11 bits, bfloat16 has 8, and errors add up
# Sums that begin with the dtype of a pointer have 16 bits wherever that has.
NARROW = re.compile(
    r"float16|bfloat16|fp_downcast_rounding|\.int\(|tl\.int32|int8|zeros\(.*element_ty"
)


def explain(evidence: Evidence) -> Explanation | None:
    narrow = [n for n, text in enumerate(evidence.source, 1) if NARROW.search(_code(text))]
    narrow = [line for line in narrow if evidence.text.around(line) is not None]
    if not narrow:
        return None
    if evidence.failure.kind == "value" and not all(
        _nearly(w, name) for w in evidence.witnesses if w.fails for name in evidence.bad
    ):
        return None
    line = narrow[0]
    return Explanation(
        f"The output is right to a few digits only. {evidence.quoted(line)} has fewer bits "
        "than the result needs: compute in float32, and let the store round once.",
        line,
    )


def _code(text: str) -> str:
    return text.partition("#")[0]


def _nearly(witness: Witness, name: str) -> bool:
    got, answer = exactly(witness, name)
    if not got.is_floating_point():
        return False
    off = (got - answer).abs() <= MOST_OFF * answer.abs() + witness.expected.magnitude[name] * 1e-2
    finite = got.isfinite()
    return bool(off[finite].all())  # what float16 cannot hold is infinite


CAUSE = Cause(
    name="precision",
    looks_at="the size of the errors, and lines with types of few bits",
    order=42,
    kinds=("value", "rounding", "rms"),
    explain=explain,
)
