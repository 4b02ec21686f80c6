"""One kernel file being graded against one exercise: its worker, its steps so far, its result."""

from __future__ import annotations

import hashlib
import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path

from torch import Tensor

from grader import backends
from grader.course import Exercise
from grader.grading.options import Options
from grader.machine import environment, gpu_is_lost, lost_gpu
from grader.model import (
    CannotGrade,
    Case,
    Count,
    Environment,
    Failure,
    GraderError,
    Kernel,
    Memory,
    Outcome,
    Result,
    Sanitized,
    Speed,
    Status,
    Step,
    Traffic,
    Wall,
    printable,
    status_of,
)
from grader.sandbox import (
    ANSWERS,
    Arena,
    CudaArena,
    Executor,
    ForkServer,
    HostArena,
    KernelFailure,
    Pretender,
    RemoteKernel,
    WorkerLink,
    entry_of,
    walls,
)
from grader.speed import Sizing, bytes_per_row, rounds, size, survey

CHECK_ARENA = 256 << 20  # bytes; on the CPU only the pages that are touched exist


@dataclass(frozen=True)
class Finding:
    """What one step found: nothing wrong, unless it says otherwise."""

    summary: str
    failure: Failure | None = None
    outcome: Outcome = Outcome.PASS
    speed: Speed | None = None
    memory: Memory | None = None
    traffic: tuple[Traffic, ...] = ()
    counts: tuple[Count, ...] = ()


@dataclass(frozen=True)
class Counted:
    """One call in simulation: what was counted (`link.Counts`), and what the file held in bytes."""

    case: Case
    inputs: Mapping[str, Tensor | float]
    outputs: Mapping[str, Tensor]
    unwritten: Mapping[str, Tensor]
    counts: Mapping[str, int]
    peak: int


class ForkServers:
    """The parents of workers, shared by all kernels that one judge grades."""

    def __init__(self) -> None:
        self._servers: dict[tuple[str, str, bool], ForkServer] = {}
        self._walls: dict[tuple[Path, str], tuple[Wall, ...]] = {}

    def fork_server(self, backend: str, device: str, *, trusted: bool = False) -> ForkServer:
        """The fork_server for this backend and device, started if it is new.

        Ceilings have a trusted one, for a fork_server has one worker at a time.
        """
        key = (backend, device, trusted)
        if key not in self._servers:
            self._servers[key] = ForkServer(backend, device)
            self._servers[key].start()
        return self._servers[key]

    def walls(self, exercise: Exercise, device: str) -> tuple[Wall, ...]:
        """Which walls hold around kernel files of this exercise, tried once for each device.

        Raises CannotGrade when they cannot be tried.
        """
        key = (exercise.folder, device)
        if key not in self._walls:
            fork_server = self.fork_server(exercise.spec.backend, device)
            fork_server.clear_home()  # or the trials meet what another exercise's kernel left there
            self._walls[key] = walls.hold(fork_server, exercise)
        return self._walls[key]

    def adopt(self, fork_server: ForkServer) -> None:
        """Use a fork_server that is started already."""
        self._servers[fork_server.backend, fork_server.device, False] = fork_server

    def close(self) -> None:
        for fork_server in self._servers.values():
            fork_server.close()
        self._servers.clear()


@dataclass(frozen=True)
class Bench:
    """A kernel file on one device: the memory, what carries calls out, and the callable."""

    arena: Arena
    executor: Executor
    remote: RemoteKernel


@dataclass
class Grading:
    exercise: Exercise
    kernel_path: Path
    options: Options
    fork_servers: ForkServers
    steps: dict[str, Step] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spec = self.exercise.spec
        self.kernel = self.kernel_path.read_bytes()
        self.failing: dict[Failure, Case] = {}  # by the failure that names it in its words
        self.started_at = datetime.now(UTC)
        self._began = time.monotonic()
        self._properties: list[tuple[str, float, Outcome, Failure | None]] = []
        self._benches: dict[str, Bench] = {}
        self._printed = ""
        self._walls: dict[str, tuple[Wall, ...]] = {}
        self._environment: Environment | None = None
        self._ahead: Future[Counted] | None = None
        self._counted: Counted | None = None

    def _bench(self, device: str) -> Bench:
        """Memory and a worker on this device; the worker starts with its first use."""
        if device not in self._benches:
            arena = (HostArena if device == "cpu" else CudaArena)(CHECK_ARENA)
            if device == "cuda":
                self._environment = environment(device)  # now, while the GPU is there
                # They import while the first steps run: the simulator, and what times ceilings.
                if backends.find(self.spec.backend).can.simulate:
                    self.fork_servers.fork_server(self.spec.backend, "cpu")
                self.fork_servers.fork_server(backends.reference().name, device, trusted=True)
            executor: Executor
            if self.options.pretend is not None:
                executor = Pretender(self.spec, ANSWERS[self.options.pretend], arena)
            else:
                self._walls[device] = self.fork_servers.walls(self.exercise, device)
                if self.options.hardened:
                    walls.require(self._walls[device])
                fork_server = self.fork_servers.fork_server(self.spec.backend, device)
                fork_server.clear_home()
                executor = WorkerLink(entry_of(self.spec), self.kernel, fork_server, arena)
            self._benches[device] = Bench(arena, executor, RemoteKernel(self.spec, executor, arena))
        return self._benches[device]

    @property
    def executor(self) -> Executor:
        """What carries the kernel's calls out."""
        return self._bench(self.options.device).executor

    @property
    def remote(self) -> RemoteKernel:
        """The kernel as a callable."""
        return self._bench(self.options.device).remote

    @property
    def simulated(self) -> RemoteKernel:
        """The kernel as a callable that runs on the CPU, also where there is a GPU."""
        return self._bench("cpu").remote

    @cached_property
    def sizing(self) -> Sizing:
        """How large the scored case is on this GPU: asked once, so that it is one for all steps.

        Raises CannotGrade when the free memory holds too little to measure anything.
        """
        gpu = survey(self.options.gpu_memory)
        # Multiples of 16 elements, so that neither the kernel nor the ceiling has an odd tail.
        return size(gpu, bytes_per_row(self.spec), multiple=16, rounds=rounds(self.spec))

    def replay(self, case: Case) -> str:
        """The command that grades this kernel file on one case again."""
        options = {self.exercise.kernel: "", self.exercise.solution: " --solution"}
        which = options.get(self.kernel_path, f" --kernel {shlex.quote(self.shown_path)}")
        return f"grader check {self.exercise.name}{which} --case '{case}'"

    @property
    def shown_path(self) -> str:
        """The kernel file, relative to the course where it lies in it."""
        with suppress(ValueError):
            return str(self.kernel_path.resolve().relative_to(self.exercise.root.resolve()))
        return str(self.kernel_path)

    @property
    def source(self) -> list[str]:
        """The lines of the kernel file, as Python numbers them."""
        return re.split(r"\r\n|\r|\n", self.kernel.decode(errors="replace"))

    def count_ahead(self, work: Callable[[Grading], Counted]) -> None:
        """Begin what the traffic step will want to know, beside the steps that use the GPU."""
        self._ahead = ThreadPoolExecutor(1).submit(work, self)

    def counted(self, work: Callable[[Grading], Counted]) -> Counted:
        """What was begun ahead, or done before, or else is done now."""
        if self._counted is None:
            self._counted = work(self) if self._ahead is None else self._ahead.result()
        return self._counted

    # -- steps

    def needs(self, name: str) -> str | None:
        """The earliest step before `name` that neither passed nor was skipped, if there is one."""
        order = self.spec.steps
        for earlier in order[: order.index(name)]:
            step = self.steps.get(earlier)
            if step is None or step.outcome not in (Outcome.PASS, Outcome.SKIP):
                return earlier
        return None

    def run(self, name: str, work: Callable[[Grading], Finding]) -> Step:
        """Carry a step out and record it; whatever happens, a step comes out."""
        began = time.monotonic()
        needed = self.needs(name)
        if needed is not None:
            found = Finding(f"not run: needs {needed}", outcome=Outcome.NOT_RUN)
        else:
            found = self._settled(work)
        return self._record(name, found, time.monotonic() - began)

    def _settled(self, work: Callable[[Grading], Finding]) -> Finding:
        try:
            return work(self)
        except KernelFailure as error:
            return Finding("", error.failure, outcome_of(error.failure))
        except GraderError as error:
            outcome = Outcome.CANNOT_GRADE if isinstance(error, CannotGrade) else Outcome.ERROR
            failure = Failure(
                kind=outcome.value, message=error.message, hint=error.next_step or None
            )
            return Finding(error.message.splitlines()[0], failure, outcome)
        except RuntimeError as error:
            if not gpu_is_lost(error):
                raise
            return Finding("the GPU is gone", lost_gpu(error), Outcome.CANNOT_GRADE)

    def _record(self, name: str, found: Finding, duration_s: float) -> Step:
        most = self.spec.worth[name]
        outcome = found.outcome
        earned = most if outcome is Outcome.PASS and self.options.case is None else 0
        step = Step(
            name=name,
            outcome=outcome,
            points=earned,
            max_points=most,
            summary=found.summary,
            duration_s=round(duration_s, 3),
            failure=found.failure,
            speed=found.speed,
            memory=found.memory,
            traffic=found.traffic,
            counts=found.counts,
        )
        self.steps[name] = step
        return step

    def record_property(
        self, title: str, duration_s: float, outcome: Outcome, failure: Failure | None
    ) -> None:
        """Take down one test of test_kernel.py; together they are the step `properties`."""
        self._properties.append((title, duration_s, outcome, failure))

    def settle_properties(self) -> None:
        """Make the step `properties` from the tests that ran."""
        needed = self.needs("properties")
        ran = self._properties
        if needed is not None:
            found = Finding(f"not run: needs {needed}", outcome=Outcome.NOT_RUN)
        elif not ran:
            found = Finding(
                "no property was tried",
                Failure(
                    kind="error",
                    message=f"{self.exercise.tests} holds no test: nothing passes by default",
                    hint="Tell whoever wrote the exercise; your kernel is not at fault.",
                ),
                Outcome.ERROR,
            )
        else:
            bad = [(t, o, f) for t, _, o, f in ran if o is not Outcome.PASS]
            found = Finding(_summary_of([t for t, *_ in ran], [t for t, *_ in bad]))
            if bad:
                found = Finding(found.summary, bad[0][2], bad[0][1])
        self._record("properties", found, sum(d for _, d, _, _ in ran))

    # -- the end

    def result(self, interrupted: bool = False, sanitized: tuple[Sanitized, ...] = ()) -> Result:
        """The record of this check. Steps that never ran leave it unfinished, never passed."""
        steps = tuple(self.steps[name] for name in self.spec.steps if name in self.steps)
        status = status_of(steps, self.spec.steps, sanitized)
        message = ""
        if self.options.case is not None:
            message = f"only the case {self.options.case} was tried: this earns no points"
        return Result(
            schema="grader/result/v1",
            exercise=self.exercise.name,
            title=self.spec.title,
            status=Status.INTERRUPTED if interrupted else status,
            points=sum(step.points for step in steps),
            max_points=sum(self.spec.worth.values()),
            message=message,
            kernel=Kernel(
                path=self.shown_path,
                sha256=hashlib.sha256(self.kernel).hexdigest(),
            ),
            environment=self._environment or environment(self.options.device),
            seed=self.options.seed,
            started_at=self.started_at.isoformat(timespec="seconds"),
            duration_s=round(time.monotonic() - self._began, 3),
            steps=steps,
            sanitized=sanitized,
            walls=_everywhere(self._walls.values()),
            hardened=self.options.hardened,
            output=self._printed,
        )

    def close(self) -> None:
        if self._ahead is not None:
            wait([self._ahead])
        for bench in self._benches.values():
            self._printed = printable(self._printed + bench.executor.close())
            bench.arena.close()
        self._benches.clear()


def _everywhere(tried: Iterable[Sequence[Wall]]) -> tuple[Wall, ...]:
    """The walls that hold wherever they were tried: on a GPU machine, in two kinds of worker."""
    held: dict[str, bool] = {}
    for wall in chain(*tried):
        held[wall.name] = held.get(wall.name, True) and wall.held
    return tuple(Wall(name=name, held=holds) for name, holds in held.items())


def outcome_of(failure: Failure) -> Outcome:
    """The stub's own NotImplementedError is no failure: the work has not begun."""
    return Outcome.NOT_STARTED if failure.kind == "not_started" else Outcome.FAIL


def _summary_of(tried: list[str], failed: list[str]) -> str:
    if failed:
        of = (
            "1 property fails"
            if len(tried) == 1
            else f"{len(failed)} of {len(tried)} properties fail"
        )
        return f"{of}: {', '.join(failed)}"
    hold = "1 property holds" if len(tried) == 1 else f"{len(tried)} properties hold"
    return f"{hold}: {', '.join(tried)}"
