"""Offsets that leave 32 bits: found where they become addresses, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from grader.backends.triton.device.faults import Fault, OutOfBounds, WrappedOffset

from .launched import Gpu, simulated_gpu

QUARTER = 1 << 30  # four of them are 0 in 32 bits


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


def fault_of(gpu: Gpu, kernel: Any, stride: int) -> Fault:
    """Launch a kernel for five rows of four elements; return its fault."""
    x, out = torch.arange(20.0), torch.zeros(20)
    with pytest.raises(Fault) as caught:
        gpu.launch(kernel, (5,), x, out, stride, BLOCK=4)
    return caught.value


def line_of(kernel: Any, place: int) -> int:
    """Return the number of a line of a kernel, counted from its `def`."""
    return kernel.fn.__code__.co_firstlineno + 1 + place


@triton.jit
def rows_of_a_matrix(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    at = row * stride + cols
    tl.store(out + row * BLOCK + cols, tl.load(x + at))


def test_a_product_out_of_bounds(gpu: Gpu) -> None:
    fault = fault_of(gpu, rows_of_a_matrix, 1_000_000_000)
    assert isinstance(fault, OutOfBounds)
    assert fault.message.endswith("is the mask missing?"), "row 1, which comes first, has 32 bits"
    fault = fault_of(gpu, rows_from_the_third, QUARTER + 1)
    assert isinstance(fault, OutOfBounds)
    assert fault.message.endswith(
        f"an offset computed in line {line_of(rows_from_the_third, 3)} "
        "(at = row * stride + cols) left 32 bits (row * stride = 3,221,225,475)"
    )


@triton.jit
def rows_from_the_third(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) + 3
    cols = tl.arange(0, BLOCK)
    at = row * stride + cols
    tl.store(out + cols, tl.load(x + at))


@triton.jit
def every_fourth_row(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4
    cols = tl.arange(0, BLOCK)
    tl.store(out + cols, tl.load(x + row * stride + cols), mask=row < 0)


@triton.jit
def widened_too_late(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4
    cols = tl.arange(0, BLOCK)
    offset = (row * stride).to(tl.int64)
    tl.store(out + cols, tl.load(x + (offset + cols)), mask=row < 0)


@triton.jit
def steps_of_a_loop(x, out, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for _ in range(4):
        at += stride
    tl.store(out + at, 1.0)


@triton.jit
def pointers_in_a_loop(x, out, stride, BLOCK: tl.constexpr):
    source = x + tl.program_id(0) * 4 * stride
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(2):
        total += tl.load(source + tl.arange(0, BLOCK))
        source += BLOCK
    tl.store(out + tl.arange(0, BLOCK), total, mask=stride < 0)


@triton.jit
def after_an_early_return(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4
    offset = row * stride
    if row < 8:
        return
    tl.store(out + offset + tl.arange(0, BLOCK), 1.0)


@triton.jit(noinline=True)
def product(row, stride):
    return row * stride


@triton.jit
def in_another_function(x, out, stride, BLOCK: tl.constexpr):
    offset = product(tl.program_id(0) * 4, stride)
    tl.store(out + offset + tl.arange(0, BLOCK), 1.0, mask=offset >= 0)


@triton.jit
def sixteen_bits(x, out, stride, BLOCK: tl.constexpr):
    at = (tl.program_id(0) * 65536).to(tl.int16) + tl.arange(0, BLOCK)
    tl.store(out + at, 1.0, mask=stride > 0)


@triton.jit
def counter(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4
    tl.atomic_add(out + row * stride, 1.0)


CAUSES = {
    every_fourth_row: "row * stride = 4,294,967,296",
    widened_too_late: "row * stride = 4,294,967,296",
    steps_of_a_loop: "at + stride = 2,147,483,648",
    pointers_in_a_loop: "tl.program_id(0) * 4 * stride = 4,294,967,296",
    after_an_early_return: "row * stride = 4,294,967,296",
    in_another_function: "row * stride = 4,294,967,296",
    counter: "row * stride = 4,294,967,296",
}


@pytest.mark.parametrize("kernel", CAUSES, ids=lambda kernel: kernel.__name__)
def test_an_offset_that_lands_in_bounds_again(gpu: Gpu, kernel: Any) -> None:
    fault = fault_of(gpu, kernel, QUARTER)
    assert isinstance(fault, WrappedOffset)
    assert ", which is not the element that was meant: an offset computed in line" in fault.message
    assert f"left 32 bits ({CAUSES[kernel]})" in fault.message


def test_a_cast_to_fewer_bits(gpu: Gpu) -> None:
    fault = fault_of(gpu, sixteen_bits, 1)
    assert isinstance(fault, WrappedOffset)
    assert "left 16 bits (tl.program_id(0) * 65536 = 65,536)" in fault.message


@triton.jit
def hash_table(x, out, stride, BLOCK: tl.constexpr):
    key = tl.program_id(0) + 7
    hashed = key * 0x61C88647 + stride
    tl.atomic_add(out + (hashed & 15), 1.0)
    tl.atomic_add(out + (hashed >> 28) + 8, 1.0)


@triton.jit
def wide_product(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offset = row * stride * 8
    tl.store(out + offset + tl.arange(0, BLOCK), 1.0, mask=offset < BLOCK)


@triton.jit
def masked_off(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4
    tl.store(out + row * stride + tl.arange(0, BLOCK), 1.0, mask=row < 4)


@triton.jit
def there_and_back(x, out, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK) + 2147483647
    tl.store(out + (at - 2147483647), 1.0)


@triton.jit
def numbers_that_wrap(x, out, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    number = (at + 1) * stride * 4 + 5
    tl.store(out + at, number.to(tl.float32))


@triton.jit
def unsigned_difference(x, out, stride, BLOCK: tl.constexpr):
    high = tl.arange(0, BLOCK).to(tl.uint32) + 3000000000
    low = stride.to(tl.uint32) * 2
    tl.store(out + (high.to(tl.uint32) - low - 852516352), 1.0)


@pytest.mark.parametrize(
    "kernel",
    [
        hash_table,
        wide_product,
        masked_off,
        there_and_back,
        numbers_that_wrap,
        unsigned_difference,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_what_is_no_fault(gpu: Gpu, kernel: Any) -> None:
    out = torch.zeros(20)
    gpu.launch(kernel, (5,), torch.zeros(20), out, QUARTER, BLOCK=4)
    assert out.any()
