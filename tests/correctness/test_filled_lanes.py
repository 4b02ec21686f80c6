"""Reports of lanes that `other=` fills: where they enter, and which value to give."""

from __future__ import annotations

import pytest
from cause_examples.programs import filled

from grader.correctness.causes import filled_lanes

LOWEST = 'float("-inf")'


def said(value: str, other: str) -> str:
    found = filled_lanes.explain(filled(value, other))
    assert found is not None
    return found.hint


@pytest.mark.parametrize(
    ("value", "other", "advice"),
    [
        ("tl.max(x, axis=0)", "0.0", f"`other={LOWEST}`"),
        ("tl.min(x, axis=0)", LOWEST, '`other=float("inf")`'),
        ("tl.sum(x, axis=0)", LOWEST, "`other=0.0`"),
        ("tl.sum(tl.exp(x), axis=0)", "0", f"`other={LOWEST}`"),
    ],
)
def test_the_value_is_named(value: str, other: str, advice: str) -> None:
    assert f"give {advice}" in said(value, other)


def test_a_softmax_names_the_sum_beside_the_maximum() -> None:
    text = said("tl.exp(x - tl.max(x, axis=0))\n    y = tl.sum(y, axis=0)", "0.0")
    assert "the maximum at line 6 and the sum at line 7" in text
    assert f"give `other={LOWEST}`" in text


def test_a_maximum_alone_is_not_said_to_enter_a_sum() -> None:
    assert "the sum" not in said("tl.max(x, axis=0)", "0.0")
