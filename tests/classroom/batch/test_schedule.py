"""The laws of the schedule: whatever fails and vanishes, nothing is lost or recorded twice.

The tests drive it as `batch.run` does, with jobs that end in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.batch.schedule import MOST_TRIES, Job, Lane, Part, Schedule

LANES = st.lists(st.sampled_from(["", "gpu0", "gpu0", "gpu1", "gpu2"]), min_size=1, max_size=8)


def lanes_of(gpus: list[str]) -> list[Lane]:
    return [Lane(f"lane{number}", gpu) for number, gpu in enumerate(gpus)]


class Driver:
    """Runs a schedule with jobs that end as `choose` says, and checks the laws at each step."""

    def __init__(self, units: list[str], gpus: list[str], choose: Callable[[int], int]) -> None:
        self.schedule = Schedule(units, round_size=2)
        self.units, self.choose = units, choose
        self.warm: set[str] = set()  # lanes with a judge
        self.recorded: Counter[str] = Counter()
        self.begun: list[Job] = []
        for lane in lanes_of(gpus):
            self.schedule.arrived(lane)

    def run(self, faults: int = 0, vanishing: int = 0) -> None:
        steps = 0
        while not self.schedule.over:
            self.begin()
            working = list(self.schedule.working.values())
            assert working, "work is left, and nobody does it"
            job = working[self.choose(len(working))]
            if vanishing and len(self.schedule.lanes) > 1 and self.choose(4) == 0:
                vanishing -= 1
                self.vanish(job.lane)
            elif faults and self.choose(3) == 0:
                faults -= 1
                self.schedule.failed(job.lane.name, "a fault")
            else:
                self.end(job)
            steps += 1
            assert steps < 100 * (len(self.units) + 10), "it does not come to an end"

    def begin(self) -> None:
        for job in self.schedule.due():
            self.begun.append(job)
            if job.part is not Part.CLOSE:
                self.warm.add(job.lane.name)
        self.check_measured_alone()

    def check_measured_alone(self) -> None:
        for job in self.schedule.working.values():
            if job.part is Part.SECOND:
                beside = [
                    lane.name
                    for lane in self.schedule.lanes.values()
                    if lane.gpu == job.lane.gpu and lane is not job.lane
                ]
                assert not self.warm.intersection(beside), "a judge is beside a measurement"

    def end(self, job: Job) -> None:
        if job.part is Part.CLOSE:
            self.warm.discard(job.lane.name)
            self.schedule.ended(job.lane.name)
        elif job.part is Part.FIRST and self.choose(2):
            self.schedule.ended(job.lane.name, measure=True)
        else:
            self.recorded[job.unit] += 1
            self.schedule.ended(job.lane.name)

    def vanish(self, lane: Lane) -> None:
        self.warm.discard(lane.name)
        self.schedule.vanished(lane.name, "it is gone")


@pytest.mark.slow
@given(st.integers(0, 30), LANES, st.data())
def test_every_unit_is_recorded_exactly_once(count: int, gpus: list[str], data: st.DataObject):
    units = [f"unit{number}" for number in range(count)]
    driver = Driver(units, gpus, lambda most: data.draw(st.integers(0, most - 1)))
    driver.run()
    assert driver.recorded == Counter(units)
    assert driver.schedule.done == set(units)
    assert driver.schedule.left == 0


@pytest.mark.slow
@given(st.integers(1, 20), LANES, st.integers(0, 12), st.integers(0, 5), st.data())
def test_faults_and_lost_lanes_lose_nothing_and_record_nothing_twice(
    count: int, gpus: list[str], faults: int, vanishing: int, data: st.DataObject
):
    units = [f"unit{number}" for number in range(count)]
    driver = Driver(units, gpus, lambda most: data.draw(st.integers(0, most - 1)))
    driver.run(faults, vanishing)
    assert all(times == 1 for times in driver.recorded.values())
    given_up = driver.schedule.given_up.keys()
    assert driver.recorded.keys() | given_up == set(units)
    assert driver.recorded.keys().isdisjoint(given_up)


def test_a_unit_that_fails_is_tried_elsewhere_and_at_last_given_up():
    # A kernel that takes a machine down with it must not take down all of them, for ever.
    schedule = Schedule(["bad"])
    for lane in lanes_of(["gpu0", "gpu0", "gpu1"]):
        schedule.arrived(lane)
    tried: list[Lane] = []
    while not schedule.over and len(tried) <= MOST_TRIES:
        (job,) = schedule.due()
        tried.append(job.lane)
        schedule.failed(job.lane.name, "no reason")
    assert len(tried) == MOST_TRIES
    assert tried[0].gpu != tried[1].gpu
    assert len(set(tried)) == MOST_TRIES
    assert schedule.given_up == {"bad": "no reason"}


def test_one_lane_alone_tries_again_itself():
    schedule = Schedule(["noisy"])
    schedule.arrived(Lane("only"))
    schedule.due()
    schedule.failed("only", "noise")
    (job,) = schedule.due()
    assert job == Job(Lane("only"), Part.WHOLE, "noisy")


def test_what_waits_to_be_measured_begins_anew_where_its_gpu_is_gone():
    schedule = Schedule(["one", "two"])
    for lane in lanes_of(["gpu0", "gpu1"]):
        schedule.arrived(lane)
    schedule.due()
    schedule.ended("lane0", measure=True)
    (second,) = schedule.due()
    assert second.part is Part.SECOND
    schedule.vanished("lane0", "it is gone")
    schedule.ended("lane1")
    (again,) = schedule.due()
    assert (again.lane.name, again.part, again.unit) == ("lane1", Part.FIRST, "one")


def test_lanes_of_one_gpu_close_their_judges_before_a_measurement():
    schedule = Schedule(["one", "two"])
    for lane in lanes_of(["gpu0", "gpu0"]):
        schedule.arrived(lane)
    assert [job.part for job in schedule.due()] == [Part.FIRST, Part.FIRST]
    schedule.ended("lane0", measure=True)
    assert schedule.due() == []  # the other one works on the GPU
    schedule.ended("lane1", measure=True)
    (close,) = schedule.due()
    assert close.part is Part.CLOSE
    assert schedule.due() == []
    schedule.ended(close.lane.name)
    (second,) = schedule.due()
    assert second.part is Part.SECOND
    assert second.lane != close.lane


@pytest.mark.parametrize("gpus", [[""], ["gpu0"]])
def test_a_lane_that_comes_later_takes_part(gpus: list[str]):
    schedule = Schedule(["one"])
    assert schedule.due() == []
    for lane in lanes_of(gpus):
        schedule.arrived(lane)
    assert len(schedule.due()) == 1
