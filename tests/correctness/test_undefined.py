"""The hint about an undefined value behind a wrong output."""

from __future__ import annotations

import math

import pytest

from grader.correctness.mismatch import Mismatch
from grader.correctness.undefined import name_origin
from grader.model.device_report import Origin

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


@pytest.mark.parametrize(
    ("line", "combined", "said"),
    [
        ("m = tl.max(x)", "maximum", 'Give that load `other=float("-inf")`, which changes no'),
        ("m = tl.min(x)", "minimum", 'Give that load `other=float("inf")`, which changes no'),
        ("s = tl.sum(x)", "sum", "Give that load `other=0.0`, which changes no sum."),
        ("s = tl.sum(tl.exp(x))", "sum", '`other=float("-inf")`, whose exponential adds 0.'),
    ],
)
def test_the_line_that_the_values_enter(line: str, combined: str, said: str) -> None:
    origin = Origin("out", 1, "x", joined=2, combined=combined)
    hint = name_origin([origin], [SOURCE[0], line], mismatch())
    assert hint is not None
    assert f"their undefined values entered the {combined} at line 2 ({line})" in hint
    assert said in hint


def test_a_line_that_the_file_does_not_have_is_not_named() -> None:
    origin = Origin("out", 1, "x", joined=7, combined="sum")
    hint = name_origin([origin], SOURCE, mismatch())
    assert hint is not None
    assert "reached out" in hint


def test_no_origin() -> None:
    assert name_origin([], SOURCE, mismatch()) is None


def test_a_call_that_failed_at_an_address() -> None:
    assert name_origin([MASKED, UNWRITTEN], SOURCE) is None
    assert name_origin([MASKED, NOT_FOLLOWED], SOURCE) is not None
