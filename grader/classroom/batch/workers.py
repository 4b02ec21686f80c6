"""Workers as a run sees them: what a crew offers, and which of its workers may grade."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from grader.classroom.batch import lanes, tasks
from grader.classroom.batch.units import Versions
from grader.model import CannotGrade

PROBE_S = 120.0  # for a worker to describe itself; it imports the grader first
MOST_PROBES = 2  # of a worker that does not answer: on a cluster the first import may take longer
ARRIVAL_S = 300.0  # for a first worker: a batch system may have a queue


class Crew(Protocol):
    """Workers by their addresses, as `crew.Crew`."""

    def workers(self) -> dict[str, str]: ...
    def call(
        self, workers: Iterable[str], work: Callable[..., str], *arguments: object, limit_s: float
    ) -> dict[str, str]: ...
    def begin(self, worker: str, work: Callable[..., str], *arguments: object) -> None: ...
    def forget(self, worker: str) -> None: ...
    def ended(self, limit_s: float) -> Sequence[Ended]: ...


class Ended(Protocol):
    """The end of a worker's job, as `crew.Ended`."""

    @property
    def worker(self) -> str: ...
    @property
    def text(self) -> str | None: ...
    @property
    def fault(self) -> str: ...


@dataclass
class Newcomers:
    """Workers that have come: each describes itself once, before it may grade.

    `tell` gets a sentence for each one that may not. `exercises` are the names of what it grades.
    """

    crew: Crew
    root: Path
    exercises: Sequence[str]
    versions: Versions
    rules: Mapping[str, str]
    tell: Callable[[str], None]
    _names: dict[str, str] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _silent: Counter[str] = field(default_factory=Counter)  # probes that were not answered

    def name(self, worker: str) -> str:
        return self._names.get(worker, worker)

    def first(self, pause_s: float) -> list[lanes.Probe]:
        """Wait until a worker may grade. Raises CannotGrade if none comes within ARRIVAL_S."""
        deadline = time.monotonic() + ARRIVAL_S
        while True:
            there = self.crew.workers()
            if there and (probes := self.probed(there)):
                return probes
            if time.monotonic() > deadline:
                raise CannotGrade(
                    f"No worker that may grade came within {ARRIVAL_S / 60:.0f} min.",
                    "Read the refusals above and the cluster's queue, and run the command again.",
                )
            self.crew.ended(pause_s)

    def are_among(self, there: Mapping[str, str]) -> bool:
        return any(worker not in self._seen for worker in there)

    def probed(self, there: Mapping[str, str], lacks_gpu: bool = False) -> list[lanes.Probe]:
        """Have new workers describe themselves, and return those that may grade."""
        new = {at: name for at, name in there.items() if at not in self._seen}
        self._names |= new
        asked = time.time()
        root, names = str(self.root), list(self.exercises)
        answers = self.crew.call(new, tasks.probe, root, names, limit_s=PROBE_S)
        now = (asked + time.time()) / 2 if len(answers) == 1 else time.time()
        self._silent.update(new.keys() - answers.keys())
        given_up = [at for at in new if self._silent[at] == MOST_PROBES and at not in answers]
        self._seen |= answers.keys() | set(given_up)
        for at in given_up:
            said = "did not answer, and takes no part: read its log, and start it again"
            self.tell(f"The worker {new[at]} ({at}) {said}")
        probes = []
        for at, text in answers.items():
            probe = lanes.parse(at, text, now)
            if refused := lanes.refusal(probe, self.versions, self.rules, lacks_gpu):
                self.tell(refused.replace(at, f"{new[at]} ({at})"))
            else:
                probes.append(probe)
        return probes
