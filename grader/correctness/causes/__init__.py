"""Likely causes of wrong outputs: each file in here defines a `CAUSE`.

Adding one registers it. A cause looks at the evidence of one failing case, and explains it or is
silent; the one with the lowest order that explains it is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, OutOfTime
from grader.model import discover

# Seconds that the search for a cause may take. With a failing case it takes a fifth of a second;
# only a kernel that is slow, or made to be, takes more. A learner waits for a verdict, and a hint
# is not worth more than the few seconds that the check itself takes.
SEARCH_S = 5.0


def explain(
    evidence: Evidence, broken: Callable[[Exception], None]
) -> tuple[str, Explanation] | None:
    """Return the likely cause of a failure and its explanation, or None if none fits.

    A cause that fails is passed over, for a hint must not change a verdict; `broken` gets the
    exception. After SEARCH_S the search ends without a cause.
    """
    evidence = replace(evidence, deadline=time.monotonic() + SEARCH_S)
    known = discover(__name__, "CAUSE", Cause).values()
    for cause in sorted(known, key=lambda each: (each.order, each.name)):
        if evidence.failure.kind in cause.kinds:
            try:
                evidence.in_time()
                found = cause.explain(evidence)
            except OutOfTime:
                return None
            except Exception as error:
                broken(error)
                continue
            if found is not None:
                return found.cause or cause.name, found
    return None
