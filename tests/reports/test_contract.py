"""What `grader list` and `grader show` print of exercises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading.kinds.kernel.contract import sections, tensor_bytes
from grader.model.errors import BrokenExercise
from grader.reports import contract

COURSES = Path(__file__).parents[1] / "courses"
SMALL = COURSES / "small"


def test_the_list_reads_like_this(snapshot: SnapshotAssertion):
    assert contract.course_list(catalog.exercises(SMALL)).plain == snapshot


@pytest.mark.parametrize("width", [80, 60, 44])
def test_no_line_of_the_list_is_longer_than_the_terminal(width: int):
    """Every line once had 81 characters, and took two lines of a terminal with 80."""
    exercises = catalog.exercises(COURSES.parents[1])
    listed = contract.course_list(exercises, width=width).plain.splitlines()
    assert max(map(len, listed)) <= width
    assert all("triton" in line for line in listed if width == 80 and " t0" in line)
    assert listed[1].endswith(" 7")


def test_a_broken_spec_does_not_hide_the_others():
    listed = contract.course_list(catalog.exercises(COURSES / "broken")).plain
    assert "01_sound    Double" in listed
    assert "02_raises   its spec.py is broken" in listed


def test_a_contract_reads_like_this(snapshot: SnapshotAssertion):
    exercise = catalog.find(SMALL, "02_row_sum")
    sizes = tensor_bytes(exercise.spec, exercise.spec.sample_case)
    assert sizes == {"x": 2048, "count": 8, "out": 4}
    assert contract.contract(exercise, 80).plain == snapshot


@pytest.mark.parametrize(
    ("inputs", "fault"),
    [
        (lambda case, draw: {}, "`inputs` draws no x"),
        (lambda case, draw: {"y": draw.tensor(case.shape)}, "`inputs` draws no x"),
        (lambda case, draw: 1 / 0, "drawing the inputs fails for 1000,float32: ZeroDivisionError"),
    ],
)
def test_inputs_that_cannot_be_drawn_are_the_exercises_fault(inputs: Any, fault: str):
    """`grader show` once called them a fault of the grader, with a traceback."""
    spec = replace(catalog.find(SMALL, "01_double").spec, inputs=inputs, scored=None, gates=None)
    with pytest.raises(BrokenExercise, match=fault):
        list(sections(spec))


def test_an_output_of_a_shape_of_its_own_is_not_said_to_have_another_one_s():
    """`like` is where it takes its dtype from, and the padding of its rows."""
    shown = contract.contract(catalog.find(COURSES.parents[1], "17_tiled_matmul")).plain
    words = " ".join(shown.split())
    assert "out filled by the kernel, of a shape that follows from the inputs', dtype of a" in words


def test_bytes_are_those_of_an_element_where_a_case_has_a_degree_besides():
    """Elements times degree is not a number of elements: the product once divided the bytes."""
    polynomial = catalog.find(COURSES.parents[1], "19_roofline")
    words = " ".join(contract.contract(polynomial, 80).plain.split())
    assert "for 16,384 × 4 in float32: 8.00 per element" in words


def test_budgets_say_whose_counts_they_hold_down(snapshot: SnapshotAssertion):
    puzzle = Exercise(COURSES / "counted" / "puzzles" / "p01_transpose")
    assert contract.contract(puzzle).plain == snapshot


def test_hints_come_in_order_and_no_more_than_there_are(snapshot: SnapshotAssertion):
    exercise = catalog.find(SMALL, "01_double")
    assert contract.hints(exercise, 2).plain == snapshot
    assert contract.hints(exercise, 99).plain.count("\n") == 3
