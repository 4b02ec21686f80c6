"""What is counted of a simulated call: by address, and for torch operations as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from grader.worker.bounds import Access, AddressGuard, OutOfBounds, Span
from grader.worker.torch_operations import Moving
from grader.worker.traffic_counter import Ledger

pytestmark = pytest.mark.slow

INSIDE = Path(__file__).parents[1] / "simulated" / "counted_kernels.py"

X = Span(1000, 1000 + 4 * 10, "x")  # ten elements of 4 bytes
OUT = Span(8000, 8000 + 2 * 10, "out")  # ten of 2


def facts(**counts: int) -> dict[str, int]:
    """`reads_x=3` for 3 elements of x read; what is not named is 0."""
    nothing = dict.fromkeys(("reads.x", "writes.x", "reads.out", "writes.out"), 0)
    return nothing | {name.replace("_", "."): count for name, count in counts.items()}


def test_kernels_in_tritons_interpreter():
    environment = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", TRITON_INTERPRET="1")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(INSIDE)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


# -- by address


def at(span: Span, *offsets: int) -> np.ndarray:
    return np.array([span.start + offset for offset in offsets], dtype=np.uint64)


@pytest.mark.parametrize(
    ("what", "counts"),
    [
        ("load", {"reads_x": 3}),
        ("store", {"writes_x": 3}),
        ("atomic", {"reads_x": 3, "writes_x": 3}),
    ],
)
def test_an_access_counts_in_its_direction(what: Access, counts: dict[str, int]):
    ledger = Ledger([(X, 4), (OUT, 2)])
    ledger.note(at(X, 0, 4, 36), 4, what)
    assert ledger.facts() == facts(**counts)


def test_one_access_may_touch_two_arguments_and_scratch():
    ledger = Ledger([(X, 4), (OUT, 2)])
    ledger.note(np.concatenate([at(X, 0, 4), at(OUT, 0), at(OUT, -2, 20)]), 2, "load")
    assert ledger.facts() == facts(reads_x=1, reads_out=1)


def test_wide_and_narrow_accesses_count_the_elements_that_their_bytes_make():
    ledger = Ledger([(X, 4), (OUT, 2)])
    ledger.note(at(X, 0, 8, 16), 8, "load")  # pairs
    ledger.note(at(OUT, *range(20)), 1, "store")  # bytes
    assert ledger.facts() == facts(reads_x=6, writes_out=10)


def test_what_the_guard_refuses_is_not_counted():
    guard, ledger = AddressGuard(), Ledger([(X, 4)])
    guard.allow([X])
    guard.observer = ledger.note
    guard.check(at(X, 0), 4, "load")
    with pytest.raises(OutOfBounds):
        guard.check(at(X, 36, 40), 4, "load")
    guard.check(np.array([], dtype=np.uint64), 4, "load")
    assert ledger.facts() == {"reads.x": 1, "writes.x": 0}


# -- torch operations


def counted(work: Callable[[Tensor, Tensor], object]) -> dict[str, int]:
    """What `work` moves of x and out, each of 3 rows of 4 elements."""
    x, out = torch.rand(3, 4), torch.empty(3, 4)
    ledger = Ledger(
        (Span(tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes, name), 4)
        for name, tensor in (("x", x), ("out", out))
    )
    with Moving(ledger):
        work(x, out)
    return ledger.facts()


@pytest.mark.parametrize(
    ("work", "counts"),
    [
        (lambda x, out: x.sum(), {"reads_x": 12}),
        (lambda x, out: x[:2].sum(), {"reads_x": 8}),
        (lambda x, out: x * x, {"reads_x": 24}),
        (lambda x, out: x.clone(), {"reads_x": 12}),
        (lambda x, out: x.tolist(), {"reads_x": 0}),  # no operation: see test_traffic.py
        (lambda x, out: torch.cat([x, x]), {"reads_x": 24}),
        (lambda x, out: out.copy_(x), {"reads_x": 12, "writes_out": 12}),
        (lambda x, out: out.fill_(1.0), {"writes_out": 12}),
        (lambda x, out: out.zero_(), {"writes_out": 12}),
        (lambda x, out: out.add_(x), {"reads_x": 12, "reads_out": 12, "writes_out": 12}),
        (lambda x, out: torch.exp(x, out=out), {"reads_x": 12, "writes_out": 12}),
        (lambda x, out: torch.softmax(x, -1, out=out), {"reads_x": 12, "writes_out": 12}),
        (lambda x, out: out.__setitem__((slice(None), 0), 1.0), {"writes_out": 3}),
        (lambda x, out: x.double().sum(), {"reads_x": 12}),
    ],
)
def test_an_operation_touches_every_element_of_what_it_gets(
    work: Callable[[Tensor, Tensor], object], counts: dict[str, int]
):
    assert counted(work) == facts(**counts)


@pytest.mark.parametrize(
    "work",
    [
        lambda x, out: x[1:],
        lambda x, out: x.view(4, 3).reshape(12),
        lambda x, out: x.view(torch.int32),
        lambda x, out: x.t().unsqueeze(0).expand(5, 4, 3),
        lambda x, out: x.split(2),
        lambda x, out: x.detach(),
        lambda x, out: (x.shape, x.stride(), x.numel(), x.data_ptr(), x.is_contiguous()),
        lambda x, out: (torch.empty_like(x), torch.zeros_like(x), x.new_empty(3), x.new_ones(3)),
        lambda x, out: x.contiguous(),
    ],
)
def test_a_view_moves_nothing(work: Callable[[Tensor, Tensor], object]):
    assert counted(work) == facts()


def test_tensors_of_the_entrys_own_are_not_counted():
    assert counted(lambda x, out: torch.ones(5).add_(2).sum()) == facts()
