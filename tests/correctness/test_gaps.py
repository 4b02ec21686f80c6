"""The questions about elements that threads left out, and about what only the first block does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from grader.correctness.gaps import ask_about_first_block, ask_about_gaps
from grader.model.traced import ArrayRef, LaunchRef, Traced


def launch(grid: tuple[int, int], block: tuple[int, int]) -> LaunchRef:
    return LaunchRef("kernel", (*grid, 1), (*block, 1))


def written(*launches: LaunchRef) -> Traced:
    """Somebody writes somewhere to `out`."""
    arrays = (ArrayRef("out", "argument", (3,)),)
    return Traced(launches, arrays, ((0, 0, 0, 0, 0, 0, 1, 5, 0),))


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
            "blocks. Is a block missing, or do all threads of a block use one index?",
        ),
        (
            lacks(2, written=(slice(1),)),
            (1, 1),
            (2, 1),
            "Of the 2 elements of out only the first one is written, and the launch has 2 threads: "
            "do several of them use one index, or does an `if` stop too early?",
        ),
        (
            lacks(2, written=(slice(1),)),
            (2, 1),
            (32, 1),
            "Of out only element 0 is written, and the launch has a block for each element: does "
            "every block use its own number, cuda.blockIdx.x, and every thread its own in the "
            "block, cuda.threadIdx.x?",
        ),
        (
            lacks(3, 2, written=(slice(1),)),
            (3, 1),
            (32, 1),
            "Of out only row 0 is written, and the launch has a block for each row: does every "
            "block use its own number, cuda.blockIdx.x, and every thread its own in the block, "
            "cuda.threadIdx.x?",
        ),
        (
            lacks(3, 40, written=(slice(None), slice(32))),
            (3, 1),
            (32, 1),
            "Of each row of out only the first 32 elements are written: as many as a block has "
            "threads. Should each thread go on to further elements?",
        ),
        (
            lacks(1, 9, written=(slice(None), slice(8))),
            (1, 1),
            (16, 8),
            "The launch has 16 threads in x direction and 8 in y direction, enough for the 1 × 9 "
            "elements of out where x is the column and y the row. Are x and y swapped in the "
            "kernel, or does an `if` stop at a fixed number?",
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
    assert ask_about_gaps("out", missing, written(launch(grid, block))) == said


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
    assert ask_about_gaps("out", missing, written(launch((2, 1), (16, 1)))) is None


def test_a_launch_that_is_large_enough_is_not_to_blame():
    missing = lacks(1, 17, written=(slice(None), slice(16)))
    assert ask_about_gaps("out", missing, written(launch((3, 1), (8, 4)))) is None


def test_an_output_without_writes_is_asked_about():
    missing = lacks(3, written=(slice(0),))
    one = launch((1, 1), (3, 1))
    said = (
        "No thread writes to out. `out[i] = …` writes an element; `out = …` only "
        "gives the name to something else."
    )
    nothing = replace(written(one), accesses=((0, 0, 0, 1, 0, 1, 0, 5, 0),))  # but reads
    assert ask_about_gaps("out", missing, nothing) == said
    assert ask_about_gaps("out", missing, replace(nothing, cut=1)) is None
    assert ask_about_gaps("out", missing, written(one)) is None, "it adds to what is there"
    elsewhere = replace(written(one), arrays=(ArrayRef("out", "shared", (3,)),))
    assert ask_about_gaps("out", missing, elsewhere) == said


def test_of_several_launches_none_is_to_blame():
    missing = lacks(33, written=(slice(32),))
    assert ask_about_gaps("out", missing, written()) is None
    assert ask_about_gaps("out", missing, written(*[launch((2, 1), (16, 1))] * 2)) is None


# --- wrong values ---------------------------------------------------------------------------------

RIGHT = torch.arange(1.0, 41.0, dtype=torch.float64)
TABLE = RIGHT.reshape(4, 10)


def asked_of(
    got: Tensor, answer: Tensor, grid: tuple[int, int] = (1, 1), block: tuple[int, int] = (64, 1)
) -> str | None:
    return ask_about_first_block("out", got == answer, launch(grid, block))


def wrong_but(answer: Tensor, *right: slice) -> Tensor:
    """Each element is too large by a half, but for those."""
    got = answer + 0.5
    got[right] = answer[right]
    return got


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
        f"Of out exactly {which} right, as far as the first block reaches: does the kernel mix up "
        "the index in the block and the index in the whole array?"
    )
    assert asked_of(got, answer, (1, 1), block) is None, "there is but one block"


def test_one_row_for_all_blocks_is_asked_about():
    said = (
        "Of out only {0} 0 is right, and the launch has a block for each {0}: does every block use "
        "its own number, cuda.blockIdx.x, and every thread its own in the block, cuda.threadIdx.x?"
    )
    assert asked_of(wrong_but(TABLE, slice(1)), TABLE, (4, 1), (32, 1)) == said.format("row")
    assert asked_of(wrong_but(RIGHT, slice(1)), RIGHT, (40, 1), (32, 1)) == said.format("element")
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
