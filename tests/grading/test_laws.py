"""The failure of a broken law: its sentence, and the hint where bits differ."""

from __future__ import annotations

import pytest

from grader.correctness import OtherBits
from grader.grading import laws


def test_a_law_and_its_detail_are_two_sentences():
    failure = laws.broken("The sum is 1.", AssertionError("sums at [0]: expected 1\nmore"), [])
    assert (failure.kind, failure.message) == (
        "property",
        "The sum is 1. Sums at [0]: expected 1",
    )
    assert (failure.hint, failure.cause) == (None, None)
    assert laws.broken("It is 1.", AssertionError(), []).message == "It is 1. It does not hold"


@pytest.mark.parametrize(
    "line",
    [
        "    tl.atomic_add(loss_ptr, total)",
        "    place = tl.atomic_add(ended_ptr, 1)",
        "    cuda.atomic.add(out, 0, total)",
        "    atomicAdd(out, total);",
    ],
)
def test_other_bits_point_to_the_atomic_operation(line: str):
    source = ["import torch  # no atomic_add(", "# tl.atomic_add(x, 1)", line, line]
    failure = laws.broken("The same bits.", OtherBits("loss"), source)
    assert failure.cause == "not_repeatable"
    assert f"See line 3 ({line.strip()})." in failure.hint


def test_other_bits_without_an_atomic_operation_name_no_line():
    failure = laws.broken("The same bits.", OtherBits("loss"), ["nonatomic = 1"])
    assert failure.cause == "not_repeatable"
    assert "See line" not in failure.hint
