"""The budget of operations of a call, and the two ends of a loop: one too long, one without end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from grader.backends.triton.device import effort
from grader.backends.triton.device.effort import Effort
from grader.backends.triton.device.faults import Deadlock, TooManyOperations

from .launched import Gpu, simulated_gpu


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


@triton.jit
def one_by_one(x, out, n):
    for i in range(n):
        tl.store(out + i, tl.load(x + i))


@triton.jit
def in_blocks(x, out, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


def test_a_loop_over_single_elements_ends_where_blocks_do_not(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effort, "MOST_IN_A_CALL", 2000)
    x, out = torch.rand(1000), torch.zeros(1000)
    with pytest.raises(TooManyOperations, match="one call takes more than 2,000") as caught:
        gpu.launch(one_by_one, (1,), x, out, 1000)
    assert caught.value.site is not None
    assert caught.value.site.line == one_by_one.fn.__code__.co_firstlineno + 2
    gpu.launch(in_blocks, (1,), x, out, 1000, BLOCK=16)
    assert torch.equal(out, x)


@triton.jit
def loop_without_a_body(out):
    i = 0
    while i < 10:
        if i > 20:
            i += 1
    tl.store(out, i)


@triton.jit
def index_that_stays(x, out, n):
    i = 0
    total = 0.0
    while i < n:
        total = tl.maximum(total, tl.load(x + i))
    tl.store(out, total)


def test_a_loop_whose_turns_change_nothing_never_ends(gpu: Gpu) -> None:
    with pytest.raises(Deadlock, match="never ends"):
        gpu.launch(loop_without_a_body, (1,), torch.zeros(1))
    with pytest.raises(Deadlock, match="never ends") as caught:
        gpu.launch(index_that_stays, (1,), torch.ones(4), torch.zeros(1), 4)
    assert caught.value.site is not None


@triton.jit
def counts_in_memory(out, n):
    while tl.load(out) < n:
        tl.store(out, tl.load(out) + 1)


def test_a_loop_that_changes_memory_alone_may_end(gpu: Gpu) -> None:
    out = torch.zeros(1, dtype=torch.int32)
    gpu.launch(counts_in_memory, (1,), out, 600)
    assert out.item() == 600


def test_operations_of_all_calls_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST_IN_A_CALL", 10)
    monkeypatch.setattr(effort, "MOST_IN_ALL", 25)
    spent = Effort()
    for _ in range(2):
        spent.begin_call()
        spent.spend(10)
    spent.begin_call()
    spent.spend(5)
    with pytest.raises(TooManyOperations, match="together"):
        spent.spend(1)
    spent = Effort()
    with pytest.raises(TooManyOperations, match="one call"):
        spent.spend(11)
