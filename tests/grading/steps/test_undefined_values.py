"""Undefined values behind a wrong output: named where they are the cause, and never a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.correctness.compare import correctness
from grader.model.cases import Case
from grader.model.outcomes import Outcome
from grader.model.results import Failure
from grader.sandbox.fork_servers import ForkServers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SOFTMAX = catalog.find(ROOT, "04_online_softmax")

BEGIN = """
import torch
import triton
import triton.language as tl

"""

# One program fills a row; the load's `other` decides if its sum is right.
ROWS = (
    BEGIN
    + """
@triton.jit
def rows_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + at, mask=at < columns{other}).to(tl.float32)
    x = {kept}
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0) * {factor}
    tl.store(out_ptr + row * out_stride + at, y.to(out_ptr.dtype.element_ty), mask=at < columns)


def softmax(x, out):
    block = triton.next_power_of_2(x.shape[1])
    strides = x.stride(0), out.stride(0)
    rows_kernel[(x.shape[0],)](x, out, *strides, x.shape[1], BLOCK=block)
"""
)

# Two launches, with the sums of the rows between them in memory of the file's own.
TWO_LAUNCHES = (
    BEGIN
    + """
@triton.jit
def sums_kernel(x_ptr, sums_ptr, x_stride, columns, rows, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + at, mask=at < columns, other=float("-inf"))
    if row < rows:
        tl.store(sums_ptr + row, tl.sum(tl.exp(x.to(tl.float32) - tl.max(x, axis=0)), axis=0))


@triton.jit
def divide_kernel(x_ptr, sums_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + at, mask=at < columns, other=float("-inf"))
    sums = tl.load(sums_ptr + row + tl.arange(0, 2))
    total = tl.sum(tl.where(tl.arange(0, 2) == 0, sums, 0.0), axis=0)
    y = tl.exp(x.to(tl.float32) - tl.max(x, axis=0)) / total * {factor}
    tl.store(out_ptr + row * out_stride + at, y.to(out_ptr.dtype.element_ty), mask=at < columns)


def softmax(x, out):
    rows, columns = x.shape
    sums = torch.empty(rows + 1, dtype=torch.float32, device=x.device)
    block = triton.next_power_of_2(columns)
    sums_kernel[(rows,)](x, sums, x.stride(0), columns, {rows}, BLOCK=block)
    divide_kernel[(rows,)](x, sums, out, x.stride(0), out.stride(0), columns, BLOCK=block)
"""
)

# A counter that decides which rows a program takes; integers are not followed.
TICKETS = ROWS.replace("x_stride, out_stride", "tickets_ptr, x_stride, out_stride", 1).replace(
    "row = tl.program_id(0)", "row = (tl.atomic_add(tickets_ptr, 1) & 1023)"
)
TICKETS = TICKETS.replace("(x, out, *strides", "(x, out, tickets, *strides").replace(
    "    strides =",
    "    tickets = torch.{made}(1, dtype=torch.int32, device=x.device)\n    strides =",
)

RIGHT = {"other": ', other=float("-inf")', "kept": "x", "factor": 1}
DROPPED = {"other": "", "kept": 'tl.where(at < columns, x, float("-inf"))', "factor": 1}


@pytest.fixture
def checked(fork_servers: ForkServers, tmp_path: Path) -> Iterator[Callable[[str], Finding]]:
    made: list[Grading] = []

    def check(source: str, times: int = 1) -> Finding:
        kernel = tmp_path / "kernel.py"
        kernel.write_text(source, encoding="utf-8")
        made.append(
            Grading(SOFTMAX, kernel, Options(seed=1, case=Case((5, 100), "float16")), fork_servers)
        )
        # Not as a step: one that passes would begin to compile.
        *_, last = (correctness(made[-1]) for _ in range(times))
        return last

    yield check
    for grading in made:
        grading.close()


def hint_of(step: Finding) -> str:
    assert isinstance(step.failure, Failure)
    return step.failure.hint or ""


def test_lanes_that_a_mask_switches_off(checked: Callable[[str], Finding]) -> None:
    hint = hint_of(checked(ROWS.format(**RIGHT | {"other": ""})))
    assert hint.startswith(
        "Line 11 (x = tl.load(x_ptr + row * x_stride + at, mask=at < columns).to(tl.float32)) "
        "masks off lanes of x, and their undefined values entered the maximum at line 13 "
    )
    assert hint.endswith('Give that load `other=float("-inf")`, which changes no maximum.')


def test_the_line_is_named_by_a_later_worker_too(checked: Callable[..., Finding]) -> None:
    """A failing case is made smaller, each time in a new worker with the cache of the first."""
    unmasked = ROWS.replace(", mask=at < columns{other}", "").format(**RIGHT)
    failure = checked(unmasked, times=2).failure
    assert failure is not None
    assert (failure.kind, failure.frames[-1].line) == ("out_of_bounds", 11)


def test_scratch_that_no_program_wrote(checked: Callable[[str], Finding]) -> None:
    hint = hint_of(checked(TWO_LAUNCHES.format(rows="rows - 1", factor=1)))
    assert hint.startswith(
        "Line 21 (sums = tl.load(sums_ptr + row + tl.arange(0, 2))) reads element 4 of sums_ptr, "
        "which nothing had written, and sums reached out."
    )


def test_a_counter_that_nobody_set(checked: Callable[[str], Finding]) -> None:
    hint = hint_of(checked(TICKETS.format(**RIGHT, made="empty")))
    assert "reads element 0 of tickets_ptr, which nothing had written. " in hint
    assert checked(TICKETS.format(**RIGHT, made="zeros")).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "source",
    [ROWS.format(**DROPPED), TWO_LAUNCHES.format(rows="rows", factor=1)],
    ids=["masked", "unwritten"],
)
def test_undefined_values_that_are_dropped(checked: Callable[[str], Finding], source: str) -> None:
    assert checked(source).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "source",
    [ROWS.format(**DROPPED | {"factor": 2}), TWO_LAUNCHES.format(rows="rows", factor=2)],
    ids=["masked", "unwritten"],
)
def test_an_output_that_is_wrong_for_another_reason(
    checked: Callable[[str], Finding], source: str
) -> None:
    step = checked(source)
    assert step.outcome is Outcome.FAIL
    assert "masks off" not in hint_of(step)
    assert "nothing had written" not in hint_of(step)
