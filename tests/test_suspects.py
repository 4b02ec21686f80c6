"""The question asked of a wrong answer: only where a known mistake makes it wrong just so."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from grader import check, course, suspects
from grader.check import Request
from grader.wire import FROM_END, ArrayRef, LaunchRef, Traced

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


# --- wrong values ---------------------------------------------------------------------------------

RIGHT = torch.arange(1.0, 41.0, dtype=torch.float64)
TABLE = RIGHT.reshape(4, 10)


def asked_of(
    got: Tensor, answer: Tensor, grid: tuple[int, int] = (1, 1), block: tuple[int, int] = (64, 1)
) -> str | None:
    def is_right(candidate: Tensor) -> Tensor:
        return candidate.double() == answer

    return suspects.of_values("out", got.float(), answer, is_right, [launch(grid, block)])


def wrong_but(answer: Tensor, *right: slice) -> Tensor:
    """Each element is too large by a half, but for those."""
    got = answer + 0.5
    got[right] = answer[right]
    return got


def test_a_wrong_sign_everywhere_is_asked_about():
    said = (
        "Each element of out has the right size and the wrong sign: are the two sides of a minus "
        "swapped?"
    )
    assert asked_of(-RIGHT, RIGHT) == said
    assert asked_of(-TABLE, TABLE) == said
    assert asked_of(torch.cat([RIGHT[:1], -RIGHT[1:]]), RIGHT) is None


@pytest.mark.parametrize(
    ("by", "where"), [(-1, "after"), (1, "before")], ids=["one too far", "one too short"]
)
def test_neighbours_values_are_asked_about(by: int, where: str):
    got = RIGHT.roll(by)
    assert asked_of(got, RIGHT) == (
        f"Each element of out holds what the one {where} it should hold: is an index off by one?"
    )
    got[20] += 1
    assert asked_of(got, RIGHT) is None
    assert asked_of(RIGHT[:2].roll(by), RIGHT[:2]) is None, "of two elements one may be by chance"


@pytest.mark.parametrize(
    ("got", "answer", "grid", "block", "which"),
    [
        (wrong_but(RIGHT, slice(16)), RIGHT, (3, 1), (16, 1), "the first 16 elements are"),
        (
            wrong_but(TABLE, slice(None), slice(8)),
            TABLE,
            (2, 1),
            (8, 4),
            "the first 8 columns are",
        ),
        (wrong_but(TABLE, slice(1)), TABLE, (2, 4), (8, 1), "the first row is"),
        (wrong_but(TABLE, slice(2)), TABLE, (2, 2), (8, 2), "the first 2 rows are"),
    ],
    ids=["elements", "columns", "row", "rows"],
)
def test_what_is_right_in_the_first_block_alone_is_asked_about(
    got: Tensor, answer: Tensor, grid: tuple[int, int], block: tuple[int, int], which: str
):
    assert asked_of(got, answer, grid, block) == (
        f"Of out exactly {which} right, as far as the first block reaches: does the kernel use "
        "a place in the block where it needs one in the whole array, as cuda.grid gives it?"
    )
    assert asked_of(got, answer, (1, 1), block) is None, "there is but one block"


def test_one_row_for_all_blocks_is_asked_about():
    said = (
        "Of out only {} 0 is right, and the launch has as many blocks as there are {}s: does each "
        "block work on its own?"
    )
    assert asked_of(wrong_but(TABLE, slice(1)), TABLE, (4, 1), (32, 1)) == said.format("row", "row")
    assert asked_of(wrong_but(RIGHT, slice(1)), RIGHT, (40, 1), (32, 1)) == said.format(
        "element", "element"
    )
    assert asked_of(wrong_but(TABLE, slice(1)), TABLE, (5, 1), (32, 1)) is None


@pytest.mark.parametrize(
    "got",
    [
        wrong_but(RIGHT, slice(15)),
        wrong_but(RIGHT, slice(17)),
        wrong_but(RIGHT, slice(16, None)),
        wrong_but(RIGHT, slice(0)),
        wrong_but(RIGHT, slice(0, None, 2)),
    ],
)
def test_other_wrong_values_are_not(got: Tensor):
    assert asked_of(got, RIGHT, (3, 1), (16, 1)) is None


def test_other_wrong_values_of_a_table_are_not():
    got = wrong_but(TABLE, slice(2), slice(8))
    assert asked_of(got, TABLE, (2, 2), (8, 2)) is None
    deep = RIGHT.reshape(2, 2, 10)
    assert asked_of(wrong_but(deep, slice(1)), deep, (3, 1), (8, 1)) is None


def used(*wrong: int, line: int = 2) -> Traced:
    row = (0, 0, 0, 1, 0, 5, 0, line)
    return Traced(
        (launch((1, 1), (4, 1)),),
        (ArrayRef("tile", "shared", (2, 3)),),
        tuple((*row, each) for each in wrong),
    )


def test_an_index_below_0_is_asked_about():
    source = ["import numba", "    before = tile[i, j - 1]"]
    question = (
        "{} uses an index below 0, which counts from the end: it reads tile[1, 2]. Is an `if` "
        "missing, for the first elements?"
    )
    line = question.format("Line 2 (before = tile[i, j - 1])")
    assert suspects.of_indices(used(0, FROM_END), source) == line
    assert suspects.of_indices(used(0, 3), source) is None
    for unknown in (0, 3):  # it is the worker that tells the number
        told = suspects.of_indices(used(FROM_END, line=unknown), source)
        assert told == question.format("The kernel")


# --- in a check -----------------------------------------------------------------------------------


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
        ("p02_zip", "wrong_swapped.py", "are the two sides of a minus swapped?"),
        ("p06_blocks", "wrong_place_in_block.py", "Of out exactly the first 32 elements are right"),
        (
            "p07_blocks_2d",
            "wrong_bias_of_the_thread.py",
            "exactly the first 8 columns are right",
        ),
        ("p10_shared", "wrong_sign_turned.py", "are the two sides of a minus swapped?"),
        (
            "p13_convolution",
            "wrong_halo_of_the_first_block.py",
            "exactly the first 16 elements are",
        ),
        ("p14_prefix_sum", "wrong_no_guard.py", "Line 26 (before = shared[t - by]) uses an index"),
        ("p21_softmax_row", "wrong_first_row_only.py", "Of out only row 0 is right"),
    ],
)
def test_the_wrong_kernels_are_asked_about_their_mistake(name: str, kernel: str, asked: str):
    assert asked in (hint_of(name, kernel) or "")


def test_without_a_reader_there_is_no_further_call():
    """Who verifies a course grades hundreds of kernels, and does not read the hints."""
    hint = hint_of("p04_map_2d", "wrong_x_is_the_row.py", shrink=False)
    assert (hint or "").startswith("Do the threads cover the whole output")
