"""What is counted of launches: elements of arguments, and the figures of budgets."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.backends.triton.device.access import Kind
from grader.backends.triton.device.faults import OutOfBounds
from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.serial import update
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.traffic import Traffic

from .memories import access, mapping_of, span_of


class Counted:
    """Memory of a float32 `x` and a float16 `out`, whose traffic is counted."""

    def __init__(self, elements: int = 4096, programs: int = 8) -> None:
        # At an address of a sector's start, as a GPU's allocations are.
        self.arena = torch.zeros(elements * 6 + 512, dtype=torch.uint8)
        start = -self.arena.data_ptr() % 256
        self.x = self.arena[start : start + 4 * elements].view(torch.float32)
        self.out = self.arena[start + 4 * elements + 128 :][: 2 * elements].view(torch.float16)
        spans = [span_of("x", self.x), span_of("out", self.out)]
        self.traffic = Traffic([(spans[0], 4), (spans[1], 2)])
        self.traffic.begin(programs)
        self.memory = Memory([mapping_of(self.arena)], spans, traffic=self.traffic)

    def see(
        self,
        kind: Kind,
        index: Tensor,
        mask: Tensor | None = None,
        tensor: Tensor | None = None,
        programs: list[int] | None = None,
        line: int = 1,
    ) -> None:
        who = None if programs is None else torch.tensor(programs)
        one = access(kind, self.x if tensor is None else tensor, index, mask, who, line)
        if kind == "store":
            self.memory.store(one, torch.zeros(1, *[1] * (index.ndim - 1), dtype=one.dtype))
        elif kind == "atomic":
            ones = torch.ones(1, *[1] * (index.ndim - 1), dtype=one.dtype)
            self.memory.atomic(
                one, lambda *parts: update(*parts, combine=lambda old, new: new), ones
            )
        else:
            self.memory.load(one)

    def facts(self) -> dict[str, int]:
        return self.traffic.facts(Source("kernel.py").line_of)

    def elements(self) -> dict[str, int]:
        return {name: n for name, n in self.facts().items() if name[:5] in ("reads", "write") and n}

    def transactions(self) -> tuple[int, int, int]:
        facts = self.facts()
        worst, lanes = facts.get("worst.transactions", 0), facts.get("threads.transactions", 0)
        return facts["counts.transactions"], worst, lanes


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        ("load", {"reads.x": 3}),
        ("volatile", {"reads.x": 3}),
        ("store", {"writes.x": 3}),
        ("atomic", {"reads.x": 3, "writes.x": 3}),
    ],
)
def test_an_access_counts_in_its_direction(kind: Kind, counts: dict[str, int]) -> None:
    counted = Counted()
    counted.see(kind, torch.tensor([[0, 1, 9]]))
    assert counted.elements() == counts


def test_masked_lanes_do_not_count() -> None:
    counted = Counted()
    mask = torch.tensor([[True, False, True], [False, False, True]])
    counted.see("load", torch.tensor([[0, 1, 2], [3, 4, 5]]), mask)
    counted.see("store", torch.tensor([[0, 1, 2]]), torch.zeros(1, 3, dtype=torch.bool))
    assert counted.elements() == {"reads.x": 3}


def test_what_is_the_same_for_all_programs_counts_for_each() -> None:
    counted = Counted()
    counted.see("load", torch.tensor([[0, 1, 2]]), programs=[0, 1, 2, 3])
    counted.see("store", torch.tensor([[5]]), programs=[0, 1, 2, 3])
    assert counted.elements() == {"reads.x": 12, "writes.x": 4}
    assert counted.facts()["counts.transactions"] == 8


def test_one_access_may_touch_two_arguments() -> None:
    counted = Counted()
    gap = (counted.out.data_ptr() - counted.x.data_ptr()) // 2
    counted.see("load", torch.tensor([[0, 1, gap]]), tensor=counted.x.view(torch.float16))
    assert counted.facts()["reads.out"] == 1
    assert counted.facts()["reads.x"] == 1, "two halves"


def test_wide_and_narrow_accesses_count_the_elements_that_their_bytes_make() -> None:
    counted = Counted()
    counted.see("load", torch.tensor([[0, 1, 2]]), tensor=counted.x.view(torch.float64))
    counted.see("store", torch.arange(20)[None], tensor=counted.out.view(torch.int8))
    assert counted.elements() == {"reads.x": 6, "writes.out": 10}


def test_what_is_refused_is_not_counted() -> None:
    counted = Counted(elements=64)
    with pytest.raises(OutOfBounds):
        counted.see("load", torch.tensor([[63, 64]]))
    assert counted.elements() == {}


# --- budgets --------------------------------------------------------------------------------------


def test_the_busiest_program_and_its_busiest_line() -> None:
    counted = Counted(programs=4)
    counted.see("load", torch.arange(64).view(2, 32), programs=[0, 1], line=3)
    counted.see("load", torch.arange(8)[None], programs=[1], line=4)
    counted.see("store", torch.arange(8)[None], programs=[3], line=5)
    counted.see("atomic", torch.tensor([[0]]), programs=[3], line=6)
    facts = counted.facts()
    assert facts["counts.programs"] == 4
    assert (facts["counts.loads"], facts["line.loads"]) == (2, 3)
    assert (facts["counts.stores"], facts["line.stores"]) == (2, 5)
    assert (facts["counts.bytes"], facts["line.bytes"]) == (160, 3)


def test_several_launches() -> None:
    """Programs and transactions add up; the busiest program is that of any launch."""
    counted = Counted(programs=4)
    counted.see("load", torch.arange(32)[None], line=3)
    counted.traffic.begin(3)
    counted.see("load", torch.arange(32)[None], line=4)
    counted.see("load", torch.arange(32)[None], line=4)
    counted.traffic.begin(2)
    counted.see("load", torch.arange(32)[None], line=5)
    facts = counted.facts()
    assert facts["counts.programs"] == 9
    assert (facts["counts.loads"], facts["line.loads"]) == (2, 4)
    assert facts["counts.transactions"] == 16
    assert counted.facts() == facts


def test_a_program_without_active_lanes_makes_no_access() -> None:
    counted = Counted()
    mask = torch.tensor([[True, True], [False, False]])
    for _ in range(3):
        counted.see("load", torch.tensor([[0, 1], [2, 3]]), mask, programs=[0, 1])
    counted.see("load", torch.tensor([[0]]), programs=[1])
    assert counted.facts()["counts.loads"] == 3


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (torch.arange(64), (8, 4, 32)),
        (torch.arange(64) + 1, (10, 5, 32)),
        (torch.arange(32) * 2, (8, 8, 32)),
        (torch.arange(32) * 64, (32, 32, 32)),
        (torch.arange(32).flip(0), (4, 4, 32)),
        (torch.zeros(32), (1, 1, 32)),
        (torch.arange(4), (1, 1, 4)),
        (torch.tensor([0, 100, 0, 100]), (2, 2, 4)),
    ],
    ids=["adjacent", "shifted", "pairs", "columns", "reversed", "one", "few", "there and back"],
)
def test_sectors_of_a_warp(index: Tensor, expected: tuple[int, int, int]) -> None:
    counted = Counted()
    counted.see("load", index[None])
    assert counted.transactions() == expected


def test_lanes_follow_the_axis_along_which_memory_does() -> None:
    """The compiler lays a block out so that the lanes of a warp take adjacent elements."""
    rows, columns = torch.arange(32)[:, None], torch.arange(32)[None, :]
    for index in (rows * 64 + columns, columns * 64 + rows):
        counted = Counted()
        counted.see("load", index[None])
        assert counted.transactions() == (128, 4, 32)
    counted = Counted()
    counted.see("load", (rows * 64 + columns * 2)[None])
    assert counted.transactions() == (256, 8, 32)


@pytest.mark.slow
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 1000), st.booleans()), min_size=64, max_size=64),
        min_size=1,
        max_size=3,
    )
)
def test_sectors_are_those_of_a_set(drawn: list[list[tuple[int, bool]]]) -> None:
    counted = Counted()
    index = torch.tensor([[at for at, _ in row] for row in drawn])
    mask = torch.tensor([[active for _, active in row] for row in drawn])
    counted.see("load", index, mask)
    requests = [
        {(counted.x.data_ptr() + 4 * at) // 32 for at, active in row[i : i + 32] if active}
        for row in drawn
        for i in (0, 32)
    ]
    total, worst, _ = counted.transactions()
    assert (total, worst) == (sum(map(len, requests)), max(map(len, requests)))


def test_a_program_that_acts_for_each_lane_counts_as_often() -> None:
    counted = Counted(programs=3)
    counted.see("load", torch.arange(5).view(5, 1), programs=[2, 2, 2, 0, 0])
    facts = counted.facts()
    assert (facts["counts.loads"], facts["counts.bytes"]) == (3, 12)
