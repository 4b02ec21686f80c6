"""JUnit's XML, in the form that Jenkins, GitLab, GitHub's actions and pytest share.

No standard exists. This module keeps to junit-10.xsd of Jenkins' xUnit plugin, the strictest reader
that we know: its `testsuites` counts no skipped cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from grader.model import texts

MOST_CHARACTERS = 20_000  # of one long text


class Verdict(StrEnum):
    """The outcome of a case: the name of its XML element, or nothing for a pass."""

    PASSED = ""
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


_COUNTED = {Verdict.FAILURE: "failures", Verdict.ERROR: "errors", Verdict.SKIPPED: "skipped"}


@dataclass(frozen=True)
class Case:
    """One test case. `type` is a word for programs; `detail` may have many lines."""

    classname: str
    name: str
    seconds: float = 0.0
    verdict: Verdict = Verdict.PASSED
    type: str = ""
    message: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Suite:
    """Cases that belong together. `timestamp` is ISO 8601, or empty."""

    name: str
    cases: Sequence[Case]
    timestamp: str = ""
    properties: Mapping[str, Sequence[str]] = field(default_factory=dict)
    output: str = ""


def document(name: str, suites: Iterable[Suite]) -> str:
    """Return the XML file. Texts in it may be hostile: this function cleans and cuts them."""
    root = Element("testsuites", name=texts.one_line(name))
    suites = list(suites)
    root.attrib.update(_counts([case for suite in suites for case in suite.cases]))
    del root.attrib["skipped"]
    root.extend(map(_suite, suites))
    ElementTree.indent(root)
    text = texts.xml_without_commands(ElementTree.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(suite: Suite) -> Element:
    element = Element("testsuite", name=texts.one_line(suite.name))
    element.attrib.update(_counts(suite.cases))
    if suite.timestamp:
        element.set("timestamp", texts.one_line(suite.timestamp[:19]))
    if suite.properties:
        properties = SubElement(element, "properties")
        for key, values in suite.properties.items():
            for value in values:
                SubElement(properties, "property", name=key, value=texts.one_line(value))
    element.extend(map(_case, suite.cases))
    if suite.output:
        SubElement(element, "system-out").text = _long(suite.output)
    return element


def _case(case: Case) -> Element:
    element = Element("testcase", classname=texts.one_line(case.classname))
    element.set("name", texts.one_line(case.name))
    element.set("time", _time([case]))
    if case.verdict:
        outcome = SubElement(element, case.verdict.value, message=texts.one_line(case.message))
        if case.verdict is not Verdict.SKIPPED:
            outcome.set("type", texts.one_line(case.type))
            outcome.text = _long(case.detail)
    return element


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    count = Counter(case.verdict for case in cases)
    counts = {name: str(count[verdict]) for verdict, name in _COUNTED.items()}
    return {"tests": str(len(cases)), **counts, "time": _time(cases)}


def _time(cases: Sequence[Case]) -> str:
    return f"{sum(max(case.seconds, 0.0) for case in cases):.3f}"


def _long(text: str) -> str:
    return texts.lines(texts.cut(text, MOST_CHARACTERS))
