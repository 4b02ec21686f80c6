"""The question asked of a wrong answer: only where a known mistake makes it wrong just so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from grader.correctness import mistakes
from grader.course import catalog
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.traced import FROM_END, ArrayRef, LaunchRef, Traced

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


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
    assert mistakes.ask_about_gaps("out", missing, written(launch(grid, block))) == said


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
    assert mistakes.ask_about_gaps("out", missing, written(launch((2, 1), (16, 1)))) is None


def test_a_launch_that_is_large_enough_is_not_to_blame():
    missing = lacks(1, 17, written=(slice(None), slice(16)))
    assert mistakes.ask_about_gaps("out", missing, written(launch((3, 1), (8, 4)))) is None


def test_an_output_without_writes_is_asked_about():
    missing = lacks(3, written=(slice(0),))
    one = launch((1, 1), (3, 1))
    said = (
        "No thread writes to out. `out[i] = …` writes an element; `out = …` only "
        "gives the name to something else."
    )
    nothing = replace(written(one), accesses=((0, 0, 0, 1, 0, 1, 0, 5, 0),))  # but reads
    assert mistakes.ask_about_gaps("out", missing, nothing) == said
    assert mistakes.ask_about_gaps("out", missing, replace(nothing, cut=1)) is None
    assert mistakes.ask_about_gaps("out", missing, written(one)) is None, "it adds to what is there"
    elsewhere = replace(written(one), arrays=(ArrayRef("out", "shared", (3,)),))
    assert mistakes.ask_about_gaps("out", missing, elsewhere) == said


def test_of_several_launches_none_is_to_blame():
    missing = lacks(33, written=(slice(32),))
    assert mistakes.ask_about_gaps("out", missing, written()) is None
    assert mistakes.ask_about_gaps("out", missing, written(*[launch((2, 1), (16, 1))] * 2)) is None


# --- wrong values ---------------------------------------------------------------------------------

RIGHT = torch.arange(1.0, 41.0, dtype=torch.float64)
TABLE = RIGHT.reshape(4, 10)


def asked_of(
    got: Tensor, answer: Tensor, grid: tuple[int, int] = (1, 1), block: tuple[int, int] = (64, 1)
) -> str | None:
    def is_right(candidate: Tensor) -> Tensor:
        return candidate.double() == answer

    return mistakes.ask_about_values("out", got.float(), answer, is_right, [launch(grid, block)])


def wrong_but(answer: Tensor, *right: slice) -> Tensor:
    """Each element is too large by a half, but for those."""
    got = answer + 0.5
    got[right] = answer[right]
    return got


def test_a_wrong_sign_everywhere_is_asked_about():
    said = (
        "Each element of out has the right size and the wrong sign: is a minus missing, one too "
        "many, or are its two sides swapped?"
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
    same = torch.ones(10, dtype=torch.float64)
    assert asked_of(torch.cat([2 * same[:1], same[1:]]).roll(by - 1), same) is None


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


def used(fault: int, thread: int = 1, line: int = 2) -> Traced:
    """Each of 4 threads writes its element of out; one has used tile[1, -1] or another index."""
    return Traced(
        (launch((1, 1), (4, 1)),),
        (ArrayRef("tile", "shared", (2, 3)), ArrayRef("out", "argument", (4,))),
        (
            (0, 0, 0, thread, 0, 5, 0, line, fault),
            *((0, 0, 0, each, 1, each, 1, 3, 0) for each in range(4)),
        ),
    )


WRONG = {"out": torch.tensor([False, True, True, False])}


def test_an_index_below_0_is_asked_about():
    source = ["import numba", "    before = tile[i, j - 1]"]
    question = (
        "{} uses an index below 0, which counts from the end: it reads tile[1, 2]. Is an `if` "
        "missing there, or wrong, or a sign?"
    )
    line = question.format("Line 2 (before = tile[i, j - 1])")
    assert mistakes.ask_about_indices(used(FROM_END), WRONG, source) == line
    assert mistakes.ask_about_indices(used(0), WRONG, source) is None
    for unknown in (0, 3):  # it is the worker that tells the number
        told = mistakes.ask_about_indices(used(FROM_END, line=unknown), WRONG, source)
        assert told == question.format("The kernel")


def test_an_index_below_0_of_who_wrote_nothing_wrong_is_not():
    """Such as in a sum whose first threads do nothing with what they read."""
    assert mistakes.ask_about_indices(used(FROM_END, thread=0), WRONG, []) is None
    late = used(FROM_END)
    over = replace(late, accesses=(*late.accesses, (0, 1, 0, 2, 1, 1, 1, 4, 0)))
    assert mistakes.ask_about_indices(over, {"out": WRONG["out"][:2]}, []) is None, (
        "thread 2 wrote last"
    )
    assert mistakes.ask_about_indices(late, {"other": WRONG["out"]}, []) is None


def test_an_index_below_0_that_led_to_what_another_thread_read_is_asked_about():
    late = used(FROM_END, thread=0)
    passed_on = ((0, 0, 0, 0, 0, 1, 1, 3, 0), (0, 1, 0, 2, 0, 1, 0, 4, 0))
    read_by_2 = replace(late, accesses=(late.accesses[0], *passed_on, *late.accesses[1:]))
    assert mistakes.ask_about_indices(read_by_2, WRONG, []) is not None
    other_block = (*passed_on[:1], (0, 1, 1, 2, 0, 1, 0, 4, 0))
    twice = replace(late, launches=(launch((2, 1), (4, 1)),))
    of_another = replace(twice, accesses=(late.accesses[0], *other_block, *late.accesses[1:]))
    assert mistakes.ask_about_indices(of_another, WRONG, []) is None


# --- in a check -----------------------------------------------------------------------------------


ASKED = [
    ("p04_map_2d", "wrong_x_is_the_row.py", "Are x and y swapped in the kernel,"),
    ("p07_blocks_2d", "wrong_row_first.py", "Are x and y swapped in the kernel,"),
    ("p07_blocks_2d", "wrong_grid_swapped.py", "exchanged there would be enough"),
    ("p08_grid_stride", "wrong_no_loop.py", "should each thread go on to further elements?"),
    ("p13_convolution", "wrong_blocks_rounded_down.py", "number of blocks round up?"),
    ("p15_axis_sum", "wrong_one_block_too_few.py", "Is a block missing, or"),
    ("p15_axis_sum", "wrong_row_and_column_swapped.py", "The first index of a table"),
    ("p18_transpose", "wrong_grid_swapped.py", "Or are the two swapped?"),
    ("p02_zip", "wrong_swapped.py", "or are its two sides swapped?"),
    ("p06_blocks", "wrong_place_in_block.py", "Of out exactly the first 32 elements are right"),
    (
        "p07_blocks_2d",
        "wrong_bias_of_the_thread.py",
        "exactly the first 8 columns are right",
    ),
    ("p10_shared", "wrong_sign_turned.py", "or are its two sides swapped?"),
    (
        "p13_convolution",
        "wrong_halo_of_the_first_block.py",
        "exactly the first 16 elements are",
    ),
    ("p14_prefix_sum", "wrong_no_guard.py", "Line 26 (before = shared[t - by]) uses an index"),
    ("p21_softmax_row", "wrong_first_row_only.py", "Of out only row 0 is right"),
]
# Those who verify a course grade hundreds of kernels, and read no hints.
UNREAD = ("p04_map_2d", "wrong_x_is_the_row.py")


@pytest.fixture(scope="module")
def hints() -> dict[tuple[str, str, bool], str]:
    """The hint on each kernel, with and without a reader: one judge grades them all."""
    asked = [(name, kernel, True) for name, kernel, _ in ASKED] + [(*UNREAD, False)]
    results = check.run([request(*one) for one in asked], lambda _: None)
    failures = [[step.failure for step in result.steps if step.failure] for result in results]
    return {one: failure.hint or "" for one, [failure] in zip(asked, failures, strict=True)}


def request(name: str, kernel: str, shrink: bool) -> Request:
    exercise = catalog.find(ROOT, name)
    return Request(
        exercise, exercise.answers / kernel, Options(device="cpu", seed=1, shrink=shrink)
    )


@pytest.mark.parametrize(("name", "kernel", "asked"), ASKED)
def test_the_wrong_kernels_are_asked_about_their_mistake(
    hints: dict[tuple[str, str, bool], str], name: str, kernel: str, asked: str
):
    assert asked in hints[name, kernel, True]


def test_without_a_reader_there_is_no_further_call(hints: dict[tuple[str, str, bool], str]):
    assert hints[*UNREAD, False].startswith("Do the threads cover the whole output")
