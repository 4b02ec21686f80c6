"""`grader lint`: what it finds, what it must not find, and the forms in which it says so."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from grader import cli, course
from grader.errors import UsageError
from grader.lint import work
from grader.lint.records import Level, LintFinding, Review
from grader.lint.review import RULES, read, review
from grader.render import lint, sarif

ROOT = course.find_root(Path(__file__).parent)
SAMPLES = Path(__file__).parent / "lint"
FOUND = sorted((SAMPLES / "found").glob("*.py"))
NEAR = sorted((SAMPLES / "near").glob("*.py"))
BY_ID = {rule.id: rule for rule in RULES}


def found_in(text: str) -> tuple[LintFinding, ...]:
    return review("kernel.py", text.encode()).findings


def places(findings: Sequence[LintFinding]) -> set[tuple[int, str]]:
    return {(one.line, one.rule) for one in findings}


def marked(text: str) -> set[tuple[int, str]]:
    """The lines of a sample that say which rules must find them: `... # KG101 KG202`."""
    marks = enumerate((re.search(r"# ((?:KG\d+ ?)+)$", line) for line in text.splitlines()), 1)
    return {(line, rule) for line, mark in marks if mark for rule in mark[1].split()}


# -- what is found


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_a_rule_finds_the_marked_lines_and_no_others(path: Path):
    text = path.read_text(encoding="utf-8")
    assert places(found_in(text)) == marked(text)


@pytest.mark.parametrize("path", NEAR, ids=lambda path: path.stem)
def test_a_near_miss_is_left_alone(path: Path):
    assert places(found_in(path.read_text(encoding="utf-8"))) == set()
