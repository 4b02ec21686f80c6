"""Tensor descriptors in compiled kernels, against torch's slices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from grader.backends.triton.device.faults import Misaligned, NotSimulated, OutOfBounds
from grader.backends.triton.device.ttir.records import Type

from .launched import Gpu, simulated_gpu
from .single import execute


@pytest.fixture
def gpu(tmp_path: Path) -> Iterator[Gpu]:
    with simulated_gpu(tmp_path) as gpu:
        yield gpu


def aligned(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return numbers from 1 on, whose address is a multiple of 16 as a GPU's allocator makes it."""
    count = torch.Size(shape).numel()
    room = torch.empty(count + 16, dtype=dtype)
    start = -room.data_ptr() // dtype.itemsize % (16 // dtype.itemsize)
    x = room[start : start + count].view(shape)
    return x.copy_(torch.arange(1, count + 1).view(shape))


@triton.jit
def copy(x_ptr, out_ptr, n, m, row, column, PADDING: tl.constexpr, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n, m], [m, 1], [B, B], padding_option=PADDING)
    out = tl.make_tensor_descriptor(out_ptr, [B, B], [B, 1], [B, B])
    out.store([0, 0], x.load([row, column]))


def test_a_padding_that_is_not_known_is_not_simulated() -> None:
    base, size = torch.zeros(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)
    type_ = Type("tensordesc", None, Type("f32", (16,)))
    with pytest.raises(NotSimulated, match="the padding 3"):
        execute("tt.make_tensor_descriptor", base, size, size, to=type_, padding=3)


@pytest.mark.parametrize(("padding", "value"), [("zero", 0.0), ("nan", float("nan"))])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (2, 12), (-3, -5), (40, 0)])
def test_a_load_beyond_the_edge_is_padded(
    gpu: Gpu, padding: str, value: float, row: int, column: int
) -> None:
    x, out = aligned(10, 20), aligned(16, 16)
    gpu.launch(copy, (1,), x, out, 10, 20, row, column, PADDING=padding, B=16)
    whole = torch.full((100, 100), value)
    whole[30:40, 30:50] = x
    expected = whole[30 + row : 46 + row, 30 + column : 46 + column]
    torch.testing.assert_close(out, expected, equal_nan=True)


@triton.jit
def fill(out_ptr, n, m, row, column, B: tl.constexpr):
    out = tl.make_tensor_descriptor(out_ptr, [n, m], [m, 1], [B, B])
    out.store([row, column], tl.full((B, B), -1.0, tl.float32))


def test_a_store_beyond_the_edge_writes_nothing_there(gpu: Gpu) -> None:
    out = aligned(10, 20)
    expected = out.clone()
    expected[4:, 8:] = -1
    gpu.launch(fill, (1,), out, 10, 20, 4, 8, B=16)
    torch.testing.assert_close(out, expected)


@triton.jit
def ones(out_ptr, n, ADD: tl.constexpr, B: tl.constexpr):
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [B])
    if ADD:
        out.atomic_add([0], tl.full((B,), 1, out_ptr.dtype.element_ty))
    else:
        out.store([0], tl.full((B,), 1, out_ptr.dtype.element_ty))


# Elements that are written beyond the last axis, as on an H200 (driver 580.159.04, Triton 3.6.0).
EDGES = [
    *((torch.float32, 60, 0), (torch.float32, 61, 3), (torch.float32, 62, 2)),
    *((torch.float16, 61, 3), (torch.float16, 64, 0), (torch.int8, 60, 4)),
]


@pytest.mark.parametrize(("dtype", "n", "beyond"), EDGES, ids=str)
def test_a_store_ends_after_whole_16_bytes(
    gpu: Gpu, dtype: torch.dtype, n: int, beyond: int
) -> None:
    out = aligned(128, dtype=dtype)
    expected = out.clone()
    expected[: n + beyond] = 1
    gpu.launch(ones, (1,), out, n, ADD=False, B=128)
    torch.testing.assert_close(out, expected)


def test_an_atomic_ends_after_whole_16_bytes(gpu: Gpu) -> None:
    out = aligned(128)
    expected = out.clone()
    expected[:64] += 1
    gpu.launch(ones, (1,), out, 61, ADD=True, B=128)
    torch.testing.assert_close(out, expected)


def test_a_store_past_the_array_names_the_16_bytes(gpu: Gpu) -> None:
    with pytest.raises(OutOfBounds, match=r"writes 3 elements past .* whole 16 bytes"):
        gpu.launch(ones, (1,), aligned(61), 61, ADD=False, B=128)


@triton.jit
def double(box, out_box):
    row = tl.program_id(0) * 4
    out_box.store([row, 0], box.load([row, 0]) * 2)


def test_descriptors_of_the_host(gpu: Gpu) -> None:
    x, out = aligned(16, 32), aligned(16, 32)
    boxes = [TensorDescriptor.from_tensor(each, [4, 32]) for each in (x, out)]
    gpu.launch(double, (4,), *boxes)
    torch.testing.assert_close(out, 2 * x)


@triton.jit
def reductions(x_ptr, f_ptr, KIND: tl.constexpr, B: tl.constexpr):
    value = tl.full((B, B), 5, x_ptr.dtype.element_ty)
    x = tl.make_tensor_descriptor(x_ptr, [B, 8], [8, 1], [B, B])
    if KIND == "add":
        x.atomic_add([0, 0], value)
        f = tl.make_tensor_descriptor(f_ptr, [B, 8], [8, 1], [B, B])
        f.atomic_add([0, 0], tl.full((B, B), 0.5, tl.float32))
    elif KIND == "max":
        x.atomic_max([0, 0], value)
    elif KIND == "min":
        x.atomic_min([0, 0], value)
    elif KIND == "and":
        x.atomic_and([0, 0], value)
    elif KIND == "or":
        x.atomic_or([0, 0], value)
    else:
        x.atomic_xor([0, 0], value)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint32])
@pytest.mark.parametrize("kind", ["add", "max", "min", "and", "or", "xor"])
def test_reductions_into_memory(gpu: Gpu, kind: str, dtype: torch.dtype) -> None:
    x = aligned(16, 8, dtype=torch.int32) - 20
    x = aligned(16, 8, dtype=torch.int32).copy_(x)
    f = aligned(16, 8)
    before = f.clone()
    wide = x.long() if dtype == torch.int32 else x.long() % 2**32
    expected = {
        "add": wide + 10,
        "max": wide.clamp(min=5),
        "min": wide.clamp(max=5),
        "and": wide & 5,
        "or": wide | 5,
        "xor": wide,
    }[kind]
    gpu.launch(reductions, (2,), x.view(dtype), f, KIND=kind, B=16)
    assert (x - expected).remainder(2**32).unique().tolist() == [0]
    if kind == "add":
        torch.testing.assert_close(f, before + 1.0)


@triton.jit
def rows_of(x_ptr, out_ptr, n, m, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n, m], [m, 1], [1, B])
    out = tl.make_tensor_descriptor(out_ptr, [n, m], [m, 1], [1, B])
    rows = tl.arange(0, 8) * 3
    out.scatter(x.gather(rows, 4), 8 - rows, 0)


def test_rows_are_gathered_and_scattered(gpu: Gpu) -> None:
    x, out = aligned(10, 20), aligned(10, 20)
    expected = out.clone()
    for row in range(0, 9, 3):
        line = torch.zeros(16)
        line[:16] = x[row, 4:20]
        expected[8 - row, :16] = line
    gpu.launch(rows_of, (1,), x, out, 10, 20, B=16)
    torch.testing.assert_close(out, expected)


def test_an_array_that_the_hardware_takes_not(gpu: Gpu) -> None:
    x, out = aligned(10, 21), aligned(16, 16)
    with pytest.raises(Misaligned, match="multiples of 16 bytes"):
        gpu.launch(copy, (1,), x, out, 10, 21, 0, 0, PADDING="zero", B=16)
