"""One kernel file being graded against one exercise: what its steps share."""

from __future__ import annotations

import re
import shlex
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from grader.course import Exercise
from grader.grading.options import Options
from grader.grading.plan import points_of, steps_of
from grader.grading.step import Step
from grader.grading.workers import Workers
from grader.model import BrokenExercise, Case, Failure, Outcome, Spec
from grader.model import Step as StepResult
from grader.sandbox import Executor, ForkServers, RemoteKernel
from grader.speed import (
    Gpu,
    Sizing,
    bound_of,
    bytes_per_row,
    fixed_size,
    rounds,
    size,
    slot_bytes,
    survey,
)

T = TypeVar("T")


@dataclass(frozen=True)
class TestRun:
    """The outcome of one of the exercise's own tests."""

    __test__ = False  # to pytest, which looks for tests by their names

    title: str
    duration_s: float
    outcome: Outcome
    failure: Failure | None


@dataclass
class Grading:
    exercise: Exercise
    kernel_path: Path
    options: Options
    fork_servers: ForkServers
    steps: dict[str, StepResult] = field(default_factory=dict)
    tests: list[TestRun] = field(default_factory=list)
    failing: dict[Failure, Case] = field(default_factory=dict)  # by the failure that names it
    tracebacks: list[str] = field(default_factory=list)  # of faults of ours or the exercise's
    on_step: Callable[[Step], None] = field(default=lambda step: None)  # called when one begins
    on_ended: Callable[[StepResult], None] = field(default=lambda step: None)

    def __post_init__(self) -> None:
        """Raise BrokenExercise for an exercise whose steps cannot be worked out."""
        self.kernel = self.kernel_path.read_bytes()
        # From here on the spec is that of the file's own backend, for every step.
        self.exercise = self.exercise.for_file(self.kernel)
        self.order: tuple[Step, ...] = steps_of(self.exercise.any_spec)
        self.points = points_of(self.exercise.any_spec)
        if self.exercise.tests.exists() and not any(step.runs_tests for step in self.order):
            raise BrokenExercise(
                f"{self.exercise.tests} would never run: none of the exercise's steps runs tests.",
                "Take the file away, or give the exercise another kind.",
            )
        self.failing: dict[Failure, Case] = {}  # by the failure that names it in its words
        self.started_at = datetime.now(UTC)
        self.began = time.monotonic()
        self.workers = Workers(self.exercise, self.kernel, self.options, self.fork_servers)
        self.at_close = ExitStack()  # of what ends with this grading
        self._begun: dict[Callable[[Grading], Any], Future[Any]] = {}
        self._done: dict[Callable[[Grading], Any], Any] = {}

    @cached_property
    def spec(self) -> Spec:
        """The spec of an exercise of the kind kernel. Raises UsageError for another kind's."""
        return self.exercise.spec

    @property
    def executor(self) -> Executor:
        return self.workers.on(self.options.device).executor

    @property
    def remote(self) -> RemoteKernel:
        return self.workers.on(self.options.device).remote

    @property
    def simulated(self) -> RemoteKernel:
        """The kernel as a callable that runs on the CPU, even where there is a GPU."""
        return self.workers.on("cpu").remote

    @cached_property
    def sizing(self) -> Sizing:
        """The size of the scored case on this GPU, asked once so that all steps use the same.

        Raises CannotGrade when the free memory holds too little to measure anything.
        """
        return self.sizing_of(self.spec)

    @cached_property
    def _gpu(self) -> Gpu:
        return survey(self.options.gpu_memory)

    def sizing_of(self, spec: Spec) -> Sizing:
        """Return the size of a spec's first scored case on this GPU, as `sizing` does."""
        scored, _ = spec.timed
        if scored.rows is not None:
            calls = bound_of(spec).calls
            return fixed_size(self._gpu, slot_bytes(spec, scored.rows), scored.rows, calls)
        # Multiples of 16 elements, so that neither the kernel nor the ceiling has an odd tail.
        return size(self._gpu, bytes_per_row(spec), multiple=16, rounds=rounds(spec))

    def replay(self, case: Case) -> str:
        options = {
            place: f"{which}{f' --backend {one.backend}' if one.backend else ''}"
            for one in self.exercise.in_all_backends
            for place, which in ((one.kernel, ""), (one.solution, " --solution"))
        }
        which = options.get(self.kernel_path, f" --kernel {shlex.quote(self.shown_path)}")
        return f"grader check {self.exercise.name}{which} --case '{case}'"

    @property
    def shown_path(self) -> str:
        with suppress(ValueError):
            return str(self.kernel_path.resolve().relative_to(self.exercise.root.resolve()))
        return str(self.kernel_path)

    @property
    def source(self) -> list[str]:
        return re.split(r"\r\n|\r|\n", self.kernel.decode(errors="replace"))

    def note(self, error: Exception) -> None:
        """Keep the traceback of a fault of ours that changed no verdict."""
        self.tracebacks.append("".join(traceback.format_exception(error)))

    def begin(self, work: Callable[[Grading], T]) -> None:
        """Begin work that a later step needs, in parallel to steps that use the GPU."""
        self._begun[work] = ThreadPoolExecutor(1).submit(work, self)

    def once(self, work: Callable[[Grading], T]) -> T:
        """Return the result of the work, which is done once for all steps."""
        if work not in self._done:
            begun = self._begun.get(work)
            self._done[work] = work(self) if begun is None else begun.result()
        found: T = self._done[work]
        return found

    def done(self, work: Callable[[Grading], T]) -> T | None:
        """Return the result of the work where `once` has it, else None."""
        return self._done.get(work)

    def forget(self, *works: Callable[[Grading], object]) -> None:
        """Have `once` do this work again."""
        for work in works:
            self._done.pop(work, None)
            self._begun.pop(work, None)

    def finish_begun(self) -> None:
        wait(self._begun.values())

    def close(self) -> None:
        try:
            self.at_close.close()  # which ends begun work that nobody waits for any more
            wait(self._begun.values())
        finally:
            self.workers.close()
