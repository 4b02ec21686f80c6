"""What `grader verify` prints of each exercise."""

from __future__ import annotations

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from grader.authoring.verify import Verified
from grader.model.results import parse_result
from grader.reports.verification import verification

PASSED = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())


def verified(exercise: str, kind: str, kernel: str, expected: str, actual: str) -> Verified:
    return Verified(
        exercise=exercise,
        kind=kind,
        kernel=kernel,
        expected=expected,
        actual=actual,
        ok=expected == actual,
        detail="" if expected == actual else "1×3 float32: it is wrong",
        result=PASSED,
    )


def test_a_verification_reads_like_this(snapshot: SnapshotAssertion):
    def sound(exercise: str) -> list[Verified]:
        return [
            verified(exercise, "stub", "stub", "not_started", "not_started"),
            verified(exercise, "solution", "solution", "pass", "pass"),
            verified(exercise, "wrong", "wrong_mask", "correctness", "correctness"),
            verified(exercise, "wrong", "wrong_sum", "properties", "properties"),
            verified(exercise, "no_work", "zeros", "correctness", "correctness"),
        ]

    unsound = [
        verified("02_row_sum", "stub", "stub", "not_started", "fail"),
        verified("02_row_sum", "solution", "solution", "pass", "correctness"),
        verified("02_row_sum", "wrong", "wrong_mask", "correctness", "pass"),
        verified("02_row_sum", "wrong", "wrong_sum", "properties", "properties"),
    ]
    assert verification([*sound("01_double"), *unsound]).plain == snapshot
