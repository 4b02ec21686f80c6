"""The findings of `grader lint`, as a SARIF 2.1.0 log for editors and code review pages.

SARIF is the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grader import __version__
from grader.authoring import RULES, LintFinding, Review, Rule

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_RULES = {rule.id: rule for rule in RULES}


def to_json(reviews: Sequence[Review], root: Path) -> str:
    return json.dumps(log(reviews, root), indent=2, ensure_ascii=False)


def log(reviews: Sequence[Review], root: Path) -> dict[str, Any]:
    """Return the log, with files named relative to `root` if they lie in it.

    It describes only the rules with findings.
    """
    places = [_uri(review.path, root) for review in reviews]
    rules = sorted({finding.rule for review in reviews for finding in review.findings})
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "grader lint",
                        "version": __version__,
                        "rules": [_descriptor(_RULES[rule]) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "artifacts": [
                    {"location": {"uri": uri}, "hashes": {"sha-256": review.sha256}}
                    for uri, review in zip(places, reviews, strict=True)
                ],
                "results": [
                    _result(finding, rules.index(finding.rule), uri, number)
                    for number, (uri, review) in enumerate(zip(places, reviews, strict=True))
                    for finding in review.findings
                ],
            }
        ],
    }


def _descriptor(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ").capitalize() + "."},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.action},
        "defaultConfiguration": {"level": rule.level.value},
    }


def _result(finding: LintFinding, rule: int, uri: str, artifact: int) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "index": artifact},
            "region": {
                "startLine": finding.line,
                "startColumn": finding.column,
                "endLine": finding.end_line,
                "endColumn": finding.end_column,
            },
        }
    }
    if finding.function:
        location["logicalLocations"] = [{"name": finding.function, "kind": "function"}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level.value,
        "message": {"text": finding.message},
        "locations": [location],
    }


def _uri(path: str, root: Path) -> str:
    whole = (root / path).absolute()
    if whole.is_relative_to(root) and ".." not in whole.parts:
        return quote(whole.relative_to(root).as_posix())
    return whole.resolve().as_uri()
