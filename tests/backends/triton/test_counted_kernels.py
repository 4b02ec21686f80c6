"""What the simulated GPU counts of a kernel: elements of the arguments, with their masks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import triton
import triton.language as tl
from whole_gpu import Gpu, whole_gpu

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with whole_gpu(tmp_path_factory.mktemp("cache"), __file__) as simulated:
        global GPU
        GPU = simulated
        yield simulated


def counted(kernel, grid, x, out, *args, **options) -> tuple[dict[str, int], dict[str, int]]:
    """Elements read and written of x and out."""
    given = GPU.placed(x=x, out=out)
    GPU.call(lambda: kernel[grid](*given.values(), *args, **options), given)
    out.copy_(given["out"])
    found = GPU.report.counts
    reads, writes = (
        {n: found[f"{kind}.{n}"] for n in ("x", "out")} for kind in ("reads", "writes")
    )
    return reads, writes


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_masked_lanes_do_not_count(n, dtype):
    reads, writes = counted(
        copy, (triton.cdiv(n, 64),), torch.ones(n, dtype=dtype), torch.ones(n, dtype=dtype), n, 64
    )
    assert (reads, writes) == ({"x": n, "out": 0}, {"x": 0, "out": n})


@triton.jit
def one_element(x, out):
    tl.store(out, tl.load(x) + tl.load(x + 1))


def test_single_elements_count():
    reads, writes = counted(one_element, (5,), torch.ones(2), torch.ones(1))
    assert (reads, writes) == ({"x": 10, "out": 0}, {"x": 0, "out": 5})


@triton.jit
def add_up(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + at * 0, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def swap(x, out):
    tl.atomic_cas(out, tl.load(x), 7)


def test_an_atomic_reads_and_writes():
    reads, writes = counted(add_up, (2,), torch.ones(11), torch.zeros(1), 11, 8)
    assert (reads, writes) == ({"x": 11, "out": 11}, {"x": 0, "out": 11})
    ones = torch.ones(1, dtype=torch.int32)
    assert counted(swap, (1,), ones, ones.clone()) == ({"x": 1, "out": 1}, {"x": 0, "out": 1})


@triton.jit
def copy_pairs(x, out, BLOCK: tl.constexpr):
    """Two elements of 32 bits at a time."""
    at = tl.arange(0, BLOCK)
    wide_x = x.to(tl.pointer_type(tl.int64), bitcast=True)
    wide_out = out.to(tl.pointer_type(tl.int64), bitcast=True)
    tl.store(wide_out + at, tl.load(wide_x + at))


@triton.jit
def copy_bytes(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    raw_x = x.to(tl.pointer_type(tl.int8), bitcast=True)
    raw_out = out.to(tl.pointer_type(tl.int8), bitcast=True)
    tl.store(raw_out + at, tl.load(raw_x + at))


@pytest.mark.parametrize(("kernel", "lanes"), [(copy_pairs, 8), (copy_bytes, 64)])
def test_pointers_of_another_size_count_the_elements_behind_them(kernel, lanes):
    x, out = torch.rand(16), torch.zeros(16)
    reads, writes = counted(kernel, (1,), x, out, lanes)
    assert torch.equal(x, out)
    assert (reads, writes) == ({"x": 16, "out": 0}, {"x": 0, "out": 16})


@triton.jit
def copy_tile(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    at = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    target.store(at, source.load(at))


def test_tensor_descriptors_count_what_lies_inside():
    x, out = torch.rand(5, 12), torch.zeros(5, 12)
    reads, writes = counted(copy_tile, (2, 2), x, out, 5, 12, 4, 8)
    assert torch.equal(x, out)
    assert (reads, writes) == ({"x": 60, "out": 0}, {"x": 0, "out": 60})


@triton.jit
def copy_through_scratch(x, out, scratch, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(scratch + at, tl.load(x + at))
    tl.store(out + at, tl.load(scratch + at))


def test_scratch_is_not_counted():
    reads, writes = counted(
        copy_through_scratch, (1,), torch.rand(16), torch.zeros(16), torch.empty(16), 16
    )
    assert (reads, writes) == ({"x": 16, "out": 0}, {"x": 0, "out": 16})


@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def tuned_sum(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


@pytest.mark.parametrize(("count", "runs"), [(False, 3), (True, 1)])
def test_trials_of_a_tuner_have_their_effect_where_no_traffic_can_hide(count: bool, runs: int):
    """Two configurations and the launch itself add to one sum, as on a GPU."""
    given = GPU.placed(x=torch.ones(40 + runs), out=torch.zeros(1))
    n = given["x"].numel()
    GPU.call(
        lambda: tuned_sum[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](*given.values(), n),
        given,
        count=count,
    )
    assert given["out"].item() == runs * n
    if count:
        assert GPU.report.counts["reads.x"] == n
