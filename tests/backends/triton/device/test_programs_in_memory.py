"""Compiled kernels that load, store and update atomically: bounds, races, and honest programs."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from grader.backends.triton.device.faults import Fault, OutOfBounds, Race

from .launched import Gpu, simulated_gpu


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


def line_of(fault: Fault) -> str:
    assert fault.site is not None
    return linecache.getline(__file__, fault.site.line).strip()


def integers(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.int32)


@triton.jit
def shift(x, out, n, offset, BLOCK: tl.constexpr, MASK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASK:
        v = tl.load(x + at + offset, mask=at + offset < n, other=0.0)
        tl.store(out + at, v, mask=at < n)
    else:
        v = tl.load(x + at + offset)  # no mask on the load
        tl.store(out + at, v)


def test_a_mask_keeps_the_load_and_the_store_in_bounds(gpu: Gpu) -> None:
    x, out = torch.arange(5.0), torch.zeros(5)
    gpu.launch(shift, (2,), x, out, 5, 1, BLOCK=4, MASK=True)
    assert out.tolist() == [1.0, 2.0, 3.0, 4.0, 0.0]


def test_out_of_bounds_says_where_and_has_the_line(gpu: Gpu) -> None:
    with pytest.raises(OutOfBounds) as caught:
        gpu.launch(shift, (2,), torch.zeros(5), torch.zeros(8), 5, 0, BLOCK=4, MASK=False)
    assert str(caught.value).startswith("load reads 3 elements past the end of x (x spans 5 ")
    assert line_of(caught.value) == "v = tl.load(x + at + offset)  # no mask on the load"


@triton.jit
def atomics(counter, old, index):
    tl.atomic_add(counter + index, 1)
    tl.store(old, tl.atomic_cas(counter + index, 1, 5))


def test_atomics_work_and_are_checked(gpu: Gpu) -> None:
    counter, old = integers(2), integers(1)
    gpu.launch(atomics, (1,), counter, old, 1)
    assert (counter.tolist(), old.tolist()) == ([0, 5], [1])
    with pytest.raises(OutOfBounds, match="atomic updates 1 element before the start of counter"):
        gpu.launch(atomics, (1,), counter, old, -1)


@triton.jit
def every_atomic(x, bits, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    tl.atomic_max(out + 0 + at * 0, value, mask=inside)
    tl.atomic_min(out + 1 + at * 0, value, mask=inside)
    tl.atomic_add(out + 2 + at * 0, value, mask=inside, sem="relaxed")
    tl.atomic_xchg(out + 3 + at, value, mask=inside)
    number = at.to(tl.int32)
    tl.atomic_or(bits + at * 0, number, mask=inside)
    tl.atomic_and(bits + 1 + at * 0, number, mask=inside)
    tl.atomic_xor(bits + 2 + at * 0, number, mask=inside)


def test_every_kind_of_atomic(gpu: Gpu) -> None:
    x, out = torch.tensor([-3.0, 2.5, -0.5, 7.0, 1.0]), torch.zeros(8)
    bits = torch.tensor([0, -1, 0], dtype=torch.int32)
    gpu.launch(every_atomic, (1,), x, bits, out, 5, BLOCK=8)
    assert out.tolist() == [7.0, -3.0, 7.0, *x.tolist()]
    assert bits.tolist() == [7, 0, 1 ^ 2 ^ 3 ^ 4]


@triton.jit
def add_once(out, value):
    tl.atomic_add(out, value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_floats_of_other_sizes_are_added_and_rounded(gpu: Gpu, dtype: torch.dtype) -> None:
    out = torch.tensor([256.0]).to(dtype)
    gpu.launch(add_once, (3,), out, 1.0)
    assert out.item() == {torch.bfloat16: 256.0}.get(dtype, 259.0)


# --- races ----------------------------------------------------------------------------------------


@triton.jit
def each_its_number(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.zeros([BLOCK], tl.float32) + tl.program_id(0))  # all write there


@triton.jit
def neighbours(x):
    """In place, each from its neighbour: the next program's element, as it was or as it will be."""
    at = tl.program_id(0)
    v = tl.load(x + at + 1)  # the neighbour's
    tl.store(x + at, v)  # its own


@triton.jit
def first_clears(out):
    if tl.program_id(0) == 0:
        tl.store(out, 0.0)
    tl.atomic_add(out, 1.0)


@triton.jit
def one_reads_the_sum(total, out):
    tl.atomic_add(total, 1.0)
    if tl.program_id(0) == 0:
        tl.store(out, tl.load(total))


@triton.jit
def halves_of_one(out, wide):
    """The second program writes half of what the first one wrote as a whole."""
    if tl.program_id(0) == 0:
        tl.store(wide, 1)
    else:
        tl.store(out + 1, 7)


CHANCE = "programs run in any order, so it is left to chance which comes first"


def racing() -> dict[str, tuple[object, ...]]:
    """A kernel, its grid, its arguments and options: new ones for each test."""
    pair = integers(2)
    return {
        "another value": (each_its_number, (2,), [torch.zeros(4)], {"BLOCK": 4}),
        "read, then written": (neighbours, (3,), [torch.zeros(4)], {}),
        "cleared and added to": (first_clears, (2,), [torch.zeros(1)], {}),
        "added to and read": (one_reads_the_sum, (2,), [torch.zeros(1), torch.zeros(1)], {}),
        "parts": (halves_of_one, (2,), [pair, pair.view(torch.int64)], {}),
    }


MESSAGES = {
    "another value": (
        "program 1 writes another value to element 0 of out, which program 0 wrote in line NN "
        "(tl.store(out + at, tl.zeros([BLOCK], tl.float32) + tl.program_id(0))  # all write there)"
    ),
    "read, then written": (
        "program 1 writes element 1 of x, which program 0 read in line NN "
        "(v = tl.load(x + at + 1)  # the neighbour's)"
    ),
    "cleared and added to": (
        "program 1 updates element 0 of out, which program 0 wrote in line NN (tl.store(out, 0.0))"
    ),
    "added to and read": (
        "program 0 reads element 0 of total, which program 1 updated in line NN "
        "(tl.atomic_add(total, 1.0))"
    ),
    "parts": (
        "program 1 writes another value to element 1 of out, which program 0 wrote in line NN "
        "(tl.store(wide, 1))"
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_programs_that_race_are_reported_with_both_lines(gpu: Gpu, name: str) -> None:
    kernel, grid, arguments, options = racing()[name]
    with pytest.raises(Race) as caught:
        gpu.launch(kernel, grid, *arguments, **options)
    assert re.sub(r"line \d+", "line NN", str(caught.value)) == f"{MESSAGES[name]}: {CHANCE}"
    assert line_of(caught.value)


@triton.jit
def last_one_adds_up(x, partials, counter, out, BLOCK: tl.constexpr, SEM: tl.constexpr):
    """Each leaves a sum; who sees that all others have counted themselves adds them up."""
    program = tl.program_id(0)
    tl.store(partials + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(counter, 1, sem=SEM) == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(partials + tl.arange(0, 4))))


@triton.jit
def under_a_lock(lock, out):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def after_the_one_before(flags, out):
    """Each waits for the flag of the one before it, and takes over what that one left."""
    program = tl.program_id(0)
    before = 0.0
    if program > 0:
        while tl.load(flags + program - 1, volatile=True) == 0:
            pass
        before = tl.load(out + program - 1)
    tl.store(out + program, before + 1)
    tl.atomic_xchg(flags + program, 1)


@pytest.mark.parametrize("backwards", [False, True])
def test_atomics_order_programs(gpu: Gpu, backwards: bool) -> None:
    x, partials, out = torch.ones(16), torch.empty(4), torch.zeros(1)
    counter, lock = integers(1), integers(1)
    arguments = x, partials, counter, out
    gpu.launch(last_one_adds_up, (4,), *arguments, BLOCK=4, SEM="acq_rel", backwards=backwards)
    assert out.tolist() == [16.0]
    gpu.launch(under_a_lock, (5,), lock, count := torch.zeros(1), backwards=backwards)
    assert count.tolist() == [5.0]
    flags, steps = integers(4), torch.zeros(4)
    gpu.launch(after_the_one_before, (4,), flags, steps, backwards=backwards)
    assert steps.tolist() == [1.0, 2.0, 3.0, 4.0]
    counter.zero_()
    with pytest.raises(Race, match=r"reads element \d of partials, which program "):
        gpu.launch(last_one_adds_up, (4,), *arguments, BLOCK=4, SEM="relaxed", backwards=backwards)


@triton.jit
def last_number_adds_up(x, partials, counter, out):
    """Right only where programs end in the order of their numbers."""
    program = tl.program_id(0)
    tl.store(partials + program, tl.load(x + program))
    tl.atomic_add(counter, 1)
    if program == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(partials + tl.arange(0, 4))))


def test_programs_act_in_two_orders(gpu: Gpu) -> None:
    arrays = torch.ones(4), torch.empty(4), integers(1), torch.zeros(1)
    gpu.launch(last_number_adds_up, (4,), *arrays)
    with pytest.raises(Race, match="program 3 reads element 0 of partials, which program 0 wrote"):
        gpu.launch(last_number_adds_up, (4,), *arrays, backwards=True)


@triton.jit
def last_one_counts_anew(counter):
    if tl.atomic_add(counter, 1) == tl.num_programs(0) - 1:
        tl.store(counter, 0)  # after all updates: its own was the last


@triton.jit
def each_counts_anew(counter):
    tl.atomic_add(counter, 1)
    tl.store(counter, 0)


@pytest.mark.parametrize("backwards", [False, True])
def test_who_has_the_last_count_may_set_it_back(gpu: Gpu, backwards: bool) -> None:
    counter = integers(1)
    gpu.launch(last_one_counts_anew, (3,), counter, backwards=backwards)
    assert counter.item() == 0
    with pytest.raises(Race):
        gpu.launch(each_counts_anew, (3,), counter, backwards=backwards)


@triton.jit
def rows_in_place(x, columns, stride, BLOCK: tl.constexpr):
    """Reads its row twice, and writes it, in blocks."""
    row = x + tl.program_id(0) * stride
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(row + at, mask=at < columns, other=0.0))
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(row + at, mask=at < columns)
        tl.store(row + at, v - total, mask=at < columns)


@triton.jit
def gradients_of_weights(locks, partial, x, rows, BLOCK: tl.constexpr):
    """Sum rows in groups under a lock each, as in Triton's tutorial on layer normalization."""
    row = tl.program_id(0)
    group = row % 2
    lock, count = locks + group, locks + 2 + group
    at = tl.arange(0, BLOCK)
    sums = tl.load(x + row * BLOCK + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        sums += tl.load(partial + group * BLOCK + at)
    tl.store(partial + group * BLOCK + at, sums)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_honest_programs_do_not_race(gpu: Gpu) -> None:
    table = torch.ones(3, 8)[:, :6]
    gpu.launch(rows_in_place, (3,), table, 6, table.stride(0), BLOCK=4)
    assert (table == -5).all()
    x, partial, locks = torch.rand(7, 16), torch.full((2, 16), 99.0), integers(4)
    gpu.launch(gradients_of_weights, (7,), locks, partial, x, 7, BLOCK=16)
    torch.testing.assert_close(partial, torch.stack([x[::2].sum(0), x[1::2].sum(0)]))


def test_a_second_launch_comes_after_the_first(gpu: Gpu) -> None:
    out = torch.zeros(5)
    for _ in range(2):
        gpu.launch(each_its_number, (1,), out, BLOCK=4)
    gpu.launch(neighbours, (1,), out)
