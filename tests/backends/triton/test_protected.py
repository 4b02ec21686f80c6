"""The arguments' memory is closed to the worker, but while torch carries an operation out."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from grader.backends.triton.driver import protected as protected_memory
from grader.backends.triton.driver.host import Host, imitate
from grader.backends.triton.driver.protected import Opening, Protected
from grader.worker.bounds import Span
from grader.worker.torch_operations import Moving
from grader.worker.traffic_counter import Ledger

SIZE = 1 << 16  # bytes
OPEN, CLOSED = "rw-s", "---s"


def access(memory: torch.Tensor) -> str:
    """Return what Linux says that this process may do with memory."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, permissions, *_ = line.split()
        start, stop = (int(end, 16) for end in addresses.split("-"))
        if start <= memory.data_ptr() < stop:
            return permissions
    raise AssertionError("it is not mapped")


@pytest.fixture
def memory() -> torch.Tensor:
    return torch.frombuffer(mmap.mmap(-1, SIZE), dtype=torch.uint8)


@pytest.fixture
def protected(memory: torch.Tensor) -> Protected:
    return Protected(memory)


@pytest.fixture
def x(memory: torch.Tensor, protected: Protected) -> Iterator[torch.Tensor]:
    """An argument, in a process that takes itself for one with a GPU."""
    at = memory.data_ptr()
    host = Host(lambda: range(at, at + SIZE), protected.opened)
    with Opening(protected), imitate(host):
        yield memory[:64].view(torch.float32).view(4, 4)


def test_memory_is_open_while_anything_holds_it_open(memory: torch.Tensor, protected: Protected):
    assert access(memory) == CLOSED
    with protected.opened(memory):
        with pytest.raises(ZeroDivisionError), protected.opened(memory):
            raise ZeroDivisionError
        assert access(memory) == OPEN
    assert access(memory) == CLOSED


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x.fill_(2.0).sum().item() == 32,
        lambda x: x.tolist() == [[0.0] * 4] * 4,
        lambda x: f"{x} {x[0, 0]:.2f}".endswith("0.00"),
        lambda x: str([x]) == str([torch.zeros(4, 4)]),
        lambda x: x[x > 0].numel() == 0,
        lambda x: x.cpu().numpy().sum() == 0,
        lambda x: torch.equal(x, x.to("cpu").pin_memory().to(x.device)),
        lambda x: 0.0 in x and not bool(x[1, 1]),
        lambda x: all(row.max() == 0 for row in x),
    ],
)
def test_torch_reaches_an_argument(x: torch.Tensor, work: Callable[[torch.Tensor], bool]):
    assert work(x)
    assert access(x) == CLOSED


def test_an_operation_that_fails_leaves_memory_closed(x: torch.Tensor):
    with pytest.raises(RuntimeError, match="must match the size"):
        x + torch.ones(3, device=x.device)
    assert access(x) == CLOSED


def test_a_list_of_an_argument_is_counted(x: torch.Tensor):
    ledger = Ledger([(Span.of("x", x.data_ptr(), x.shape, x.stride(), 4), 4)])
    with Moving(ledger):
        x.tolist()
    assert ledger.facts()["reads.x"] == x.numel()


def test_only_the_pages_that_an_operation_takes_are_open(memory: torch.Tensor):
    protected = Protected(memory)
    first, *_, last = memory.split(mmap.PAGESIZE)
    with protected.opened([first[100:101]]):
        assert (access(first), access(last)) == (OPEN, CLOSED)
        with protected.opened({"out": last[-1:]}):
            assert (access(first), access(last)) == (OPEN, OPEN)
    assert (access(first), access(last)) == (CLOSED, CLOSED)


def test_a_tensor_across_pages_is_open_to_its_end(memory: torch.Tensor):
    protected = Protected(memory)
    rows = memory.as_strided((2, 1), (mmap.PAGESIZE, 1), 8)
    with protected.opened(rows):
        assert access(rows[1:]) == OPEN


def test_what_hides_its_parts_opens_everything(memory: torch.Tensor):
    class Own(torch.Tensor):
        pass

    with Protected(memory).opened(memory[:4].as_subclass(Own)):
        assert access(memory[-1:]) == OPEN


def test_a_view_opens_nothing(x: torch.Tensor, monkeypatch: pytest.MonkeyPatch):
    opened: list[range] = []
    monkeypatch.setattr(protected_memory, "_allow", lambda pages, access: opened.append(pages))
    x[1:].t().unsqueeze(0)
    assert opened == []


def test_inference_mode_changes_nothing(x: torch.Tensor):
    with torch.inference_mode():
        assert x.to(torch.float64).sum() == x.t().contiguous().reshape(-1)[0].item() == 0
        assert x.tolist() == x.cpu().tolist()
    assert access(x) == CLOSED
