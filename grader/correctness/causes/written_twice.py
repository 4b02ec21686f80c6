"""Elements that two programs store to, where exactly these are wrong, or others get nothing."""

from __future__ import annotations

from torch import Tensor

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.coverage import reason
from grader.correctness.evidence import Evidence
from grader.correctness.mismatch import describe_where
from grader.correctness.source import root_of

MOST_LINES = 3  # in a sentence


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by elements that were stored twice; silent where the second store did no harm.

    Two launches may store to all elements on purpose, such as zeros and then sums. So elements that
    were stored once must be right, and most of those that were stored twice wrong.
    """
    for name in evidence.bad:
        twice, written = evidence.twice.get(name), evidence.written(name)
        wrong = evidence.wrong[name]
        if twice is None or written is None or twice.shape != wrong.shape or not bool(twice.any()):
            continue
        gap = evidence.main.unwritten.get(name, wrong.new_zeros(wrong.shape))
        harmed = wrong & twice & ~gap
        if bool((wrong & ~twice & ~gap).any()) or not bool((written & ~twice).any()):
            continue
        if int(harmed.sum()) * 2 > int(twice.sum()):
            return _explanation(evidence, name, harmed, "of which the later one stays")
        if bool((gap & ~written).any()) and reason(evidence, gap, name) is None:
            return _explanation(evidence, name, twice, "and others by none")
    return None


def _explanation(evidence: Evidence, name: str, marks: Tensor, outcome: str) -> Explanation:
    lines = sorted(
        {
            u.line
            for u in evidence.uses
            if u.argument == name and u.writes and _meets(u.marks, marks)
        }
    )
    quoted = [evidence.quoted(line) for line in lines[:MOST_LINES]]
    stores = " and ".join(each[0].lower() + each[1:] for each in quoted)
    launches = _launch_lines(evidence)
    which = f"two {'threads' if evidence.threads else 'programs'}"
    if len(launches) > 1:
        which = f"the launches at lines {' and '.join(map(str, launches[:MOST_LINES]))}"
    where = describe_where(marks)
    return Explanation(
        f"{where[0].upper()}{where[1:]} of {name} {'is' if int(marks.sum()) == 1 else 'are'} "
        f"stored by {which}, {outcome}: see {stores or 'the kernel'}. Each element needs one: "
        "where does each of them begin?",
        lines[-1] if lines else 0,
    )


def _meets(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool((one & other).any())


def _launch_lines(evidence: Evidence) -> list[int]:
    if len(evidence.launches or ()) < 2:
        return []
    names = {kernel.name for kernel in evidence.text.kernels}
    return sorted({n.lineno for n in evidence.text.launches if root_of(n.func) in names})


CAUSE = Cause(
    name="written_twice",
    looks_at="the elements that two programs or threads store to",
    order=59,  # before never_written, which knows no more than the gap
    kinds=OUTPUTS,
    explain=explain,
)
