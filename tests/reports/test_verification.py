"""What `grader verify` prints of each exercise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reported import SPEED
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
        detail="" if expected == actual else "1 × 3 in float32: it is wrong",
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


def timed(kernel: str, share: float) -> Verified:
    """A solution whose speed was measured as this share."""
    one = verified("06_levels", "solution", kernel, "pass", "pass")
    (*before, last) = one.result.steps
    speed = SPEED.model_copy(update={"share": share})
    steps = (*before, last.model_copy(update={"speed": speed}))
    return replace(one, result=one.result.model_copy(update={"steps": steps}))


def test_of_several_solutions_it_says_how_fast_each_is():
    fast, plain = timed("solution, fast", 0.975), timed("solution", 0.66)
    said = verification([plain, fast]).plain
    assert said == "✔ 06_levels  2 solutions pass (solution 66 %; solution, fast 97.5 %)\n"
    assert verification([plain]).plain == "✔ 06_levels  solution passes\n"
    untimed = verified("06_levels", "solution", "solution, cuda", "pass", "pass")
    assert verification([plain, untimed]).plain.endswith("2 solutions pass (solution 66 %)\n")


def test_a_file_that_was_only_compiled_is_no_pass():
    compiled = verified("06_levels", "compiled", "solution, cuda", "pass", "cannot_grade")
    said = verification([replace(compiled, ok=True)]).plain
    assert said == "✔ 06_levels  1 compiled, not run without a GPU\n"
