"""The judge gets all of a small call's log of lanes, and both ends of a large one's."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.backends.triton.device.lane_log import Known, LaneLog, Noted
from grader.backends.triton.device.lane_rows import argument, traced
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.records import Operation, Site
from grader.model.device_report import DeviceReport
from grader.model.traced import MOST_ACCESSES, LaunchRef
from grader.model.traced_lanes import MOST_ACTS, RACE, TracedLanes
from grader.worker.bounds import Span

START = 4096
SOURCE = Source("kernel.py")


def log_of(programs: int, lanes: int, kind: str = "load") -> LaneLog:
    log = LaneLog([LaunchRef("k", (programs, 1, 1), (lanes, 1, 1))], [()])
    operation = Operation("tt.load", site=Site("kernel.py", 7, "x"))
    log.operations.append(Known(0, kind, operation, (lanes,), torch.float32))
    return log


def note(log: LaneLog, programs: int, lanes: int, masked: int = 0, **more: object) -> None:
    """Each program touches its own lanes, all but the last `masked` of all."""
    elements = np.arange(programs * lanes).reshape(programs, lanes)
    active = elements < programs * lanes - masked
    numbers = np.arange(programs)
    bits = elements.astype(np.int32)
    log.noted.append(Noted(0, numbers, (), START + 4 * elements, active, bits, **more))


def report_of(log: LaneLog, shape: tuple[int, ...]) -> TracedLanes:
    size = int(np.prod(shape))
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    ref = {"name": "x", "shape": shape, "strides": strides, "dtype": "float32"}
    place = argument(ref, Span(START, START + 4 * size, "x"), 4)
    report = DeviceReport(seq=1, lanes=traced(log, [place], SOURCE))
    parsed = DeviceReport.parse(json.loads(json.dumps(report.dump())))
    assert parsed == report, "what the device sends is what the judge reads"
    return report.lanes


def test_a_small_call_is_told_whole():
    log = log_of(3, 4)
    note(log, 3, 4, masked=2, other=5)
    lanes = report_of(log, (10,))
    assert [(one.kind, one.line, one.name, one.shape) for one in lanes.operations] == [
        ("load", 7, "x", (4,))
    ]
    assert [row[:5] for row in lanes.acts] == [(0, 0, 0, 4, 1), (0, 1, 0, 4, 1), (0, 2, 0, 2, 1)]
    assert [(row[0], row[1], row[5]) for row in lanes.accesses] == [
        (number // 4, number % 4, number) for number in range(10)
    ]
    assert lanes.cut == 0


def test_an_index_has_the_axes_of_its_array_and_may_lie_outside():
    log = log_of(1, 8)
    note(log, 1, 8)
    assert [row[5:] for row in report_of(log, (2, 3)).accesses] == [
        (number // 3, number % 3) for number in range(8)
    ]


def test_a_program_that_comes_out_of_a_loop_begins_another_step():
    log = log_of(2, 1)
    loop = Site("kernel.py", 3)
    for loops in ((), ((loop, 0),), ((loop, 1),), ()):
        note(log, 2, 1)
        log.noted[-1] = Noted(**{**vars(log.noted[-1]), "loops": loops})
    lanes = report_of(log, (2,))
    assert [step.loops for step in lanes.steps] == [(), ((3, 0),), ((3, 1),), ()]
    assert [row[0] for row in lanes.acts] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_both_sides_of_a_race_are_marked():
    log = log_of(2, 4, "store")
    note(log, 2, 4)
    again = np.full((1, 4), START) + 4 * np.arange(4, 8)
    races = START + 4 * 5, 0, 1
    log.noted.append(
        Noted(0, np.array([0]), (), again, np.ones((1, 4), bool), None, stopped=True, races=races)
    )
    lanes = report_of(log, (8,))
    assert [(row[0], row[1]) for row in lanes.accesses if row[3] == RACE] == [(1, 1), (2, 1)]


@pytest.mark.slow
@settings(max_examples=20)  # one of 40 programs with 20,000 lanes takes 0.2 s
@given(st.integers(1, 40), st.sampled_from([1, 7, 1024, 20_000]), st.integers(1, 90))
def test_a_report_has_an_end_whatever_a_kernel_does(programs: int, lanes: int, times: int):
    log = log_of(programs, lanes)
    for _ in range(times if lanes < 1024 else 1):
        note(log, programs, lanes)
    told = report_of(log, (programs * lanes,))
    assert len(told.accesses) <= MOST_ACCESSES
    assert len(told.acts) <= MOST_ACTS
    every = sum(noted.addresses.size for noted in log.noted if noted.addresses is not None)
    assert len(told.accesses) + told.cut == every
    assert (0, 0) in {(row[0], row[1]) for row in told.accesses}, "the first program is there"


@pytest.mark.parametrize("stopped", [0, 1500])
def test_of_many_programs_the_one_that_was_stopped_is_told(stopped: int):
    log = log_of(3000, 1)
    note(log, 3000, 1)
    row = np.array([[START + 4 * 9000]])
    log.noted.append(
        Noted(0, np.array([stopped]), (), row, np.ones((1, 1), bool), None, stopped=True)
    )
    told = report_of(log, (3000,))
    assert [act[1] for act in told.acts if act[6]] == [stopped]
    assert {0, 2999} <= {act[1] for act in told.acts}
