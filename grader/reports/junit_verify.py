"""What `grader verify` found as JUnit XML: a suite for each exercise, a case for each kernel tried.

The form is the one that Jenkins, GitLab and others read: `testsuites`, `testsuite`, `testcase`, and
in a case `failure` or `error`. A failure is the exercise's, such as a wrong kernel that passes; an
error is the machine's or the grader's, and what was not verified at all.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from grader.authoring import Verified
from grader.model import Status

# Characters that XML 1.0 has no form for, not even an escaped one.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DECIDED = (Status.PASS, Status.FAIL, Status.NOT_STARTED)


def junit(
    names: Sequence[str], verified: Sequence[Verified], faults: Mapping[str, str] | None = None
) -> str:
    """The text of the XML file.

    `names` are the exercises that were to be verified: one of which nothing is in `verified` is an
    error, with what `faults` says of it as its reason. Times are seconds, to the millisecond.
    """
    root = ET.Element("testsuites", name="grader verify")
    for name in names:
        kernels = [one for one in verified if one.exercise == name]
        root.append(
            _suite(name, kernels) if kernels else _not_verified(name, (faults or {}).get(name, ""))
        )
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("time", _seconds(sum(one.result.duration_s for one in verified)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(name: str, kernels: Sequence[Verified]) -> ET.Element:
    suite = ET.Element("testsuite", name=_clean(name))
    suite.set("tests", str(len(kernels)))
    suite.set("failures", str(sum(not one.ok and _decided(one) for one in kernels)))
    suite.set("errors", str(sum(not one.ok and not _decided(one) for one in kernels)))
    suite.set("time", _seconds(sum(one.result.duration_s for one in kernels)))
    suite.set("timestamp", _clean(kernels[0].result.started_at[:19]))
    suite.extend(_case(one) for one in kernels)
    return suite


def _case(one: Verified) -> ET.Element:
    case = ET.Element("testcase", classname=_clean(f"{one.exercise}.{one.kind}"))
    case.set("name", _clean(one.kernel))
    case.set("time", _seconds(one.result.duration_s))
    if not one.ok:
        problem = ET.SubElement(case, "failure" if _decided(one) else "error")
        problem.set("message", _clean(f"expected {one.expected}, got {one.actual}"))
        problem.set("type", _clean(one.actual))
        told = (one.change, one.detail, one.advice)
        problem.text = _clean("\n".join(part for part in told if part))
    return case


def _not_verified(name: str, fault: str) -> ET.Element:
    suite = ET.Element("testsuite", name=_clean(name), tests="1", failures="0", errors="1")
    case = ET.SubElement(suite, "testcase", classname=_clean(name), name="verify", time="0.000")
    error = ET.SubElement(case, "error", message="not verified", type="not_verified")
    error.text = _clean(fault) or "grader verify ended before it came to this exercise"
    suite.set("time", "0.000")
    return suite


def _decided(one: Verified) -> bool:
    return one.result.status in _DECIDED


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
