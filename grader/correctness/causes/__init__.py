"""Likely causes of wrong outputs: each file in here defines a `CAUSE`.

Adding one registers it. A cause looks at the evidence of one failing case, and explains it or is
silent; the one with the lowest order that explains it is shown.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.model import discover


def explain(
    evidence: Evidence, broken: Callable[[Exception], None]
) -> tuple[str, Explanation] | None:
    """Return the likely cause of a failure and its explanation, or None if none fits.

    A cause that fails is passed over, for a hint must not change a verdict; `broken` gets the
    exception.
    """
    known = discover(__name__, "CAUSE", Cause).values()
    for cause in sorted(known, key=lambda each: (each.order, each.name)):
        if evidence.failure.kind in cause.kinds:
            try:
                found = cause.explain(evidence)
            except Exception as error:
                broken(error)
                continue
            if found is not None:
                return found.cause or cause.name, found
    return None
