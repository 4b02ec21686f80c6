"""The rules of junit-10.xsd, by which the xUnit plugin of Jenkins takes or refuses a file.

They are written down from github.com/jenkinsci/xunit-plugin,
src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd. pytest's `xunit2` and
GitLab read what these rules allow.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree.ElementTree import Element

TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")  # SUREFIRE_TIME


class Rule(NamedTuple):
    """What one element may hold. Only `mixed` elements hold text."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    mixed: bool = False


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PROBLEM = Rule(optional=words("type message"), mixed=True)
RULES = {
    "testsuites": Rule(
        optional=words("name time tests failures errors"), children=words("testsuite")
    ),
    "testsuite": Rule(
        required=words("name tests failures errors"),
        optional=words("group time skipped timestamp hostname id package file log url"),
        children=words("testsuite properties testcase system-out system-err"),
    ),
    "properties": Rule(children=words("property")),
    "property": Rule(required=words("name value")),
    "testcase": Rule(
        required=words("name"),
        optional=words("time classname group"),
        children=words("skipped error failure system-out system-err"),
    ),
    "failure": PROBLEM,
    "error": PROBLEM,
    "skipped": PROBLEM,
    "system-out": Rule(mixed=True),
    "system-err": Rule(mixed=True),
}


def faults(element: Element) -> list[str]:
    """What in an element and below it Jenkins would refuse; empty for a file that it takes."""
    rule, given = RULES[element.tag], frozenset(element.attrib)
    found = [f"{element.tag} lacks {name}" for name in sorted(rule.required - given)]
    unknown = given - rule.required - rule.optional
    found += [f"{element.tag} has {name}" for name in sorted(unknown)]
    if "time" in given and element.tag != "testcase" and not TIME.fullmatch(element.attrib["time"]):
        found.append(f"{element.tag} has the time {element.attrib['time']!r}")
    if not rule.mixed and (text_of := "".join(filter(None, _own_text(element))).strip()):
        found.append(f"{element.tag} holds the text {text_of!r}")
    for child in element:
        if child.tag in rule.children:
            found += faults(child)
        else:
            found.append(f"{element.tag} holds {child.tag}")
    return found


def _own_text(element: Element) -> list[str | None]:
    return [element.text, *(child.tail for child in element)]
