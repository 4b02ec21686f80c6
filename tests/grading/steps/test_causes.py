"""The hints about likely causes, as a check gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model import Case, Failure

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


ASKED = [
    ("p04_map_2d", "wrong_x_is_the_row.py", "Are x and y swapped in the kernel,"),
    ("p07_blocks_2d", "wrong_row_first.py", "Are x and y swapped in the kernel,"),
    ("p07_blocks_2d", "wrong_grid_swapped.py", "exchanged there would be enough"),
    ("p08_grid_stride", "wrong_no_loop.py", "should each thread go on to further elements?"),
    ("p13_convolution", "wrong_blocks_rounded_down.py", "number of blocks round up?"),
    ("p15_axis_sum", "wrong_one_block_too_few.py", "Is a block missing, or"),
    ("p15_axis_sum", "wrong_row_and_column_swapped.py", "The first index of a table"),
    ("p18_transpose", "wrong_grid_swapped.py", "Or are the two swapped?"),
    ("p02_zip", "wrong_swapped.py", "The output is that of a and b exchanged"),
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
    ("p11_pooling", "wrong_window_too_narrow.py", "The loop of line 19 (for back in range(1,"),
    ("p18_transpose", "wrong_tile_stays.py", "holds. Line 16 (top = "),
]
# Those who verify a course grade hundreds of kernels, and read no hints.
UNREAD = ("p04_map_2d", "wrong_x_is_the_row.py")


# Kernels of Triton, with the cause and the text of the line that a failure names.
NAMED = [
    ("01_vector_add", "wrong_last_block_skipped.py", "tail", "programs = n // BLOCK"),
    ("01_vector_add", "wrong_same_block_everywhere.py", "program_id_unused", "offsets = tl.arange"),
    ("01_vector_add", "wrong_adds_x_twice.py", "never_read", "y = tl.load(x_ptr"),
    ("01_vector_add", "wrong_stores_into_x.py", "input_changed", "tl.store(x_ptr"),
    ("03_three_pass_softmax", "wrong_masked_lanes_are_zero.py", "masked_lanes", "x = tl.load("),
    ("03_three_pass_softmax", "wrong_last_block_max.py", "last_block_kept", "highest = x.to("),
    ("04_online_softmax", "wrong_maximum_of_last_block.py", "last_block_kept", "new_max = tl.max("),
    ("06_cross_entropy", "wrong_one_hot_missing.py", "formula", "gradient = scale"),
    ("05_swiglu", "wrong_one_stride.py", "row_stride", "tl.store(out_ptr"),
    ("05_swiglu", "wrong_swapped.py", "swapped_arguments", "tl.store("),
    ("05_swiglu", "wrong_reads_gate_twice.py", "repeated_access", "gate = tl.load("),
    ("06_cross_entropy", "wrong_ignored_rows_kept.py", "ignore_index", "if target == IGNORED:"),
    ("06_cross_entropy", "wrong_loss_after_overwrite.py", "overwritten_read", "target_logit ="),
]

# Of these only traffic is asked for: their answers are right, in all of a hundred cases.
RIGHT = {"wrong_reads_gate_twice.py"}
# A case that shows these two: a check tries many before, and then many smaller ones.
SHOWN = Case((2, 4097), "float32", draw="hundreds")
SHOWN_BY_ONE = {"wrong_last_block_max.py", "wrong_maximum_of_last_block.py"}

Asked = tuple[str, str, bool]


@pytest.fixture(scope="module")
def failures() -> dict[Asked, Failure]:
    """The failure of each kernel, with and without a reader: one judge grades them all."""
    asked = [(name, kernel, True) for name, kernel, *_ in (*ASKED, *NAMED)] + [(*UNREAD, False)]
    results = check.run([request(*one) for one in asked], lambda _: None)
    found = [[step.failure for step in result.steps if step.failure] for result in results]
    return {one: failure for one, [failure] in zip(asked, found, strict=True)}


@pytest.mark.parametrize(("name", "kernel", "cause", "line"), NAMED)
def test_a_failure_names_its_cause_and_a_line(
    failures: dict[Asked, Failure], name: str, kernel: str, cause: str, line: str
):
    failure = failures[name, kernel, True]
    assert failure.cause == cause
    assert failure.frames[-1].code.startswith(line)


def request(name: str, kernel: str, shrink: bool) -> Request:
    exercise = catalog.find(ROOT, name)
    options = Options(
        device="cpu",
        seed=1,
        shrink=shrink,
        case=SHOWN if kernel in SHOWN_BY_ONE else None,
        leave_out=("correctness", "properties", "compile") if kernel in RIGHT else (),
    )
    return Request(exercise, exercise.answers / kernel, options)


@pytest.mark.parametrize(("name", "kernel", "asked"), ASKED)
def test_the_wrong_kernels_are_asked_about_their_mistake(
    failures: dict[Asked, Failure], name: str, kernel: str, asked: str
):
    assert asked in (failures[name, kernel, True].hint or "")


def test_without_a_reader_there_is_no_further_call(failures: dict[Asked, Failure]):
    assert (failures[*UNREAD, False].hint or "").startswith("No thread writes there")
