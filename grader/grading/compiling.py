"""Compile what a kernel file launches, in a process of the judge's, each text once a judge.

`grader/worker/compile_jobs.py` says what lies in the private folder of the process.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader import backends
from grader.correctness import expect, first_mismatch, numbers_of
from grader.grading.session import Grading
from grader.grading.trials import failure_from, trusted, with_case
from grader.grading.workers import Bench
from grader.model import CannotGrade, Case, Failure, GraderError, Specialisation, texts
from grader.sandbox import KernelFailure, NotSimulated, commands

REQUIRED_S = 120.0  # for one compilation, of a GPU for which the kernel must compile
ALL_S = 600.0  # for all of them
REPORTED_S = 30.0  # of another one
MOST_RESULTS = 1 << 20  # bytes that are read
LARGEST = 2**31 - 1  # of any figure
LONGEST_ERROR = 300  # characters
NO_KERNEL = Failure(
    kind="no_kernel",
    message="the call launches no kernel, so that nothing can be compiled",
    hint="Do the work in a kernel, for each dtype and each shape.",
)
# The path of the kernel file, in a folder with a random name.
_PATH = re.compile(r'loc\("[^"\n]*/kernel\.py"')


@dataclass(frozen=True)
class Job:
    """One kernel to compile, for the compute capability `target`."""

    dtype: str
    kernel: Specialisation
    target: int
    required: bool


@dataclass(frozen=True)
class Code:
    """The figures of machine code; sizes are in bytes. `loads` and `stores` are by their bits.

    `arithmetic` counts instructions, as `grader/worker/sass.py` says; None where it cannot.
    """

    registers: int
    spills: int
    shared: int
    tensor: int
    threads: int
    loads: tuple[tuple[int, int], ...]
    stores: tuple[tuple[int, int], ...]
    arithmetic: int | None = None


@dataclass(frozen=True)
class Refusal:
    """The compiler's sentence, and the line of the kernel file, where it is known."""

    error: str
    line: int | None


@dataclass(frozen=True)
class TooLong:
    seconds: float


@dataclass(frozen=True)
class Missing:
    """A tool that the compilation needs; nothing is compiled without it."""

    tool: str


@dataclass(frozen=True)
class Fault:
    """The compilation failed, but the compiler refused nothing: this is not the kernel's fault."""

    text: str


@dataclass(frozen=True)
class Killed:
    """The system killed the compiler."""


@dataclass(frozen=True)
class Untried:
    """Not compiled, because others took too long or the compiler's process ended."""


Built = Code | Refusal | TooLong | Missing | Fault | Killed | Untried

# By the content of a job. A judge grades many files, and one file twice.
_built: dict[str, Code | Refusal] = {}


def launched(grading: Grading) -> dict[str, tuple[Specialisation, ...]]:
    """Return the kernels that one simulated call of each dtype launches.

    Raises KernelFailure when a call goes wrong, gives a wrong output, or launches nothing; and
    NotSimulated.
    """
    bench = grading.workers.on("cpu")
    found = {}
    for dtype in grading.spec.dtypes:
        case = _case(grading, dtype)
        if backends.find(grading.spec.backend).can.dry_run:
            found[dtype] = _unsimulated(grading, bench, case)
            continue
        inputs = trusted(partial(bench.remote.inputs, case), "drawing the inputs", case)
        try:
            outputs = bench.remote.run(inputs)
            found[dtype] = tuple(bench.executor.kernels())
        except KernelFailure as error:
            raise KernelFailure(with_case(error.failure, grading, case)) from None
        # Else other kernels, or none, would be compiled than those that do the work.
        expected = trusted(partial(expect, grading.spec, case, inputs), "the reference", case)
        unwritten = bench.remote.unwritten(outputs)
        mismatch = first_mismatch(expected, outputs, unwritten)
        failure = None if found[dtype] or not grading.spec.kernels else NO_KERNEL
        if mismatch is not None:
            numbers = numbers_of(grading.spec, inputs, expected, outputs, unwritten)
            failure = failure_from(mismatch, grading.spec.backend, numbers)
        if failure is not None:
            raise KernelFailure(with_case(failure, grading, case))
    return found


def _unsimulated(grading: Grading, bench: Bench, case: Case) -> tuple[Specialisation, ...]:
    """Return the kernels that a call would launch, of a backend that only notes its launches.

    No output can be compared: of a verdict this step is never more than a part.
    """
    inputs = trusted(partial(bench.remote.inputs, case), "drawing the inputs", case)
    reason = NotSimulated("its own code needs what its kernels compute")
    try:
        try:
            bench.remote.run(inputs)
        except NotSimulated as error:  # all went well, at least until the first launch
            reason = error
        if bench.remote.run_without_kernels(inputs) is None:
            raise reason
        kernels = tuple(bench.executor.kernels())
    except KernelFailure as error:
        if error.failure.kind == NotSimulated.kind:
            raise reason from None
        raise KernelFailure(with_case(error.failure, grading, case)) from None
    if grading.spec.kernels and not kernels:
        raise KernelFailure(with_case(NO_KERNEL, grading, case))
    return kernels


def _case(grading: Grading, dtype: str) -> Case:
    """Return a case like the scored one, whose kernels the speed step runs, but of two rows.

    Of one row an extent would be 1, for which a compiler makes another kernel. A worker that
    simulates by itself is slow, and gets the small counted case.
    """
    spec = grading.spec
    like = spec.counted if backends.find(spec.backend).device is None else spec.sample_case
    case = replace(like, dtype=dtype, seed=grading.options.seed)
    shape = tuple(max(2, extent) for extent in case.shape) if len(case.shape) > 1 else case.shape
    return replace(case, shape=shape)


def build(backend: str, jobs: Sequence[Job], waiting: CompilerProcess | None = None) -> list[Built]:
    """Compile all jobs, the required ones first, in a process that waits for them or in a new one.

    Raises GraderError when the compiler's process fails, or one of its required jobs; CannotGrade
    when the system killed it.
    """
    keys = [_key(backend, job) for job in jobs]
    new = {key: job for key, job in zip(keys, jobs, strict=True) if key not in _built}
    first = sorted(new.items(), key=lambda item: not item[1].required)
    built: list[Built] = []
    if first:
        with closing(waiting or CompilerProcess(backend)) as process:
            built = process.compile([job for _, job in first])
    done = dict(zip((key for key, _ in first), built, strict=False))  # a timeout ends them early
    _built.update({key: one for key, one in done.items() if isinstance(one, Code | Refusal)})
    results = [_built.get(key) or done.get(key) or Untried() for key in keys]
    for job, result in zip(jobs, results, strict=True):
        if job.required and isinstance(result, Fault):
            raise GraderError(f"The compiler's process failed: {result.text}")
        if job.required and isinstance(result, Killed):
            raise CannotGrade(
                "The system killed the compiler, as it does when memory runs out.",
                "Check again without other programs that need much of it.",
            )
    return results


def _key(backend: str, job: Job) -> str:
    versions = [importlib.metadata.version(p.name) for p in backends.find(backend).packages]
    options = asdict(job.kernel.options)
    content = [_text(job.kernel), options, job.target, job.required, versions]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _text(kernel: Specialisation) -> str:
    return _PATH.sub('loc("kernel.py"', kernel.text)


class CompilerProcess:
    """The process that compiles, behind walls: it loads the compiler, and waits for jobs.

    It serves one call of `compile`. Raises CannotGrade when it cannot start.
    """

    def __init__(self, backend: str) -> None:
        with ExitStack() as stack:
            folder = stack.enter_context(commands.private_home())
            self._home = folder / "home"  # the process makes its root beside it
            self._home.mkdir(mode=0o700)
            program = commands.program(
                f"grader.backends.{backend}.{backends.find(backend).compiler}",
                *(str(self._home), str(ALL_S), commands.walls_left_out()),
            )
            self._command = commands.Command(program, self._home)
            stack.callback(self._command.close)
            self._stack = stack.pop_all()

    def compile(self, jobs: Sequence[Job]) -> list[Built]:
        """Compile jobs in their order. Raises GraderError when the process fails."""
        limits = [REQUIRED_S if job.required else REPORTED_S for job in jobs]
        listed = []
        for number, (job, limit_s) in enumerate(zip(jobs, limits, strict=True)):
            _write(self._home / f"{number}.text", _text(job.kernel))
            options = asdict(job.kernel.options)
            one = {"file": f"{number}.text", "target": job.target, "limit_s": limit_s}
            listed.append(one | {"options": options, "sass": job.required})
        _write(self._home / "jobs.json", json.dumps(listed))
        limit_s = min(sum(limits), ALL_S + REQUIRED_S)  # the last one may begin late
        done = self._command.finish(commands.START_S + limit_s)
        built = _results(self._home / "built.jsonl")
        if not built:
            said = done.output.strip().splitlines()
            raise GraderError(
                f"The compiler's process ended: {said[-1] if said else 'it said nothing'}"
            )
        return built

    def close(self) -> None:
        self._stack.close()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)  # where the judge is root, the process becomes another user


def _results(path: Path) -> list[Built]:
    try:
        # The process compiled a stranger's text: the file may be anything by now.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return [_result(json.loads(line)) for line in file.read(MOST_RESULTS).splitlines()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _result(value: Mapping[str, Any]) -> Built:
    """Read one line. Raises ValueError, KeyError or TypeError if it is malformed."""
    if "missing" in value:
        return Missing(_sentence(value["missing"]))
    if "killed" in value:
        return Killed()
    if "fault" in value:
        return Fault(_sentence(value["fault"]))
    if "timed_out" in value:
        return TooLong(_seconds(value["timed_out"]))
    if "error" in value:
        line = value["line"]
        return Refusal(_sentence(value["error"]), None if line is None else _count(line))
    figures = ("registers", "spills", "shared", "tensor", "threads")
    return Code(
        **{name: _count(value[name]) for name in figures},
        loads=_widths(value["loads"]),
        stores=_widths(value["stores"]),
        arithmetic=None if value["arithmetic"] is None else _count(value["arithmetic"]),
    )


def _widths(value: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((_count(int(bits)), _count(number)) for bits, number in value.items()))


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise ValueError(f"{value!r} is not a count")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= LARGEST:
        raise ValueError(f"{value!r} is not a time")
    return float(value)


def _sentence(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return texts.one_line(value, LONGEST_ERROR)
