"""The messages that beginners' mistakes get, as text: one kernel of each mistake that we know."""

from __future__ import annotations

import pytest
from messages import text_of
from mistakes_table import ROOT, SEEN
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog
from grader.grading import check
from grader.grading.options import Options
from grader.model.results import Failure

pytestmark = pytest.mark.slow

MISTAKES = {
    "masked lanes without other=": "04_online_softmax/no_other",
    "an input is never read": "01_vector_add/loads_x_for_y",
    "two programs write one element": "01_vector_add/program_plus_lane",
    "an offset leaves its bits": "01_vector_add/widened_too_late",
    "the tail of the last block": "01_vector_add/grid_rounds_to_int",
    "every block but the first": "01_vector_add/one_program",
    "rows beyond the first": "05_swiglu/rows_side_by_side",
    "a constant factor": "05_swiglu/silu_twice",
    "the sign": "p09_coalesced/keeps_the_sign",
    "transposed": "p04_map_2d/reads_the_transpose",
    "swapped arguments": "05_swiglu/silu_of_up",
    "off by one": "p02_zip/one_place_before",
    "previous values are added": "p01_map/adds_to_what_was_there",
    "only for target == -100": "06_cross_entropy/clamps_the_target",
    "only for large inputs": "p21_softmax_row/exp_alone",
    "only for negative inputs": "p11_pooling/largest_from_zero",
    "changes from run to run": "p10_shared/does_not_wait",
    "no grid, Triton": "05_swiglu/called_with_parentheses",
    "no grid, numba": "p01_map/called_without_brackets",
    "the grid is not a tuple": "01_vector_add/grid_without_comma",
    "x_ptr[offsets]": "01_vector_add/indexes_the_pointers",
    "out_ptr[o] = …": "04_online_softmax/stores_with_brackets",
    "math.exp": "03_three_pass_softmax/math_exp",
    "numpy in a kernel": "01_vector_add/numpy_arange",
    "torch in a kernel": "01_vector_add/torch_add",
    "[0.0] * BLOCK": "03_three_pass_softmax/list_of_sums",
    "missing tl.constexpr": "01_vector_add/block_without_constexpr",
    "tl.arange of a variable": "01_vector_add/arange_of_the_length",
    "tl.arange of no power of two": "01_vector_add/block_of_1000",
    "a returned value, Triton": "01_vector_add/kernel_returns_the_sum",
    "a returned value, numba": "p01_map/returns_the_sum",
    "no launch": "p01_map/never_started",
    "program_id is not used": "01_vector_add/forgets_the_program",
    "swapped axes of the grid": "p07_blocks_2d/rows_first",
    "<= for <": "p03_guard/up_to_the_size",
    "a variable that a thread did not set": "p03_guard/set_under_the_if",
    "shared[start + t]": "p10_shared/shared_from_start",
    "reads what nobody wrote": "01_vector_add/empty_scratch",
    "counts[i] += 1 without an atomic": "p17_histogram/plus_one",
    "one product a thread": "02_dot_reduction/one_product_each",
}


@pytest.fixture(scope="module")
def failures() -> dict[str, Failure]:
    """The failure of each kernel, from one judge."""
    requests = [
        check.Request(
            catalog.find(ROOT, kernel.split("/")[0]),
            SEEN / f"{kernel}.py",
            Options(seed=1, leave_out=("speed",), shrink=False),
        )
        for kernel in MISTAKES.values()
    ]
    results = check.run(requests, lambda text: None)
    first = [
        next(step.failure for step in result.steps if step.failure is not None)
        for result in results
    ]
    return dict(zip(MISTAKES, first, strict=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_message(mistake: str, failures: dict[str, Failure], snapshot: SnapshotAssertion) -> None:
    failure = failures[mistake]
    lines = ", ".join(str(frame.line) for frame in failure.frames)
    assert f"{text_of(failure)}\nlines: {lines or 'none'}" == snapshot
