"""The findings of `grader verify` as JUnit XML: a suite for each exercise, a case for each kernel.

A failure is the exercise's, such as a wrong kernel that passes. An error is the machine's or the
grader's, or an exercise that was not verified at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.authoring import Verified
from grader.model import Status
from grader.reports import junit_xml
from grader.reports.junit_xml import Case, Suite, Verdict

_DECIDED = (Status.PASS, Status.FAIL, Status.NOT_STARTED)


def junit(
    names: Sequence[str], verified: Sequence[Verified], faults: Mapping[str, str] | None = None
) -> str:
    """Return the XML file, with a suite for each exercise of `names`.

    An exercise without anything in `verified` is an error, with its reason from `faults`.
    """
    suites = []
    for name in names:
        kernels = [one for one in verified if one.exercise == name]
        suites.append(
            _suite(name, kernels) if kernels else _not_verified(name, (faults or {}).get(name, ""))
        )
    return junit_xml.document("grader verify", suites)


def _suite(name: str, kernels: Sequence[Verified]) -> Suite:
    return Suite(name, [_case(one) for one in kernels], timestamp=kernels[0].result.started_at)


def _case(one: Verified) -> Case:
    classname, seconds = f"{one.exercise}.{one.kind}", one.result.duration_s
    if one.ok:
        return Case(classname, one.kernel, seconds)
    return Case(
        classname,
        one.kernel,
        seconds,
        Verdict.FAILURE if one.result.status in _DECIDED else Verdict.ERROR,
        type=one.actual,
        message=f"expected {one.expected}, got {one.actual}",
        detail="\n".join(part for part in (one.change, one.detail, one.advice) if part),
    )


def _not_verified(name: str, fault: str) -> Suite:
    case = Case(
        name,
        "verify",
        verdict=Verdict.ERROR,
        type="not_verified",
        message="not verified",
        detail=fault or "grader verify ended before it reached this exercise",
    )
    return Suite(name, [case])
