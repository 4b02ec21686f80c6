"""Grade all units of a plan on a crew of workers, to the end or to an interruption.

The loop owns the schedule. It begins what is due, keeps each result before it counts, has what a
machine's fault ended done again, and notices workers that come and go.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.classroom.batch import lanes, tasks, units
from grader.classroom.batch.answers import Answer, may_change
from grader.classroom.batch.collect import GRADED, Found, Plan, students_of, why_of
from grader.classroom.batch.schedule import Job, Part, Schedule
from grader.classroom.batch.state import Counts, RunState
from grader.classroom.batch.store import Store
from grader.classroom.batch.units import Unit, Versions
from grader.classroom.batch.workers import Crew, Ended, Newcomers
from grader.model import CannotGrade, Result, Status, counted, result_json

LOOK_S = 2.0  # between two looks at which workers are there
NOBODY_S = 120.0  # without any worker, after which the run ends
MOST_SHOWN = 12  # sentences on the page
MOST_SAID = 3  # times that one reason is said; the logs have all
_PARTS = {
    Part.WHOLE: "whole checks",
    Part.FIRST: "comparing",
    Part.SECOND: "measuring",
}
LONGEST_JOB_S = 3600.0  # of one part; a judge's own limits are far shorter


@dataclass
class _Work:
    """A unit, the seed of its inputs, and the first part's result once it is there."""

    unit: Unit
    seed: int
    first: Result | None = None


Say = Callable[[str], None]
Watch = Callable[[RunState], None]
Remember = Callable[[tuple[str, ...]], None]


@dataclass
class Batch:
    """One run. `say` gets a sentence for each thing worth knowing, `watch` the state, often.

    `remember` gets the GPU models that grade, each time that there is a new one.
    """

    plan: Plan
    root: Path
    rules: Mapping[str, str]
    versions: Versions
    device: str
    store: Store
    crew: Crew
    say: Say
    watch: Watch
    remember: Remember
    chosen: frozenset[str]  # the ids of the units to grade
    again: bool = False  # also those that have a result
    found: Found = field(default_factory=Found)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._students = students_of(self.plan)
        self._work: dict[str, _Work] = {}
        self._since: dict[str, float] = {}  # when each lane's job began
        names = [exercise.name for exercise in self.plan.exercises]
        self._newcomers = Newcomers(
            self.crew, self.root, names, self.versions, self.rules, self._tell
        )
        self._cached = 0
        self._on_gpu = False
        self.models: tuple[str, ...] = ()  # of the GPUs that grade
        self._units = self.plan.units
        self._last: deque[str] = deque(maxlen=MOST_SHOWN)
        self._said: Counter[str] = Counter()  # reasons
        self._seconds: dict[Part, list[float]] = {}
        self._schedule = Schedule([])

    # -- the whole

    def run(self) -> Found:
        """Grade, and return what is known. Raises CannotGrade, and KeyboardInterrupt.

        What was found until then is in `found`, and on the disk.
        """
        probes = self._newcomers.first(LOOK_S)
        self._on_gpu = self._uses_gpu(probes)
        self._add_models(probes)
        self._take_from_store()
        todo = [one for one in self._in_order() if self._is_due(one)]
        self._work = {one: _Work(self._units[one], units.new_seed()) for one in todo}
        self._schedule = Schedule(todo)
        self._arrive(probes)
        if todo and not self._schedule.lanes:
            raise CannotGrade(
                "No worker can grade: each was refused, or has no GPU.",
                "See the lines above; `--device cpu` grades without a GPU.",
            )
        self._loop()
        self.found.faults |= self._schedule.given_up
        self._say_rate()
        return self.found

    def _say_rate(self) -> None:
        state = self.state()
        if not state.done:
            return
        rate = f"{counted(state.done, 'kernels')} in {state.elapsed_s:.0f} s"
        parts = "; ".join(
            f"{_PARTS[part]} {statistics.median(some):.1f} s of {len(some)}"
            for part, some in self._seconds.items()
        )
        each = 60 * state.done / state.elapsed_s
        self._tell(f"{rate}: {each:.1f} a minute (median of {parts})")

    def _is_due(self, unit: str) -> bool:
        return unit in self.chosen and (self.again or unit not in self.found.results)

    def _in_order(self) -> list[str]:
        """List the units, those of the last exercises first: they take longest."""
        place = {exercise.name: n for n, exercise in enumerate(self.plan.exercises)}
        known = self._units
        return sorted(known, key=lambda one: (-place[known[one].exercise.name], one))

    def _take_from_store(self) -> None:
        """Know the results of these GPU models, and no others: one of a CPU is none of a GPU."""
        self.found.results.clear()
        self.found.results |= self.store.known(self._units, self.models)
        self._cached = sum(not self._is_due(one) for one in self._units)
        others = len(self._units) - len(self.chosen & self._units.keys())
        known = self._cached - others
        if known:
            self._tell(f"{known} of {len(self._units)} kernels have a result already")
        if others:
            self._tell(f"{others} of {len(self._units)} kernels are not to be graded now")

    def _loop(self) -> None:
        looked = alive = time.monotonic()
        while not self._schedule.over:
            self._begin_due()
            self.watch(self.state())
            for end in self.crew.ended(LOOK_S / 2):
                self._end(end)
            now = time.monotonic()
            if now - looked > LOOK_S:
                self._look()
                looked = time.monotonic()
            alive = now if self._schedule.lanes else alive
            if now - alive > NOBODY_S:
                raise CannotGrade(
                    "No worker is left.", "Start some again; then go on with --resume."
                )
        self.watch(self.state())

    def state(self) -> RunState:
        schedule, elapsed = self._schedule, time.monotonic() - self._began
        done, left = len(schedule.done) + len(schedule.given_up), schedule.left
        return RunState(
            total=len(self._units),
            before=self._cached,
            done=done,
            given_up=len(schedule.given_up),
            running={
                self._newcomers.name(name): self._title(job)
                for name, job in schedule.working.items()
            },
            workers=lanes.described(list(schedule.lanes.values())),
            elapsed_s=elapsed,
            left_s=elapsed / done * left if done else None,
            exercises=tuple(self._counts()),
            said=tuple(self._last),
        )

    def _counts(self) -> Iterator[Counts]:
        total, graded, passed = Counter[str](), Counter[str](), Counter[str]()
        for one, unit in self._units.items():
            name = unit.exercise.name
            total[name] += 1
            if one in self.found.results:
                graded[name] += 1
                passed[name] += self.found.results[one][1].status is Status.PASS
        for exercise in self.plan.exercises:
            name = exercise.name
            yield Counts(name, total[name], graded[name], passed[name])

    def _tell(self, text: str) -> None:
        self._last.append(text)
        self.say(text)

    def _title(self, job: Job) -> str:
        if not job.unit:
            return "makes way for a measurement"
        name = self._work[job.unit].unit.exercise.name
        return f"{name}, measuring" if job.part is Part.SECOND else name

    # -- workers

    def _uses_gpu(self, probes: Sequence[lanes.Probe]) -> bool:
        there = any(probe.cards for probe in probes)
        if self.device == "cuda" and not there:
            raise CannotGrade("No worker has a GPU.", "Grade in simulation: --device cpu.")
        return self.device != "cpu" and there

    def _add_models(self, probes: Sequence[lanes.Probe]) -> None:
        cards = {card.model for one in probes for card in one.cards}
        models = tuple(sorted({*self.models, *(cards if self._on_gpu else {"cpu"})}))
        if models != self.models:
            self.models = models
            self.remember(models)

    def _join(self, probes: Sequence[lanes.Probe]) -> None:
        # Of workers that come later; a model that is new may have graded in an earlier run.
        before = self.models
        self._add_models(probes)
        if self.models != before:
            lacking = {n: one for n, one in self._units.items() if n not in self.found.results}
            known = self.store.known(lacking, self.models)
            self.found.results |= known
            if not self.again and (taken := self._schedule.withdraw(known)):
                self._cached += taken
                self._tell(f"{taken} of {len(self._units)} kernels have a result already")
        self._arrive(probes)

    def _arrive(self, probes: Sequence[lanes.Probe]) -> None:
        given, idle = lanes.assigned(probes, self._schedule.lanes.values(), self._on_gpu)
        for lane in given:
            self._schedule.arrived(lane)
        if given:
            self._tell(f"grading with {lanes.described(list(self._schedule.lanes.values()))}")
        if idle:
            self._tell(f"{len(idle)} workers take no part: no GPU has room for them")

    def _look(self) -> None:
        there = self.crew.workers()
        for name in set(self._schedule.lanes) - there.keys():
            self._vanish(name, f"the worker {self._newcomers.name(name)} is gone")
        late = time.monotonic() - LONGEST_JOB_S
        for name in [n for n, since in self._since.items() if since < late]:
            self._vanish(name, f"the worker {self._newcomers.name(name)} did not end a job")
        if self._newcomers.are_among(there):
            lacks_gpu = self.device == "auto" and self.models == ("cpu",)
            self._join(self._newcomers.probed(there, lacks_gpu))

    def _vanish(self, name: str, why: str) -> None:
        self._tell(why)
        self.crew.forget(name)
        self._since.pop(name, None)
        self._schedule.vanished(name, why)

    # -- jobs

    def _begin_due(self) -> None:
        for job in self._schedule.due():
            self._since[job.lane.name] = time.monotonic()
            if job.part is Part.CLOSE:
                self.crew.begin(job.lane.name, tasks.close)
                continue
            work = self._work[job.unit]
            asked = {
                "root": str(self.root),
                "exercise": work.unit.exercise.name,
                "part": job.part.value,
                "seed": work.seed,
                "gpu": job.lane.gpu,
                "hardened": work.unit.hardened,
                "first": result_json(work.first) if work.first is not None else None,
            }
            self.crew.begin(job.lane.name, tasks.grade, json.dumps(asked), work.unit.content)

    def _end(self, end: Ended) -> None:
        job = self._schedule.working.get(end.worker)
        self._since.pop(end.worker, None)
        if job is None:
            return
        if job.part is Part.CLOSE:
            if end.text is None:
                self._vanish(end.worker, f"the worker {end.worker} did not end its judge")
            else:
                self._schedule.ended(end.worker)
            return
        self._settle(job, end)

    def _settle(self, job: Job, end: Ended) -> None:
        answer = Answer.read(end.text) if end.text is not None else Answer(fault=end.fault)
        self._log(job, answer)
        self._seconds.setdefault(job.part, []).append(answer.seconds)
        if answer.result is None:
            self._fault(job, answer.fault)
        elif answer.measure:
            self._work[job.unit].first = answer.result
            self._schedule.ended(job.lane.name, measure=True)
        elif answer.result.status in GRADED:
            unit = self._units[job.unit]
            key = self.store.keep(unit, job.lane.model, answer.result)
            self.found.results[job.unit] = key, answer.result
            self.found.unsettled.pop(job.unit, None)
            self._schedule.ended(job.lane.name)
        else:
            self.found.unsettled[job.unit] = answer.result
            self._fault(job, why_of(answer.result), again=may_change(answer.result))

    def _fault(self, job: Job, why: str, again: bool = True) -> None:
        where = self._newcomers.name(job.lane.name)
        self._said[why] += 1
        if self._said[why] <= MOST_SAID:
            self._tell(f"{self._title(job)} on {where}: {why}")
        if again:
            self._work[job.unit].first = None
            self._schedule.failed(job.lane.name, why)
        else:
            self.found.faults[job.unit] = why
            self._schedule.ended(job.lane.name)

    def _log(self, job: Job, answer: Answer) -> None:
        where = f"{self._newcomers.name(job.lane.name)}, {job.lane.model}"
        lines = [f"{self._title(job)} on {where}, {answer.seconds:.1f} s: {answer.words}"]
        if answer.log.strip():
            lines.append(answer.log.rstrip())
        self.store.log(self._students[job.unit], "\n".join(lines))
