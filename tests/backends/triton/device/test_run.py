"""Control flow that differs from program to program, in compiled kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
import triton
import triton.language as tl

from grader.backends.triton.device.faults import Deadlock, NotSimulated
from grader.backends.triton.device.plan import BlockPlan, Step
from grader.backends.triton.device.run import Launch, Run
from grader.backends.triton.device.ttir.records import Operation

from .launched import Gpu, simulated_gpu
from .single import execute


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


NO_MEMORY = RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 4 TB")


@pytest.mark.parametrize(
    ("error", "raised"),
    [(KeyError("x"), NotSimulated), (MemoryError(), MemoryError), (NO_MEMORY, RuntimeError)],
)
def test_an_error_in_an_operation_is_not_simulated_unless_memory_ran_out(
    error: Exception, raised: type[Exception]
) -> None:
    def fail(op: Operation, operands: object, run: object) -> None:
        raise error

    step = Step(Operation("tt.load"), fail, ())
    plan = BlockPlan("bb0", (), {}, (step,), Operation("tt.return"), (), frozenset())
    program, memory = cast(Any, None), cast(Any, None)
    with pytest.raises(raised):
        Run(Launch(program, (1, 1, 1), memory), torch.arange(1)).steps(plan, ())


@triton.jit
def collatz_steps(starts, steps):
    i = tl.program_id(0)
    number = tl.load(starts + i)
    count = 0
    while number != 1:
        if number % 2 == 0:
            number = number // 2
        else:
            number *= 3
            number += 1
        count += 1
    tl.store(steps + i, count)


def test_unsigned_bounds_of_a_loop_are_not_simulated() -> None:
    with pytest.raises(NotSimulated, match="unsigned bounds"):
        execute("scf.for", *[torch.ones(1, dtype=torch.int32)] * 3, unsignedCmp=True)


def test_loops_of_different_length(gpu: Gpu) -> None:
    def steps(number: int) -> int:
        return 0 if number == 1 else 1 + steps(number // 2 if number % 2 == 0 else 3 * number + 1)

    starts = torch.arange(1, 41, dtype=torch.int32)
    found = torch.full_like(starts, -1)
    gpu.launch(collatz_steps, (40,), starts, found)
    assert found.tolist() == [steps(number) for number in starts.tolist()]


@triton.jit
def row_sums(values, starts, sums, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.load(starts + row), tl.load(starts + row + 1), BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(values + at, mask=at < tl.load(starts + row + 1), other=0.0)
    tl.store(sums + row, tl.sum(total))


def test_bounds_that_differ(gpu: Gpu) -> None:
    """Rows of a sparse matrix; one is empty, and some end together."""
    lengths = [0, 5, 17, 4, 4, 100, 17]
    starts = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    values = torch.arange(int(starts[-1]), dtype=torch.float32)
    sums = torch.full((len(lengths),), -1.0)
    gpu.launch(row_sums, (len(lengths),), values, starts, sums, BLOCK=8)
    assert sums.tolist() == [float(each.sum()) for each in values.split(lengths)]


@triton.jit
def persistent_double(x, out, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("programs", [1, 3, 7, 20])
@pytest.mark.parametrize("backwards", [False, True])
def test_persistent_loops(gpu: Gpu, programs: int, backwards: bool) -> None:
    x = torch.arange(100.0)
    out = torch.full_like(x, -1)
    gpu.launch(persistent_double, (programs,), x, out, 100, BLOCK=8, backwards=backwards)
    assert torch.equal(out, 2 * x)


@triton.jit
def early_return(x, out, n):
    i = tl.program_id(0)
    if i >= n:
        return
    value = tl.load(x + i)
    if value < 0:
        tl.store(out + i, 0.0)
        return
    tl.store(out + i, tl.sqrt(value))


def test_early_returns(gpu: Gpu) -> None:
    x = torch.tensor([4.0, -1.0, 9.0, -5.0, 16.0])
    out = torch.full((8,), -7.0)
    gpu.launch(early_return, (8,), x, out, 5)
    assert out.tolist() == [2.0, 0.0, 3.0, 0.0, 4.0, -7.0, -7.0, -7.0]


@triton.jit
def rejoining(x, out, n):
    i = tl.program_id(0)
    value = tl.load(x + i)
    if i % 2 == 0:
        if i >= n:
            return
        value += 100
        label = 1
    else:
        label = i
    tl.store(out + i, value * 10 + label)


def test_programs_meet_again_after_an_early_return(gpu: Gpu) -> None:
    x = torch.arange(8, dtype=torch.int32)
    out = torch.full_like(x, -1)
    gpu.launch(rejoining, (8,), x, out, 6)
    assert out.tolist() == [1001, 11, 1021, 33, 1041, 55, -1, 77]


@triton.jit
def nested_branches(x, out):
    i = tl.program_id(0)
    value = tl.load(x + i)
    if value > 0:
        if value > 10:
            tl.store(out + 2 * i, 2)
            value = value * 2
        else:
            tl.store(out + 2 * i, 1)
    elif value < -10:
        tl.store(out + 2 * i, -2)
        value = 0
    tl.store(out + 2 * i + 1, value)


def test_nested_branches_with_stores(gpu: Gpu) -> None:
    x = torch.tensor([5, 50, -5, -50, 0], dtype=torch.int32)
    out = torch.full((10,), 9, dtype=torch.int32)
    gpu.launch(nested_branches, (5,), x, out)
    assert out.tolist() == [1, 5, 2, 100, 9, -5, -2, 0, 9, 0]


@triton.jit
def branch_between_tensors(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    at = i * BLOCK + tl.arange(0, BLOCK)
    if i % 3 == 0:
        values = tl.load(x + at)
        values += 1
    else:
        values = tl.zeros([BLOCK], tl.float32)
    tl.store(out + at, values)


def test_a_branch_gives_a_tensor_in_one_case_and_a_splat_in_the_other(gpu: Gpu) -> None:
    x = torch.arange(1.0, 21.0)
    out = torch.empty_like(x)
    gpu.launch(branch_between_tensors, (5,), x, out, BLOCK=4)
    expected = (x.reshape(5, 4) + 1) * torch.tensor([[1], [0], [0], [1], [0]])
    assert torch.equal(out.reshape(5, 4), expected)


@triton.jit(noinline=True)
def larger(a, b):
    if a > b:
        return a
    return b


@triton.jit
def call_a_function(x, out):
    i = tl.program_id(0)
    tl.store(out + i, larger(tl.load(x + i), 3))


def test_a_function_that_returns_early(gpu: Gpu) -> None:
    x = torch.tensor([5, 1, 4, -2], dtype=torch.int32)
    out = torch.empty_like(x)
    gpu.launch(call_a_function, (4,), x, out)
    assert out.tolist() == [5, 3, 4, 3]


@triton.jit
def places(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    width, height = tl.num_programs(0), tl.num_programs(1)
    tl.store(out + (z * height + y) * width + x, 100 * z + 10 * y + x)


@pytest.mark.parametrize("grid", [(4, 3, 2), (1, 3, 2), (4, 1, 2), (4, 3, 1), (1, 1, 5), (1, 1, 1)])
def test_program_ids(gpu: Gpu, grid: tuple[int, int, int]) -> None:
    x, y, z = grid
    out = torch.full((x * y * z,), -1, dtype=torch.int32)
    gpu.launch(places, grid, out)
    assert out.tolist() == [
        100 * k + 10 * j + i for k in range(z) for j in range(y) for i in range(x)
    ]


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def test_many_programs_run_in_several_chunks(gpu: Gpu) -> None:
    x = torch.zeros(1_000_003)
    gpu.launch(add_one, (triton.cdiv(len(x), 1024),), x, len(x), BLOCK=1024)
    assert (x == 1).all()


@triton.jit
def endless(out, step):
    for i in range(0, 10, step):
        tl.store(out + i, i)


def test_a_loop_that_does_not_advance_never_ends(gpu: Gpu) -> None:
    out = torch.zeros(10, dtype=torch.int32)
    with pytest.raises(Deadlock, match="its step is 0"):
        gpu.launch(endless, (1,), out, 0)
