"""Races between programs that execute together: what is refused, with its words, and what not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from grader.backends.triton.device.faults import Race
from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.order import Order
from grader.backends.triton.device.races import Races
from grader.backends.triton.device.serial import update
from grader.backends.triton.device.sites import Source

from .memories import access, mapping_of, span_of

LINES = tuple(f"text {line}" for line in range(1, 10))
CHANCE = "programs run in any order, so it is left to chance which comes first"


def add(held: np.ndarray, places: np.ndarray, by: np.ndarray) -> np.ndarray:
    return update(held, places, by, combine=np.add)


class Launch:
    """Memory of a launch with programs of one grid, and accesses by several of them at once."""

    def __init__(self, grid: tuple[int, int, int] = (8, 1, 1), **tensors: Tensor) -> None:
        spans = [span_of(name, tensor) for name, tensor in tensors.items()]
        mappings = {each.start: each for each in map(mapping_of, tensors.values())}
        races = Races(spans, grid, Source("kernel.py", LINES))
        self.memory = Memory(list(mappings.values()), spans, races)

    def load(
        self, line: int, tensor: Tensor, programs: list[int], index: list[list[int]], **options: str
    ) -> Tensor:
        kind = "volatile" if options.pop("volatile", "") else "load"
        at, who = torch.tensor(index), torch.tensor(programs)
        return self.memory.load(access(kind, tensor, at, programs=who, line=line))

    def store(
        self,
        line: int,
        tensor: Tensor,
        programs: list[int],
        index: list[list[int]],
        values: list[list[float]],
    ) -> None:
        stored = torch.tensor(values, dtype=tensor.dtype)
        at, who = torch.tensor(index), torch.tensor(programs)
        self.memory.store(access("store", tensor, at, programs=who, line=line), stored)

    def add(
        self, line: int, tensor: Tensor, programs: list[int], index: list[int], order: str
    ) -> list[int]:
        at, who = torch.tensor(index), torch.tensor(programs)
        one = access("atomic", tensor, at, programs=who, line=line, order=order)
        found = self.memory.atomic(one, add, torch.ones(1, dtype=tensor.dtype))
        return [int(each) for each in found]


def integers(count: int) -> Tensor:
    return torch.zeros(count, dtype=torch.int32)


def test_rows_of_one_store_that_overlap() -> None:
    x = torch.zeros(8)
    rows = [[0, 1, 2, 3], [2, 3, 4, 5]]
    Launch(x=x).store(1, x, [0, 1], rows, [[5, 6, 7, 8], [7, 8, 9, 10]])
    with pytest.raises(Race, match="program 1 writes another value to element 2 of x, which"):
        Launch(x=x).store(2, x, [0, 1], rows, [[5, 6, 7, 8], [5, 6, 7, 8]])


def test_elements_of_two_sizes() -> None:
    x = torch.zeros(8)
    launch = Launch(x=x)
    launch.store(1, x, [0], [[7]], [[1]])
    launch.store(2, x.view(torch.float64), [1, 2], [[0], [1]], [[1], [2]])
    assert launch.load(3, x, [1], [[1]]).tolist() == [[1.875]]
    with pytest.raises(Race, match=r"program 4 reads element 3 of x, which program 2 wrote"):
        launch.load(4, x, [4], [[3]])


def test_the_first_of_many_accesses() -> None:
    x = torch.zeros(2000)
    launch = Launch(x=x)
    for i in range(2000):
        launch.store(1, x, [i % 3], [[i]], [[1]])
    with pytest.raises(Race, match="program 4 reads element 1 of x, which program 1 wrote"):
        launch.load(2, x, [4], [[1]])


def test_another_value_in_one_store() -> None:
    out = torch.zeros(4)
    launch = Launch(out=out)
    with pytest.raises(Race) as caught:
        launch.store(3, out, [0, 1], [[0, 1], [0, 1]], [[0.0], [1.0]])
    assert str(caught.value) == (
        "program 1 writes another value to element 0 of out, which program 0 wrote in line 3 "
        f"(text 3): {CHANCE}"
    )
    assert caught.value.site is not None
    assert caught.value.site.line == 3
    assert out.tolist() == [0.0] * 4, "the store that is refused writes nothing"


def test_another_value_in_a_later_store() -> None:
    out = torch.zeros(4)
    launch = Launch((2, 4, 1), out=out)
    launch.store(3, out, [5], [[2]], [[1.0]])
    launch.store(4, out, [6], [[2]], [[1.0]])
    with pytest.raises(Race) as caught:
        launch.store(5, out, [0], [[2]], [[2.0]])
    assert str(caught.value) == (
        "program (0, 0) writes another value to element 2 of out, which program (0, 3) wrote in "
        f"line 4 (text 4): {CHANCE}"
    )


def test_read_and_then_written() -> None:
    """In place, each from its neighbour: the next program's element."""
    x = torch.zeros(4)
    launch = Launch(x=x)
    launch.load(1, x, [0, 1, 2], [[1], [2], [3]])
    with pytest.raises(Race) as caught:
        launch.store(2, x, [0, 1, 2], [[0], [1], [2]], [[0.0], [0.0], [0.0]])
    assert str(caught.value) == (
        f"program 1 writes element 1 of x, which program 0 read in line 1 (text 1): {CHANCE}"
    )


def test_written_and_then_read() -> None:
    x = torch.zeros(4)
    launch = Launch(x=x)
    launch.store(1, x, [0, 1, 2], [[1], [2], [3]], [[1.0]])
    with pytest.raises(Race) as caught:
        launch.load(2, x, [0, 1, 2], [[0], [1], [2]])
    assert str(caught.value) == (
        f"program 1 reads element 1 of x, which program 0 wrote in line 1 (text 1): {CHANCE}"
    )


def test_lanes_of_one_store() -> None:
    out = torch.zeros(4)
    with pytest.raises(Race) as caught:
        Launch(out=out).store(1, out, [0], [[1, 0, 1, 0]], [[0.0, 1.0, 2.0, 1.0]])
    assert str(caught.value) == (
        "program 0 writes two different values to element 1 of out at once: it is left to chance "
        "which of them stays"
    )
    Launch(out=out).store(1, out, [0], [[1, 0, 1, 0]], [[7.0, 1.0, 7.0, 1.0]])
    assert out.tolist() == [1.0, 7.0, 0.0, 0.0]


def test_cleared_and_added_to() -> None:
    out = integers(1)
    launch = Launch(out=out)
    launch.store(1, out, [0], [[0]], [[0]])
    with pytest.raises(Race) as caught:
        launch.add(2, out, [0, 1], [0, 0], "acq_rel")
    assert str(caught.value) == (
        f"program 1 updates element 0 of out, which program 0 wrote in line 1 (text 1): {CHANCE}"
    )


def test_added_to_and_read() -> None:
    total = integers(1)
    launch = Launch(total=total)
    launch.add(1, total, [0, 1], [0, 0], "relaxed")
    with pytest.raises(Race) as caught:
        launch.load(2, total, [0], [[0]])
    assert str(caught.value) == (
        f"program 0 reads element 0 of total, which program 1 updated in line 1 (text 1): {CHANCE}"
    )


def test_parts_of_an_element() -> None:
    pair = integers(2)
    wide = pair.view(torch.int64)
    launch = Launch(pair=pair, wide=wide)
    launch.store(1, wide, [0], [[0]], [[1]])
    with pytest.raises(Race) as caught:
        launch.store(2, pair, [1], [[1]], [[7]])
    assert str(caught.value) == (
        "program 1 writes another value to element 1 of pair, which program 0 wrote in line 1 "
        f"(text 1): {CHANCE}"
    )
    launch = Launch(pair=pair, wide=wide)
    launch.store(1, pair, [0], [[1]], [[5]])
    with pytest.raises(Race, match="program 1 reads element 0 of pair, which program 0 wrote"):
        launch.load(2, wide, [1], [[0]])


def test_one_reader_of_many_is_enough() -> None:
    """The writer read its element last, at once with others or after them."""
    x = torch.zeros(4)
    for readers in ([0, 1], [1, 0]):
        launch = Launch(x=x)
        launch.load(1, x, readers, [[0, 1], [0, 1]])
        with pytest.raises(Race, match="program 1 writes element 0 of x, which program 0 read"):
            launch.store(2, x, [1], [[0]], [[1.0]])
    launch = Launch(x=x)
    launch.load(1, x, [0, 1, 2], [[0]])  # the same for all
    with pytest.raises(Race, match="program 2 writes element 0 of x, which program 0 read"):
        launch.store(2, x, [2], [[0]], [[1.0]])


def test_honest_programs() -> None:
    x, out = torch.arange(10.0), torch.zeros(10)
    launch = Launch(x=x, out=out)
    # The last program moves back instead of a mask, and does some elements again.
    blocks = [[0, 1, 2, 3], [4, 5, 6, 7], [6, 7, 8, 9]]
    loaded = launch.load(1, x, [0, 1, 2], blocks)
    launch.store(2, out, [0, 1, 2], blocks, loaded.tolist())
    assert torch.equal(out, x)
    # Each reads its row twice and writes it.
    launch = Launch(x=x)
    rows = [[0, 1, 2], [5, 6, 7]]
    launch.load(1, x, [0, 1], rows)
    launch.load(1, x, [0, 1], rows)
    launch.store(2, x, [0, 1], rows, [[1.0], [2.0]])
    launch.load(3, x, [0, 1], rows)
    # All write the same.
    launch.store(4, x, [0, 1, 2], [[9, 9]], [[5.0]])
    assert x.tolist() == [1.0, 1.0, 1.0, 3.0, 4.0, 2.0, 2.0, 2.0, 8.0, 5.0]


# --- order through atomics ------------------------------------------------------------------------


def last_adds_up(order: str) -> None:
    partials, counter = torch.zeros(4), integers(1)
    launch = Launch(partials=partials, counter=counter)
    programs = [3, 1, 0, 2]
    launch.store(1, partials, programs, [[p] for p in programs], [[1.0 + p] for p in programs])
    assert launch.add(2, counter, programs, [0] * 4, order) == [0, 1, 2, 3]
    launch.load(3, partials, [2], [[0, 1, 2, 3]])


def test_the_last_program_reads_what_the_others_left() -> None:
    last_adds_up("acq_rel")
    with pytest.raises(Race, match="program 2 reads element 0 of partials, which program 0 wrote"):
        last_adds_up("relaxed")
    with pytest.raises(Race, match="program 2 reads element 0 of partials, which program 0 wrote"):
        last_adds_up("acquire")
    with pytest.raises(Race, match="program 2 reads element 0 of partials, which program 0 wrote"):
        last_adds_up("release")


def test_only_those_who_came_before() -> None:
    partials, counter = torch.zeros(4), integers(1)
    launch = Launch(partials=partials, counter=counter)
    launch.store(1, partials, [0, 1, 2], [[0], [1], [2]], [[1.0], [2.0], [3.0]])
    launch.add(2, counter, [0, 1, 2], [0, 0, 0], "acq_rel")
    launch.load(3, partials, [1], [[0, 1]])
    with pytest.raises(Race, match="program 1 reads element 2 of partials, which program 2 wrote"):
        launch.load(4, partials, [1], [[2]])


def test_a_lock_orders_reads_too() -> None:
    lock, total = integers(1), torch.zeros(1)
    launch = Launch(lock=lock, total=total)
    for program in (3, 0, 2):
        launch.add(1, lock, [program], [0], "acq_rel")
        found = float(launch.load(2, total, [program], [[0]]))
        if program != 0:  # this one looks, and writes nothing
            launch.store(3, total, [program], [[0]], [[found + 1]])
        launch.add(4, lock, [program], [0], "acq_rel")
    assert total.tolist() == [2.0]
    with pytest.raises(Race, match="program 1 reads element 0 of total, which program 2 wrote"):
        launch.load(5, total, [1], [[0]])


def test_work_after_the_release_is_not_released() -> None:
    x, flag = torch.zeros(2), integers(1)
    launch = Launch(x=x, flag=flag)
    launch.add(1, flag, [0], [0], "release")
    launch.store(2, x, [0], [[0]], [[1.0]])
    launch.add(3, flag, [1], [0], "acquire")
    with pytest.raises(Race, match="program 1 reads element 0 of x, which program 0 wrote"):
        launch.load(4, x, [1], [[0]])


def test_what_others_acquired_is_passed_on() -> None:
    """Each waits for the flag of the one before it, and takes over what that one left."""
    flags, x = integers(4), torch.zeros(4)
    launch = Launch(flags=flags, x=x)
    for program in range(4):
        if program:
            launch.load(1, flags, [program], [[program - 1]], volatile="yes")
            launch.load(2, x, [program], [list(range(program))])
        launch.store(3, x, [program], [[program]], [[1.0]])
        launch.add(4, flags, [program], [program], "acq_rel")


def test_who_has_the_last_count_may_set_it_back() -> None:
    counter = integers(1)
    launch = Launch(counter=counter)
    launch.add(1, counter, [0, 1, 2], [0, 0, 0], "acq_rel")
    launch.store(2, counter, [2], [[0]], [[0]])
    assert counter.tolist() == [0]
    launch = Launch(counter=counter)
    launch.add(1, counter, [2, 1, 0], [0, 0, 0], "acq_rel")
    with pytest.raises(Race, match="program 2 writes element 0 of counter, which program 0 upda"):
        launch.store(2, counter, [2], [[0]], [[0]])


def test_a_block_of_atomics_orders_nothing() -> None:
    x, counters = torch.zeros(4), integers(2)
    launch = Launch(x=x, counters=counters)
    launch.store(1, x, [0], [[0]], [[1.0]])
    for program in (0, 1):
        at = torch.tensor([[0, 1]])
        one = access("atomic", counters, at, programs=torch.tensor([program]), order="acq_rel")
        launch.memory.atomic(one, add, torch.ones(1, 1, dtype=torch.int32))
    with pytest.raises(Race, match="program 1 reads element 0 of x"):
        launch.load(2, x, [1], [[0]])


def test_a_long_chain_of_releases() -> None:
    """Thousands of programs pass one counter; the last one asks about each."""
    order, count = Order(), 3000
    programs = np.arange(1, count + 1)
    order.exchange(programs, np.zeros(count, np.int64), True, True, moment=7)
    assert all(order.before(count, program, 7) for program in range(1, count))
    assert not order.before(1, count, 7)
    assert not order.before(count, 5, 8), "what comes after its release"


# --- against histories ----------------------------------------------------------------------------

CELLS, PROGRAMS = 5, 3


@dataclass
class Cell:
    """All accesses to an element, each by a program at a time; vector clocks say what is known."""

    read: list[tuple[int, int]] = field(default_factory=list)
    wrote: list[tuple[int, int]] = field(default_factory=list)
    values: list[int] = field(default_factory=list)  # of `wrote`
    updated: list[tuple[int, int]] = field(default_factory=list)
    value: int = 0


class Histories:
    """A slow model: one lane after the other, with whole histories and whole vector clocks.

    A write races where its value differs from the last one; `disputed`, also from an earlier one.
    """

    def __init__(self) -> None:
        self.disputed = False
        self.cells = [Cell() for _ in range(CELLS)]
        self.clocks = [[0] * PROGRAMS for _ in range(PROGRAMS)]
        self.released = [[0] * PROGRAMS for _ in range(CELLS)]
        self.now = 0

    def races(self, kind: str, lanes: list[tuple[int, int, int]], atomic: bool) -> bool:
        self.now += 1
        return any(self._lane(kind, *lane, atomic) for lane in lanes)

    def _lane(self, kind: str, program: int, at: int, value: int, orders: bool) -> bool:
        cell, clock = self.cells[at], self.clocks[program]

        def unknown(past: list[tuple[int, int]]) -> bool:
            return any(who != program and when > clock[who] for who, when in past)

        if kind == "read":
            racing = unknown(cell.wrote) or unknown(cell.updated[-1:])
            cell.read.append((program, self.now))
        elif kind == "write":
            racing = unknown(cell.read) or unknown(cell.updated[-1:])
            racing |= unknown(cell.wrote) and cell.value != value
            earlier = zip(cell.wrote, cell.values, strict=True)
            self.disputed |= unknown([past for past, held in earlier if held != value])
            cell.wrote.append((program, self.now))
            cell.values.append(value)
            cell.value = value
        else:
            racing = unknown(cell.read) or unknown(cell.wrote)
            cell.updated.append((program, self.now))
            cell.value += 1
            if orders:
                merged = [max(pair) for pair in zip(clock, self.released[at], strict=True)]
                self.clocks[program] = list(merged)
                merged[program] = self.now
                self.released[at] = merged
        return racing


accesses = st.lists(
    st.tuples(
        st.sampled_from(["read", "write", "add", "sync"]),
        st.lists(
            st.tuples(st.integers(0, CELLS - 1), st.integers(0, 1)), min_size=1, max_size=PROGRAMS
        ),
        st.integers(0, PROGRAMS - 1),
    ),
    max_size=8,
)


@given(accesses, st.booleans())
@example([("read", [(0, 0)], 0), ("write", [(1, 0)], 1), ("write", [(1, 1), (1, 1)], 1)], False)
def test_agrees_with_whole_histories(drawn: list[tuple[str, list, int]], ordered: bool) -> None:
    """Without order both agree; with it nothing is refused that the histories allow."""
    x, model = integers(CELLS), Histories()
    launch = Launch((PROGRAMS, 1, 1), x=x)
    for kind, lanes, shift in drawn:
        programs = [(i + shift) % PROGRAMS for i in range(len(lanes))]
        index = [at for at, _ in lanes]
        sync = "acq_rel" if kind == "sync" and ordered else "relaxed"
        rows = [(program, at, value) for program, (at, value) in zip(programs, lanes, strict=True)]
        known = model.races("add" if kind == "sync" else kind, rows, sync == "acq_rel")
        try:
            if kind == "read":
                launch.load(1, x, programs, [[at] for at in index])
            elif kind == "write":
                values = [[value] for _, value in lanes]
                launch.store(1, x, programs, [[at] for at in index], values)
            else:
                launch.add(1, x, programs, index, sync)
            refused = False
        except Race:
            refused = True
        assert known or model.disputed or not refused
        assert refused or ordered or not known
        if known or refused:
            return
        assert x.tolist() == [cell.value for cell in model.cells]
