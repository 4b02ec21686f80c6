"""The next job of each lane: a state machine without a clock, a network or a process.

A lane is a worker process; several may share a GPU. On a GPU a unit is graded in two parts. A round
of a GPU begins with first parts on all its lanes. Then each unit that came so far is measured: one
at a time, while no other lane of this GPU has a judge that could touch it.

The owner asks `due` for what to begin, does it, and reports the end of each job. A job that a
machine's fault ended is done again, on another lane if there is one, at most MOST_TRIES times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

MOST_TRIES = 3  # of one unit, ended by faults of machines
# Kernels that a GPU compares before it measures them. All judges but one end between the two, so
# that short rounds would cost many starts.
ROUND = 48


class Part(StrEnum):
    """The work of one job."""

    WHOLE = "whole"  # a check on a lane without a GPU
    FIRST = "first"  # on a GPU, what runs beside others
    SECOND = "second"  # on a GPU, what is measured
    CLOSE = "close"  # end the lane's judge, so that nothing of it is on the GPU


@dataclass(frozen=True)
class Lane:
    """A worker process: its address, and the UUID of its GPU, which is empty without a GPU."""

    name: str
    gpu: str = ""
    model: str = "cpu"
    host: str = ""

    @property
    def place(self) -> str:
        """The machine part that may be at fault: the GPU, else the worker."""
        return self.gpu or self.name


@dataclass(frozen=True)
class Job:
    """Something for a lane to do; a judge is closed for no unit."""

    lane: Lane
    part: Part
    unit: str = ""


@dataclass
class _Gpu:
    """The state of a GPU. A lane in `warm` has a judge, which may hold memory there."""

    measuring: bool = False
    begun: int = 0  # first parts of this round
    waiting: deque[str] = field(default_factory=deque)  # units to measure
    warm: set[str] = field(default_factory=set)


class Schedule:
    """The ids of the units that are to be graded, are running, and are done."""

    def __init__(self, units: Iterable[str], round_size: int = ROUND) -> None:
        self._round = round_size
        self._queue = deque(units)
        self._lanes: dict[str, Lane] = {}
        self._gpus: dict[str, _Gpu] = {}
        self._working: dict[str, Job] = {}  # by the lane's name
        self._failed: dict[str, list[tuple[Lane, str]]] = {}
        self.done: set[str] = set()
        self.given_up: dict[str, str] = {}  # why, by the unit

    @property
    def over(self) -> bool:
        waiting = any(gpu.waiting for gpu in self._gpus.values())
        units = any(job.unit for job in self._working.values())
        return not (self._queue or waiting or units)

    @property
    def left(self) -> int:
        """Count the units that are neither done nor given up."""
        in_work = sum(bool(job.unit) for job in self._working.values())
        return len(self._queue) + in_work + sum(len(gpu.waiting) for gpu in self._gpus.values())

    @property
    def lanes(self) -> Mapping[str, Lane]:
        return self._lanes

    @property
    def working(self) -> Mapping[str, Job]:
        return self._working

    # -- what happens

    def arrived(self, lane: Lane) -> None:
        self._lanes[lane.name] = lane
        if lane.gpu:
            self._gpus.setdefault(lane.gpu, _Gpu())

    def vanished(self, name: str, why: str) -> None:
        """Take a lane out. What was running there is graded again; nothing else is lost."""
        lane = self._lanes.pop(name, None)
        if lane is None:
            return
        job = self._working.pop(name, None)
        if job is not None and job.unit:
            self._again(job, why)
        if lane.gpu:
            gpu = self._gpus[lane.gpu]
            gpu.warm.discard(name)
            if not self._of_gpu(lane.gpu):  # what waits there begins anew elsewhere
                self._queue.extendleft(reversed(gpu.waiting))
                del self._gpus[lane.gpu]

    def ended(self, name: str, measure: bool = False) -> None:
        """Note the end of a lane's job. After a first part, `measure` asks for the second."""
        job = self._working.pop(name)
        if job.part is Part.CLOSE:
            self._gpus[job.lane.gpu].warm.discard(name)
        elif job.part is Part.FIRST and measure:
            self._gpus[job.lane.gpu].waiting.append(job.unit)
        else:
            self.done.add(job.unit)

    def failed(self, name: str, why: str) -> None:
        """Note that a machine's fault, such as a judge that ended, took a lane's job."""
        job = self._working.pop(name)
        if job.unit:
            self._again(job, why)

    def _again(self, job: Job, why: str) -> None:
        failed = self._failed.setdefault(job.unit, [])
        failed.append((job.lane, why))
        if len(failed) >= MOST_TRIES:
            self.given_up[job.unit] = why
        else:
            self._queue.append(job.unit)

    def withdraw(self, units: Collection[str]) -> int:
        """Take out units that need not be graded, and count those that nobody had begun."""
        left = deque(unit for unit in self._queue if unit not in units)
        taken = len(self._queue) - len(left)
        self._queue = left
        return taken

    # -- what to do

    def due(self) -> list[Job]:
        """Return the jobs to begin now; they count as begun."""
        jobs: list[Job] = []
        for uuid in self._gpus:
            jobs += self._on_gpu(uuid)
        for lane in self._lanes.values():
            if not lane.gpu and lane.name not in self._working:
                jobs += self._begin(lane, Part.WHOLE)
        return jobs

    def _on_gpu(self, uuid: str) -> Iterator[Job]:
        gpu, lanes = self._gpus[uuid], self._of_gpu(uuid)
        if gpu.measuring:
            if self._works_on(lanes):
                return
            if gpu.waiting:
                yield from self._measure(gpu, lanes)
                return
            gpu.measuring = False
        if not gpu.waiting and not self._works_on(lanes):
            gpu.begun = 0  # a new round
        for lane in lanes:
            if lane.name not in self._working and gpu.begun < self._round:
                for job in self._begin(lane, Part.FIRST):
                    gpu.begun += 1
                    gpu.warm.add(lane.name)
                    yield job
        if gpu.waiting and not self._works_on(lanes):  # nothing more can begin in this round
            gpu.measuring = True
            yield from self._measure(gpu, lanes)

    def _measure(self, gpu: _Gpu, lanes: Sequence[Lane]) -> Iterator[Job]:
        """Have all lanes but one close their judges; when they have, measure on that one."""
        unit = gpu.waiting[0]
        tried = {lane.name for lane, _ in self._failed.get(unit, ())}
        chosen = min(lanes, key=lambda one: (one.name in tried, one.name not in gpu.warm, one.name))
        others = [lane for lane in lanes if lane is not chosen and lane.name in gpu.warm]
        if not others:
            gpu.waiting.popleft()
            gpu.warm.add(chosen.name)
            yield self._start(Job(chosen, Part.SECOND, unit))
        for lane in others:
            yield self._start(Job(lane, Part.CLOSE))

    def _begin(self, lane: Lane, part: Part) -> Iterator[Job]:
        for place, unit in enumerate(self._queue):
            if self._suits(unit, lane):
                del self._queue[place]
                yield self._start(Job(lane, part, unit))
                return

    def _start(self, job: Job) -> Job:
        self._working[job.lane.name] = job
        return job

    def _suits(self, unit: str, lane: Lane) -> bool:
        """Report whether the lane may grade the unit: not where it failed, if there is another."""
        failed = self._failed.get(unit)
        if not failed:
            return True
        places, names = {one.place for one, _ in failed}, {one.name for one, _ in failed}
        lanes = self._lanes.values()
        elsewhere = [one for one in lanes if one.place not in places]
        beside = [one for one in lanes if one.name not in names]
        return lane in (elsewhere or beside or lanes)

    def _of_gpu(self, uuid: str) -> list[Lane]:
        return [lane for lane in self._lanes.values() if lane.gpu == uuid]

    def _works_on(self, lanes: Iterable[Lane]) -> bool:
        return any(lane.name in self._working for lane in lanes)
