"""The hint about an undefined value behind a wrong output."""

from __future__ import annotations

import math

import pytest

from grader.correctness.mismatch import Mismatch
from grader.correctness.undefined import name_origin
from grader.model.messages import Origin

SOURCE = ["x = tl.load(p, mask)", "total = tl.load(sums)"]
MASKED = Origin("out", 1, "x")
UNWRITTEN = Origin("out", 2, "total", "sums", 3)
NOT_FOLLOWED = Origin("", 2, "", "sums", 3)


def mismatch(kind: str = "value", got: float = math.nan, argument: str = "out") -> Mismatch:
    return Mismatch(argument, kind, (0,), 1.0, got, 0.1, 1, 1, "element 0")


@pytest.mark.parametrize(
    ("origin", "hint"),
    [
        (
            MASKED,
            "Line 1 (x = tl.load(p, mask)) masks off lanes of x, and their undefined values "
            'reached out. Give that load `other=...`: 0 for a sum, float("-inf") for a maximum.',
        ),
        (
            Origin("out", 0),
            "The kernel masks off lanes, and their undefined values reached out. Give that load "
            '`other=...`: 0 for a sum, float("-inf") for a maximum.',
        ),
        (
            UNWRITTEN,
            "Line 2 (total = tl.load(sums)) reads element 3 of sums, which nothing had written, "
            "and total reached out. Make that memory with torch.zeros, or write to it first.",
        ),
        (
            NOT_FOLLOWED,
            "Line 2 (total = tl.load(sums)) reads element 3 of sums, which nothing had written. "
            "Make that memory with torch.zeros, or write to it first.",
        ),
    ],
)
def test_the_line_and_the_way_out(origin: Origin, hint: str) -> None:
    assert name_origin([origin], SOURCE, mismatch()) == hint


@pytest.mark.parametrize(
    "wrong", [mismatch(got=2.0), mismatch(argument="loss"), mismatch("never_written")]
)
def test_a_value_that_is_wrong_for_another_reason(wrong: Mismatch) -> None:
    assert name_origin([MASKED, UNWRITTEN], SOURCE, wrong) is None
    assert name_origin([MASKED, NOT_FOLLOWED], SOURCE, wrong) is not None


def test_no_origin() -> None:
    assert name_origin([], SOURCE, mismatch()) is None


def test_a_call_that_failed_at_an_address() -> None:
    assert name_origin([MASKED, UNWRITTEN], SOURCE) is None
    assert name_origin([MASKED, NOT_FOLLOWED], SOURCE) is not None
