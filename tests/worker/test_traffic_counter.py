"""What is counted of torch operations in a simulated call: each as a whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.worker.bounds import Span
from grader.worker.torch_operations import Moving
from grader.worker.traffic_counter import Ledger

pytestmark = pytest.mark.slow


def facts(**counts: int) -> dict[str, int]:
    """`reads_x=3` for 3 elements of x read; what is not named is 0."""
    nothing = dict.fromkeys(("reads.x", "writes.x", "reads.out", "writes.out"), 0)
    return nothing | {name.replace("_", "."): count for name, count in counts.items()}


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
        (lambda x, out: x.tolist(), {"reads_x": 0}),  # no operation: see test_protected.py
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


@pytest.mark.parametrize(
    ("work", "counts"),
    [
        (lambda x, out: x.to(torch.float64), {"reads_x": 12}),
        (lambda x, out: x.t().contiguous(), {"reads_x": 12}),
        (lambda x, out: x.t().reshape(12), {"reads_x": 12}),
        (lambda x, out: x[0, 0].item(), {"reads_x": 1}),
        (lambda x, out: (x.contiguous(), x.to(x.dtype), x.reshape(12), x.flatten(), x.T), {}),
    ],
)
def test_inference_mode_hides_no_copy_and_invents_none(
    work: Callable[[Tensor, Tensor], object], counts: dict[str, int]
):
    def inferred(x: Tensor, out: Tensor) -> object:
        with torch.inference_mode():
            return work(x, out)

    assert counted(inferred) == facts(**counts)


def test_tensors_of_the_entrys_own_are_not_counted():
    assert counted(lambda x, out: torch.ones(5).add_(2).sum()) == facts()
