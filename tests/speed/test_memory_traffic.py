"""The bytes of a call by hardware counters, without a GPU: what is repeated, checked and refused.

The arena lies on the CPU, and functions of the tests stand for the worker and for `ncu`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from ncu_log import LONG, SHORT, UNITS, csv_of, fake_ncu

from grader.course import catalog
from grader.model.exercise import Spec
from grader.model.recording import RecordedLaunch, Recording
from grader.sandbox.executor import KernelFailure
from grader.speed import memory_traffic, ncu
from grader.speed.memory_traffic import Moved, moved
from grader.speed.ncu import DRAM_READ, DRAM_WRITTEN, TIME, Launch, NotCounted
from grader.speed.slots import Slots

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SPEC = catalog.find(ROOT, "04_online_softmax").spec
SOFTMAX = replace(SPEC, scored=replace(SPEC.scored, columns=300))
RECORDING = Recording((RecordedLaunch("k", 0, (1, 1, 1), 32, 0, ()),) * 2, ("aGk=",), 64)
ROWS = 9

Work = Callable[[Slots], None]


def right(slots: Slots) -> None:
    """Do what a right kernel does to a call's arguments."""
    x, out = (placed.view for placed in slots._slots[0])
    out.copy_(x.double().softmax(-1))


def nothing(slots: Slots) -> None:
    """Write no output."""


class Machine:
    """`works` are those of the worker's two calls, and of the repeated launches."""

    def __init__(self, *works: Work) -> None:
        self.works = list(works)
        self.recording, self.counted = RECORDING, [Launch("k", {DRAM_READ: 7.0, DRAM_WRITTEN: 2.0})]
        self.counted *= 2
        self.inputs: list[torch.Tensor] = []
        self.ended = False

    def arena(self, size: int) -> SimpleNamespace:
        self.fd = os.memfd_create("arena")
        os.ftruncate(self.fd, size)
        os.pwrite(self.fd, b"the arena", 0)
        memory = torch.zeros(size, dtype=torch.uint8)
        ticket = {"kind": "cuda", "size": size}
        return SimpleNamespace(
            memory=memory, fd=self.fd, ticket=lambda: ticket, close=lambda: os.close(self.fd)
        )

    def slots(self, *given: object) -> Slots:
        self.made = Slots(*given)
        return self.made

    def work(self) -> None:
        self.inputs.append(self.made._slots[0][0].view.clone())
        self.works.pop(0)(self.made)

    # -- as a WorkerLink

    def call(self, calls: object) -> None:
        self.work()

    def record(self, call: object) -> Recording:
        self.work()
        return self.recording

    def close(self) -> None:
        self.ended = True

    # -- as ncu

    def count(self, program: list[str], home: Path, metrics: object, limit_s: float) -> list:
        assert self.ended, "nothing of the worker's runs while the launches are repeated"
        assert metrics == ncu.REQUIRED
        self.sent = json.loads((home / "call.json").read_text())
        self.work()
        return self.counted


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Moved]:
    def run(machine: Machine, spec: Spec = SOFTMAX) -> Moved:
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        monkeypatch.setattr(memory_traffic, "CudaArena", machine.arena)
        monkeypatch.setattr(memory_traffic, "Slots", machine.slots)
        monkeypatch.setattr(memory_traffic, "WorkerLink", lambda *_: machine)
        monkeypatch.setattr(memory_traffic.ncu, "count", machine.count)
        return moved(spec, b"", None, ROWS)

    return run


def test_the_bytes_of_all_launches_count(run):
    machine = Machine(right, right, right)
    found = run(machine)
    assert (found.launches, found.read, found.written) == (2, 14, 4)
    assert found.case.shape == (ROWS, 300)
    assert machine.sent["code"] == ["aGk="]
    assert len(machine.sent["launches"]) == 2
    assert machine.sent["arena"] == machine.made._memory.numel()


def test_the_launches_get_inputs_that_no_worker_has_seen(run):
    machine = Machine(right, right, right)
    run(machine)
    _, recorded, repeated = machine.inputs
    assert (recorded == repeated).float().mean() < 0.1


def test_inputs_that_belong_to_numbers_of_the_call_are_drawn_again():
    spec = catalog.find(ROOT, "06_cross_entropy").spec
    spec = replace(spec, scored=replace(spec.scored, columns=300))
    slots = Slots(spec, memory_traffic.scored_case(spec, 9), 1, torch.zeros(1 << 20).byte())
    plan = slots.plan()
    assert slots.again(plan) == plan


def test_launches_that_do_not_make_the_output_are_worth_nothing(run):
    with pytest.raises(NotCounted, match="launches alone do not make the right output"):
        run(Machine(right, right, nothing))


def test_a_wrong_output_of_the_worker_is_the_kernels_failure(run):
    machine = Machine(right, nothing)
    with pytest.raises(KernelFailure) as caught:
        run(machine)
    assert caught.value.failure.kind == "wrong_at_scale"
    assert machine.ended


@pytest.mark.parametrize(
    ("recording", "why"),
    [
        (Recording(refused="it passes a tensordesc"), "it passes a tensordesc"),
        (Recording(), "starts no kernel that can be recorded"),
    ],
)
def test_what_was_not_recorded_is_not_counted(run, recording: Recording, why: str):
    machine = Machine(right, right)
    machine.recording = recording
    with pytest.raises(NotCounted, match=why):
        run(machine)


def test_every_launch_must_be_counted(run):
    machine = Machine(right, right, right)
    machine.counted = machine.counted[:1]
    with pytest.raises(NotCounted, match="1 of 2 launches were counted"):
        run(machine)


# -- the real line to a process below ncu


def test_the_process_below_ncu_gets_the_arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = fake_ncu(tmp_path, monkeypatch, csv_of(UNITS, SHORT, LONG))
    arena = Machine().arena(4096)
    found = memory_traffic._repeated(RECORDING, arena)
    assert [launch.counters[TIME] for launch in found] == pytest.approx([2.5e-6, 5e-4])
    argv = json.loads((seen / "argv.json").read_text())
    assert argv[-2] == "grader.worker.repeated_launches"
    assert (seen / "arena").read_bytes().startswith(b"the arena")
    assert json.loads((seen / "call.json").read_text())["arena"] == 4096
    arena.close()


def test_a_process_that_never_asks_for_the_arena_holds_nobody_up(tmp_path: Path):
    with memory_traffic.handing_over(0, tmp_path / "arena"):
        pass


def test_a_temporary_folder_of_a_long_path_is_no_fault_of_the_kernel(tmp_path: Path) -> None:
    """The path of a socket has 107 bytes at most."""
    with pytest.raises(NotCounted), memory_traffic.handing_over(0, tmp_path / (120 * "x")):
        pass
