"""Programs that wait for each other, in compiled kernels."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from grader.backends.triton.device.faults import Deadlock

from .launched import Gpu, simulated_gpu


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


@triton.jit
def chain(flags, out):
    """Each program waits for the one before it."""
    i = tl.program_id(0)
    if i > 0:
        while tl.atomic_add(flags + i - 1, 0) == 0:
            pass
        tl.store(out + i, tl.load(out + i - 1) + i)
    tl.atomic_xchg(flags + i, 1)


@pytest.mark.parametrize("backwards", [False, True])
def test_programs_wait_for_each_other(gpu: Gpu, backwards: bool) -> None:
    flags, out = torch.zeros(6, dtype=torch.int32), torch.zeros(6, dtype=torch.int32)
    gpu.launch(chain, (6,), flags, out, backwards=backwards)
    assert out.tolist() == [0, 1, 3, 6, 10, 15]


@triton.jit
def locked_increment(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total, volatile=True) + 1)
    tl.atomic_xchg(lock, 0)


def test_a_lock(gpu: Gpu) -> None:
    lock, total = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    gpu.launch(locked_increment, (9,), lock, total)
    assert total.item() == 9


def test_a_lock_that_nobody_releases_is_a_deadlock(gpu: Gpu) -> None:
    lock, total = torch.ones(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with pytest.raises(Deadlock, match="9 programs wait") as caught:
        gpu.launch(locked_increment, (9,), lock, total)
    assert caught.value.site is not None
    assert caught.value.site.line == locked_increment.fn.__code__.co_firstlineno + 2


@triton.jit
def meet(arrived, out, n):
    """A barrier: nobody goes on before all have arrived."""
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < n:
        pass
    tl.store(out + tl.program_id(0), 1)


def test_a_barrier_of_all_programs_that_fit_on_a_gpu(gpu: Gpu) -> None:
    arrived, out = torch.zeros(1, dtype=torch.int32), torch.zeros(300, dtype=torch.int32)
    gpu.launch(meet, (264,), arrived, out, 264, num_warps=32)
    assert int(out.sum()) == 264


def test_a_barrier_of_more_programs_than_fit_on_a_gpu_is_a_deadlock(gpu: Gpu) -> None:
    """An H100 holds two programs of 32 warps in each of its 132 processors."""
    arrived, out = torch.zeros(1, dtype=torch.int32), torch.zeros(300, dtype=torch.int32)
    with pytest.raises(Deadlock, match="264 programs wait in this loop, and 36 more"):
        gpu.launch(meet, (300,), arrived, out, 300, num_warps=32)


@triton.jit
def wait_for_a_flag(flag, out):
    if tl.program_id(0) == 0:
        while tl.load(flag, volatile=True) == 0:
            pass
        tl.store(out, 5)
    else:
        tl.atomic_xchg(flag, 1)


def test_a_volatile_load_sees_what_another_program_writes(gpu: Gpu) -> None:
    flag, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    gpu.launch(wait_for_a_flag, (2,), flag, out)
    assert out.item() == 5


@triton.jit
def wait_a_while(flag, out):
    turns = 0
    while (tl.load(flag, volatile=True) == 0) & (turns < 50):
        turns += 1
    tl.store(out, turns)


def test_a_wait_with_an_end_is_no_deadlock(gpu: Gpu) -> None:
    flag, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    gpu.launch(wait_a_while, (1,), flag, out)
    assert out.item() == 50


@pytest.mark.slow
def test_joining_shapes_imports_no_sympy():
    """torch.broadcast_shapes imports it, which takes each forked device half a second."""
    code = (
        "import sys, torch\n"
        "from grader.backends.triton.device import values\n"
        "one, wide = torch.zeros(1, 1), torch.ones(2, 4)\n"
        "rows = torch.tensor([0]), torch.tensor([1, 2])\n"
        "assert values.merged([(rows[0], one), (rows[1], wide)], 3).shape == (3, 4)\n"
        "assert values.joined([one, wide], [1, 2]).shape == (3, 4)\n"
        "print('sympy' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert said.split() == ["False"]
