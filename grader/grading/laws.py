"""The failure of a law that an exercise's test states, from the test's AssertionError."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.correctness import OtherBits
from grader.model import Failure, printable

# A call whose effect depends on the order in which programs or threads come.
ATOMIC = re.compile(r"^[^#]*\batomic\w*[.(]")


def broken(law: str, error: AssertionError, source: Sequence[str]) -> Failure:
    """Build the failure; `source` are the lines of the kernel file, to which a hint may point."""
    detail = str(error).splitlines()[0] if str(error) else "it does not hold"
    failure = Failure(kind="property", message=f"{law} {detail[:1].upper()}{detail[1:]}")
    if not isinstance(error, OtherBits):
        return failure
    hint = (
        "A sum of floats depends on the order of its terms, and programs and threads come in any "
        f"order.{_see(source)} Leave a partial result in a place of its own for each program, and "
        "combine these in a fixed order."
    )
    return failure.model_copy(update={"hint": hint, "cause": "not_repeatable"})


def _see(source: Sequence[str]) -> str:
    for number, line in enumerate(source, 1):
        if ATOMIC.match(line):
            return f" See line {number} ({printable(line.strip())})."
    return ""
