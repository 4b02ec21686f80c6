"""Races of tiles whose addresses are sums, of which only bounds are known at first."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader.backends.triton.device.access import Access
from grader.backends.triton.device.faults import Race
from grader.backends.triton.device.mappings import Mapping
from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.races import Races
from grader.backends.triton.device.sums import Sum, added
from grader.backends.triton.device.ttir.records import Site
from grader.worker.bounds import Span

BASE = 1 << 20
X, OUT = Span(BASE + 64, BASE + 4064, "x"), Span(BASE + 8192, BASE + 88192, "out")
BOTH, FIRST, SECOND = (torch.tensor(programs) for programs in ([0, 1], [0], [1]))


def memory() -> Memory:
    spans = [X, OUT]
    return Memory(
        [Mapping(BASE, np.zeros(100_000, np.uint8))], spans, races=Races(spans, (2, 1, 1))
    )


def access(
    kind: str,
    addresses: torch.Tensor | Sum,
    programs: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> Access:
    return Access(
        kind=kind,
        addresses=addresses,
        mask=mask,
        dtype=torch.float32,
        programs=programs,
        site=Site(),
    )


def load_a_tile_that_begins_before_x(memory: Memory) -> None:
    """Both programs load elements row * 100 - 5 + column of x, where that is 0 or more.

    The sum of the lowest row and the lowest column lies below x, the first array of the memory.
    """
    rows, columns = torch.arange(8).view(1, 8, 1) * 100 - 5, torch.arange(32).view(1, 1, 32)
    tile = added(X.start + rows * 4, columns, 4)
    assert isinstance(tile, Sum)
    memory.load(access("load", tile, BOTH, rows + columns >= 0))


def test_a_store_races_with_a_tile_that_another_program_loaded() -> None:
    ours = memory()
    load_a_tile_that_begins_before_x(ours)
    first = torch.tensor([[X.start]])
    with pytest.raises(Race):
        ours.store(access("store", first, FIRST), torch.ones(1, 1))


def test_a_tile_of_one_array_is_not_noted_in_another() -> None:
    ours = memory()
    load_a_tile_that_begins_before_x(ours)
    ours.load(access("load", torch.tensor([[OUT.stop - 4]]), SECOND))
    whole = torch.arange(OUT.start, OUT.stop, 4)[None]
    ours.store(access("store", whole, SECOND), torch.ones(whole.shape))
