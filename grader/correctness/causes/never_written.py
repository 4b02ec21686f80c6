"""Elements of an output that nobody wrote, and the reason that the launch gives."""

from __future__ import annotations

from torch import Tensor

from grader.correctness.accesses import lines_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.coverage import reason
from grader.correctness.deciding import stores_of
from grader.correctness.evidence import Evidence
from grader.correctness.gaps import NAME_ONLY, ask_about_gaps
from grader.correctness.mismatch import describe_where
from grader.correctness.never_ran import never_ran
from grader.correctness.reason import Reason

# Reasons that leave out everything where there are few elements; others suppose that a line ran.
OF_NO_STORE = ("tail", "off_by_one")


def explain(evidence: Evidence) -> Explanation | None:
    gaps = {n: gap for n, gap in evidence.main.unwritten.items() if bool(gap.any())}
    for name, gap in gaps.items():
        asked = None if evidence.traced is None else ask_about_gaps(name, gap, evidence.traced)
        if asked is not None and lines_of(evidence.text, name, reading=False):
            asked = asked.replace(NAME_ONLY.format(name=name), "")
        found = reason(evidence, gap, name)
        kept = never_ran(evidence, name) if bool(gap.all()) else None
        if kept is not None:
            return _of_no_store(evidence, *kept, found)
        if found is not None:
            said = f"{_capital(describe_where(gap))} of {name} {_are(gap)} not written: "
            if bool(gap.all()):
                said = f"No element of {name} is written: "
            hint = asked or f"{said}{found.question}"
            return Explanation(_with_line(evidence, hint, found.line), found.line, found.cause)
        if asked is not None:
            return Explanation(asked, max(stores_of(evidence, name), default=0))
    return None


def _of_no_store(evidence: Evidence, said: str, line: int, why: Reason | None) -> Explanation:
    if why is None or why.cause not in OF_NO_STORE:
        return Explanation(said, line, complete=True)
    hint = f"{said} {_capital(why.question)}"
    return Explanation(_with_line(evidence, hint, why.line), why.line, why.cause, complete=True)


def _with_line(evidence: Evidence, hint: str, line: int) -> str:
    return hint + evidence.see(line)


def _are(marks: Tensor) -> str:
    one = describe_where(marks).startswith(("element ", "row ", "column ", "every "))
    return "is" if one else "are"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


CAUSE = Cause(
    name="never_written",
    looks_at="the elements of outputs that no line wrote, the launch, and the text of the kernel",
    order=60,
    kinds=("never_written",),
    explain=explain,
)
