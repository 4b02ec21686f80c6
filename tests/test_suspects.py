"""The question asked of an answer with gaps: only where a known mistake leaves just these."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from grader import check, course, suspects
from grader.check import Request
from grader.wire import LaunchRef

ROOT = Path(__file__).parents[1]


def launch(grid: tuple[int, int], block: tuple[int, int]) -> LaunchRef:
    return LaunchRef("kernel", (*grid, 1), (*block, 1))


def lacks(*shape: int, written: tuple[slice, ...]) -> Tensor:
    missing = torch.ones(shape, dtype=torch.bool)
    missing[written] = False
    return missing


@pytest.mark.parametrize(
    ("missing", "grid", "block", "said"),
    [
        (
            lacks(33, written=(slice(32),)),
            (2, 1),
            (16, 1),
            "Of the 33 elements of out only the first 32 are written: as many as the launch has "
            "threads. Does the number of blocks round up? Or should each thread go on to further "
            "elements?",
        ),
        (
            lacks(2, written=(slice(1),)),
            (1, 1),
            (32, 1),
            "Of the 2 elements of out only the first one is written: as many as the launch has "
            "blocks. Is a block missing?",
        ),
        (
            lacks(1, 9, written=(slice(None), slice(8))),
            (1, 1),
            (16, 8),
            "The launch has 16 threads in x direction and 8 in y direction, enough for the 1 × 9 "
            "elements of out where x is the column and y the row. Are x and y swapped in the "
            "kernel?",
        ),
        (
            lacks(1, 9, written=(slice(None), slice(8))),
            (1, 2),
            (8, 4),
            "The launch has 8 threads in x direction and 8 in y direction, and out is 1 × 9 "
            "elements: with the two numbers of blocks exchanged there would be enough. Are they "
            "swapped?",
        ),
        (
            lacks(1, 9, written=(slice(None), slice(8))),
            (1, 1),
            (8, 4),
            "The launch has 8 threads in x direction and 4 in y direction, and out is 1 × 9 "
            "elements, where x is the column and y the row. Does the number of blocks round up in "
            "both directions? Or should each thread go on to further elements?",
        ),
        (
            lacks(33, 1, written=(slice(32),)),
            (1, 2),
            (32, 8),
            "out lacks everything from row 32 on, where a block may begin. The launch has 1 × 2 "
            "blocks: does the number round up in both directions? Or are the two swapped?",
        ),
    ],
)
def test_gaps_that_a_known_mistake_leaves_are_asked_about(
    missing: Tensor, grid: tuple[int, int], block: tuple[int, int], said: str
):
    assert suspects.of_gaps("out", missing, [launch(grid, block)]) == said


@pytest.mark.parametrize(
    "missing",
    [
        lacks(33, written=(slice(31),)),
        lacks(33, written=(slice(1, None),)),
        lacks(33, written=(slice(0, None, 2),)),
        lacks(33, written=(slice(0),)),
        lacks(33, written=(slice(None),)),
        lacks(3, 5, written=(slice(2), slice(3))),
        lacks(2, 2, 2, written=(slice(1),)),
    ],
)
def test_other_gaps_are_not(missing: Tensor):
    assert suspects.of_gaps("out", missing, [launch((2, 1), (16, 1))]) is None


def test_of_several_launches_none_is_to_blame():
    missing = lacks(33, written=(slice(32),))
    assert suspects.of_gaps("out", missing, []) is None
    assert suspects.of_gaps("out", missing, [launch((2, 1), (16, 1))] * 2) is None


def hint_of(name: str, kernel: str, shrink: bool = True) -> str | None:
    exercise = course.find(ROOT, name)
    request = Request(exercise, exercise.answers / kernel, device="cpu", seed=1, shrink=shrink)
    (result,) = check.run([request], lambda _: None)
    (failure,) = [step.failure for step in result.steps if step.failure]
    return failure.hint


@pytest.mark.parametrize(
    ("name", "kernel", "asked"),
    [
        ("p04_map_2d", "wrong_x_is_the_row.py", "Are x and y swapped in the kernel?"),
        ("p07_blocks_2d", "wrong_row_first.py", "Are x and y swapped in the kernel?"),
        ("p07_blocks_2d", "wrong_grid_swapped.py", "exchanged there would be enough"),
        ("p08_grid_stride", "wrong_no_loop.py", "should each thread go on to further elements?"),
        ("p13_convolution", "wrong_blocks_rounded_down.py", "number of blocks round up?"),
        ("p15_axis_sum", "wrong_one_block_too_few.py", "Is a block missing?"),
        ("p15_axis_sum", "wrong_row_and_column_swapped.py", "The first index of a table"),
        ("p18_transpose", "wrong_grid_swapped.py", "Or are the two swapped?"),
    ],
)
def test_the_wrong_kernels_are_asked_about_their_mistake(name: str, kernel: str, asked: str):
    assert asked in (hint_of(name, kernel) or "")


def test_without_a_reader_there_is_no_further_call():
    """Who verifies a course grades hundreds of kernels, and does not read the hints."""
    hint = hint_of("p04_map_2d", "wrong_x_is_the_row.py", shrink=False)
    assert (hint or "").startswith("Do the threads cover the whole output")
