"""Elements of an input that no line reads, although wrong outputs depend on them."""

from __future__ import annotations

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.coverage import reason
from grader.correctness.evidence import Evidence
from grader.correctness.mismatch import describe_where
from grader.correctness.source import parameter_is_unused


def explain(evidence: Evidence) -> Explanation | None:
    if not evidence.complete or not evidence.uses:
        return None
    for argument in evidence.spec.arguments:
        given = evidence.inputs.get(argument.name)
        if argument.role != "in" or not isinstance(given, Tensor) or not given.numel():
            continue
        found = _of_input(evidence, argument.name, given)
        if found is not None:
            return found
    return None


def _of_input(evidence: Evidence, name: str, given: Tensor) -> Explanation | None:
    read = evidence.read(name)
    if read is None:
        everything = given.new_ones(given.shape).bool()
        whole = _rounded_to_nothing(evidence, everything, name)
        if whole is not None:
            return whole
        if not parameter_is_unused(evidence.text, name):
            return None
        return Explanation(
            f"No line reads {name}: is another array read in its place, or is it left out of the "
            "formula?",
            evidence.line_of(evidence.bad[0]),
        )
    if bool(read.all()) or not _explains(evidence, ~read):
        return None
    found = reason(evidence, ~read, name)
    if found is not None:
        return Explanation(
            f"{_capital(describe_where(~read))} of {name} {_are(~read)} never read: "
            f"{found.question}{evidence.see(found.line)}",
            found.line,
            found.cause,
        )
    line = max(use.line for use in evidence.uses if use.argument == name and use.reads)
    place = describe_where(~read)
    return Explanation(
        f"{_capital(place)} of {name} {_are(~read)} never read: "
        f"line {line} reads the others. Does an address lack the number of the program or thread? "
        "Does a loop end too early, or a mask or `if` leave them out?",
        line,
    )


def _rounded_to_nothing(evidence: Evidence, unread: Tensor, name: str) -> Explanation | None:
    """Explain an input that is shorter than a block, and left out by rounding down."""
    found = reason(evidence, unread, name)
    if found is None or found.cause not in ("tail", "off_by_one"):
        return None
    return Explanation(
        f"No element of {name} is read: {found.question}{evidence.see(found.line)}",
        found.line,
        found.cause,
    )


def _explains(evidence: Evidence, unread: Tensor) -> bool:
    """Say whether exactly the outputs that depend on what is unread are wrong."""
    for name in evidence.bad:
        wrong = evidence.wrong[name]
        if wrong.numel() == 1:
            return True
        if wrong.shape == unread.shape:
            if bool(((wrong & unread) == wrong).all()):
                return True
            if wrong.ndim == 2 and bool((wrong.any(1) == unread.any(1)).all()):
                return True
        elif unread.ndim == 2 and wrong.ndim == 1 and len(wrong) == len(unread):
            if bool((wrong == unread.any(1)).all()):
                return True
        elif unread.ndim == 1 and wrong.ndim == 2 and len(unread) == wrong.shape[1]:
            if not bool((wrong.any(0) & ~unread).any()):
                return True
        elif unread.ndim == 1 and wrong.ndim == 2 and len(unread) == len(wrong):
            if not bool((wrong.any(1) & ~unread).any()):
                return True
        elif bool(wrong.all()):
            return True
    return False


def _are(marks: Tensor) -> str:
    one = describe_where(marks).startswith(("element ", "row ", "column ", "every "))
    return "is" if one else "are"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


CAUSE = Cause(
    name="never_read",
    looks_at="the elements of inputs that no line reads",
    order=70,
    explain=explain,
)
