"""The record of a call that is watched: which line accesses which elements."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.backends.triton.device.provenance import Provenance
from grader.backends.triton.device.sightings import Recorder
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.records import Site
from grader.model import LaunchRef, Origin, Touched

from .memories import access, memory_of, span_of

SOURCE = Source("kernel.py")


class Watched:
    """Memory of the arguments `x` and `out`, and the recorder of one launch of 2 programs."""

    def __init__(self, length: int = 8) -> None:
        self.x, self.out = torch.zeros(length), torch.zeros(length)
        spans = [(span_of(name, each), 4) for name, each in (("x", self.x), ("out", self.out))]
        self.recorder = Recorder(spans, SOURCE)
        self.recorder.begin("kernel", (2, 1, 1), 4)
        observers: dict[str, Any] = {"recorder": self.recorder}
        self.memory = memory_of(observers, x=self.x, out=self.out)

    def load(self, tensor: torch.Tensor, index: list[list[int]], line: int = 1, **fields: Any):
        return self.memory.load(access("load", tensor, torch.tensor(index), line=line, **fields))

    def store(self, index: list[list[int]], line: int = 2, **fields: Any) -> None:
        at = torch.tensor(index)
        where = access("store", self.out, at, line=line, **fields)
        self.memory.store(where, torch.zeros(at.shape))

    @property
    def touched(self) -> tuple[Touched, ...]:
        return self.recorder.sightings().touched


def test_the_elements_that_a_line_reads_and_writes() -> None:
    watched = Watched()
    watched.load(watched.x, [[0, 1, 2], [4, 5, 6]], line=3)
    watched.store([[0, 1], [2, 3]], line=7)
    assert watched.touched == (
        Touched(3, "read", "x", ((0, 3), (4, 7)), lanes=3, programs=2, unset=True),
        Touched(7, "write", "out", ((0, 4),), lanes=2, programs=2),
    )
    assert watched.recorder.sightings().launches == (LaunchRef("kernel", (2, 1, 1), (128, 1, 1)),)


def test_lanes_that_are_masked_off_touch_nothing() -> None:
    watched = Watched()
    mask = torch.tensor([[True, True, False], [True, False, False]])
    watched.load(watched.x, [[0, 1, 2], [4, 5, 6]], mask=mask)
    [use] = watched.touched
    assert (use.runs, use.lanes, use.masked) == (((0, 2), (4, 5)), 3, True)


def test_an_output_that_is_read_before_and_after_it_is_written() -> None:
    watched = Watched()
    watched.store([[0], [1]], line=2)
    watched.load(watched.out, [[0], [1]], line=3)
    watched.load(watched.out, [[1], [2]], line=4)
    unset = {use.line: use.unset for use in watched.touched}
    assert unset == {2: False, 3: False, 4: True}


def test_elements_that_two_programs_store_to() -> None:
    watched = Watched()
    watched.store([[0, 1], [1, 2]])
    assert watched.recorder.sightings().twice == {"out": ((1, 2),)}
    watched.store([[0, 1], [5, 6]], line=9)
    assert watched.recorder.sightings().twice == {"out": ((1, 2),)}, "program 0 stores again"
    watched.store([[4, 5], [7, 0]], line=9)
    assert watched.recorder.sightings().twice == {"out": ((0, 2), (5, 6))}


def test_what_a_report_has_no_room_for_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.backends.triton.device import sightings

    monkeypatch.setattr(sightings, "MOST_RUNS", 3)
    watched = Watched(16)
    watched.load(watched.x, [[0, 2, 4, 6]], line=1)
    watched.load(watched.x, [[0, 1, 2, 3]], line=2)
    seen = watched.recorder.sightings()
    assert [use.line for use in seen.touched] == [2]
    assert seen.cut


def test_an_argument_that_is_too_large_is_not_watched() -> None:
    large = torch.zeros((1 << 20) + 1)
    recorder = Recorder([(span_of("x", large), 4)], SOURCE)
    memory = memory_of({"recorder": recorder}, x=large)
    memory.load(access("load", large, torch.tensor([[0]])))
    assert recorder.sightings().touched == ()


def test_the_line_at_which_undefined_values_meet_others() -> None:
    x, out = torch.zeros(4), torch.zeros(1)
    provenance = Provenance([span_of("out", out)])
    memory = memory_of({"provenance": provenance}, x=x, out=out)
    mask = torch.tensor([[True, True, True, False]])
    loaded = memory.load(access("load", x, torch.arange(4)[None], mask, line=3))
    numbers = torch.tensor([[0, 0, 0, 1]], dtype=torch.int8)
    memory.note_combined(numbers, Site("kernel.py", 5), "arith.maxnumf")
    memory.note_combined(numbers, Site("kernel.py", 6), "arith.addf")
    memory.note_combined(None, Site("kernel.py", 4), "arith.addf")
    memory.store(access("store", out, torch.tensor([[0]])), loaded[:, 3:])
    assert provenance.origins(SOURCE) == (Origin("out", 3, joined=5, combined="maximum"),)
