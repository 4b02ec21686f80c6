"""docs/extensions.md lists the fields of a step, a kind, a bound and a cause."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from pages import BLOCK, ROOT, rows, section

from grader.correctness.cause import Cause
from grader.grading import step
from grader.grading.kind import Kind
from grader.speed.bound import Bound

PAGE = ROOT / "docs" / "extensions.md"


@pytest.mark.parametrize(
    ("title", "record"),
    [
        ("A step", step.Step),
        ("A kind of exercise", Kind),
        ("A bound", Bound),
        ("A cause", Cause),
    ],
    ids=["step", "kind", "bound", "cause"],
)
def test_every_field_is_listed(title: str, record: type):
    listed = [word for row in rows(section(PAGE, title)) for word in re.findall(r"`(\w+)", row[0])]
    assert sorted(listed) == sorted(field.name for field in fields(record))


def test_the_sample_is_a_step():
    (sample,) = [
        body
        for language, body in BLOCK.findall(PAGE.read_text(encoding="utf-8"))
        if language == "python"
    ]
    space: dict[str, object] = {}
    exec(sample, space)
    assert isinstance(space["STEP"], step.Step)
