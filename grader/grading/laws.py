"""The failure of a law that an exercise's test states, and whose fault its exception is."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from hypothesis.errors import Flaky, HypothesisException

from grader.correctness import OtherBits
from grader.model import Failure, printable
from grader.sandbox import KernelFailure

COMPARISONS = Path(inspect.getfile(OtherBits))  # those of `grader.testing`
# A call whose effect depends on the order in which programs or threads come.
ATOMIC = re.compile(r"^[^#]*\batomic\w*[.(]")


def cause_of(error: BaseException, test: Path) -> BaseException:
    """Return the exception that decides whose fault it is that a test failed.

    Hypothesis calls a test again, and reports what is not raised again as Flaky: as if the kernel
    had changed its output, although the machine or the exercise failed once.
    """
    if not isinstance(error, Flaky):
        return error
    kernels = (KernelFailure, HypothesisException)  # the second for an output that no law takes
    once = (one for one in _parts(error) if not isinstance(one, kernels))
    return next((one for one in once if not is_broken(one, test)), error)


def _parts(error: BaseException) -> Iterator[BaseException]:
    parts: Sequence[BaseException] = getattr(error, "exceptions", ())
    for part in parts:
        yield from _parts(part) if hasattr(part, "exceptions") else [part]


def is_broken(error: BaseException, test: Path) -> bool:
    """Report whether an exception says that a law is broken: one of a comparison.

    That is an assertion in the exercise's folder outside of its spec, of `grader.testing`, or of a
    library's `testing`. An assertion anywhere else is not about the kernel.
    """
    if not isinstance(error, AssertionError):
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    place = Path(frame.f_code.co_filename).resolve()
    if place.is_relative_to(test.parent.resolve()):
        return place.name != "spec.py"
    names = str(frame.f_globals.get("__name__")).split(".")
    return place == COMPARISONS or not {"testing", "unittest"}.isdisjoint(names)


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
