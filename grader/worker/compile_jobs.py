"""The process in which the judge compiles what kernel files launched, without a GPU.

A backend's `compiler` calls `carry_out` with a private folder. It loads the compiler and waits for
the end of its standard input. Then the folder holds jobs.json, a list of
`{"file", "options", "target", "limit_s", "sass"}`, and the files, each with the text of one kernel.
After `all_s` seconds no further job begins. A line of JSON is appended to built.jsonl for each:

    {"registers", "spills", "shared", "tensor", "threads", "loads", "stores", "arithmetic"}
                         sizes are in bytes, `arithmetic` is null where the code is not decoded
    {"error", "line"}    the compiler refuses the kernel; at a line of the kernel file, or null
    {"timed_out"}        seconds; the jobs behind it are not tried
    {"missing"}          a tool that is not installed
    {"fault"}            the job failed for another reason than the compiler's refusal
    {"killed"}           the system killed the job, or a tool that it started

Loads and stores are counted with `sass`, for nvdisasm may take longer than the compiler. The texts
come from strangers: all of this happens behind a worker's walls, and each job has a process of its
own, in which the compiler may crash. A few of these run at once.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.machine import processes
from grader.worker import confine, pids
from grader.worker.abandoned import remove_if_abandoned
from grader.worker.worker_home import UNUSED_USERS, Place

LONGEST_ERROR = 300  # characters
ENDS_S = 1.0  # after its last word, for a job to end by itself
LIMITS = {
    resource.RLIMIT_DATA: 8 << 30,  # bytes
    resource.RLIMIT_FSIZE: 256 << 20,  # bytes
    resource.RLIMIT_NOFILE: 4096,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_CPU: 900,  # seconds, of a process that may have lost its parent
}
MOST_SAID = 1 << 20  # characters of what the compiler prints
MOST_ANSWER = 1 << 16  # bytes
FAULTS = (AttributeError, ImportError, NameError, OSError, subprocess.SubprocessError)
AT_ONCE = min(4, os.cpu_count() or 1)


class Refused(Exception):
    """The compiler refuses the kernel, or we do before it; `line` is of the kernel file."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line

    def dump(self) -> dict[str, Any]:
        return {"error": str(self)[:LONGEST_ERROR], "line": self.line}


class Killed(Exception):
    """The system killed a tool that the job had started, as for want of memory."""


@dataclass(frozen=True)
class Compiler:
    """A backend's compiler.

    `load` imports once what all jobs need, and `missing` returns the name of a tool that is not
    installed, or None. `build(path, job)` returns the figures of the kernel in the file; it may
    raise Refused, Killed, and other errors, which `diagnosed(log, error, text)` explains, but those
    that no compiler raises (FAULTS). After a crash `crashed(log)` does. In the file `log` is what
    the compiler printed to stderr.
    """

    load: Callable[[], None]
    missing: Callable[[], str | None]
    build: Callable[[Path, Mapping[str, Any]], dict[str, Any]]
    diagnosed: Callable[[Path, Exception, str], Refused]
    crashed: Callable[[Path], Refused]


def carry_out(compiler: Compiler, folder: Path, all_s: float, walls: str) -> None:
    """Carry out a folder's jobs; `walls` names those to leave out, separated by commas."""
    remove_if_abandoned(folder, "jobs.json")
    without = [name.strip() for name in walls.split(",") if name.strip()]
    if "pids" not in without and pids.enter_pid_namespace():
        os.setsid()  # the session that the judge made is one outside
    _limit()
    confine.build(Place(folder, "cpu", random.choice(UNUSED_USERS)), without)
    compiler.load()
    sys.stdin.buffer.read()
    jobs = json.loads(text_of(folder / "jobs.json"))
    built_in_order = _in_order(compiler, folder, jobs, time.monotonic() + all_s)
    if missing := compiler.missing():
        built_in_order = ({"missing": missing} for _ in jobs)
    tried = 0
    with (folder / "built.jsonl").open("a") as results, closing(built_in_order) as every:
        for built in every:
            results.write(json.dumps(built) + "\n")
            results.flush()
            tried += 1
            if "timed_out" in built:
                break
        else:
            if tried < len(jobs):  # no further one began in time
                results.write(json.dumps({"timed_out": all_s}) + "\n")


def _limit() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for kind, limit in LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (least, least))


@dataclass
class _Running:
    """A job's process, the pipe that it answers on, its answer so far, and where its log is."""

    number: int
    child: int
    pipe: int
    log: Path
    limit_s: float
    deadline: float
    said: bytes = b""


def _in_order(
    compiler: Compiler, folder: Path, jobs: Sequence[Mapping[str, Any]], deadline: float
) -> Generator[dict[str, Any], None, None]:
    """Yield the jobs' answers in their order. A job begins as soon as any other has ended."""
    waiting, running = deque(enumerate(jobs)), list[_Running]()
    answers: dict[int, dict[str, Any]] = {}
    try:
        for number in range(len(jobs)):
            while number not in answers:
                while waiting and len(running) < AT_ONCE and time.monotonic() < deadline:
                    running.append(_begin(compiler, folder, *waiting.popleft()))
                if not running:
                    return
                ended, answer = _first_answer(running)
                running.remove(ended)
                answers[ended.number] = _answered(compiler, ended, answer)
            yield answers.pop(number)
    finally:
        for job in running:
            _end(job)


def _begin(compiler: Compiler, folder: Path, number: int, job: Mapping[str, Any]) -> _Running:
    ours, theirs = os.pipe()
    path = folder / job["file"]
    log = path.with_suffix(f".{job['target']}.errors")
    child = os.fork()
    with suppress(OSError):  # both do it, for neither knows which comes first
        os.setpgid(child, 0)
    if child == 0:
        try:
            processes.die_with_parent(signal.SIGKILL)
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
            os.close(ours)
            built = _answer(compiler, path, job, log)
            os.write(theirs, json.dumps(built).encode())
        finally:
            os._exit(0)  # whatever happens: the rest of this program is the parent's
    os.close(theirs)
    limit_s = job["limit_s"]
    return _Running(number, child, ours, log, limit_s, time.monotonic() + limit_s)


def _answered(compiler: Compiler, job: _Running, answer: bytes | None) -> dict[str, Any]:
    killed = answer == b"" and _was_killed(job)
    _end(job)
    if answer is None:
        return {"timed_out": job.limit_s}
    if answer:
        built: dict[str, Any] = json.loads(answer)
        return built
    return {"killed": True} if killed else compiler.crashed(job.log).dump()


def _was_killed(job: _Running) -> bool:
    """Report whether a job without an answer was killed before we did it; it is not reaped."""
    until = time.monotonic() + ENDS_S
    while time.monotonic() < until:
        ended = os.waitid(os.P_PID, job.child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended:
            return (ended.si_code, ended.si_status) == (os.CLD_KILLED, signal.SIGKILL)
        time.sleep(0.001)
    return False


def _end(job: _Running) -> None:
    with suppress(ProcessLookupError):
        os.killpg(job.child, signal.SIGKILL)
    os.waitpid(job.child, 0)
    os.close(job.pipe)


def _first_answer(running: Sequence[_Running]) -> tuple[_Running, bytes | None]:
    """Wait for the end of a job; return it, and what it wrote: nothing if it died before.

    For a job that ran out of time, that is None.
    """
    while True:
        first = min(running, key=lambda job: job.deadline)
        left_s = max(0.0, first.deadline - time.monotonic())
        ready, _, _ = select.select([job.pipe for job in running], [], [], left_s)
        if not ready:
            return first, None
        for job in running:
            if job.pipe in ready:
                chunk = os.read(job.pipe, 1 << 16)
                job.said += chunk
                if len(job.said) > MOST_ANSWER:
                    return job, b""
                if not chunk:
                    return job, job.said


def _answer(compiler: Compiler, path: Path, job: Mapping[str, Any], log: Path) -> dict[str, Any]:
    try:
        return compiler.build(path, job)
    except Refused as error:
        return error.dump()
    except Killed:
        return {"killed": True}
    except FAULTS as error:
        return {"fault": f"{type(error).__name__}: {error}"[:LONGEST_ERROR]}
    except Exception as error:
        return compiler.diagnosed(log, error, text_of(path)).dump()


def text_of(path: Path) -> str:
    """Return the text as the compiler reads it, which takes line ends as they are."""
    return path.read_bytes().decode()


def said(log: Path) -> str:
    """Return the start of what a compiler printed, if it printed anything."""
    if not log.exists():
        return ""
    with log.open(errors="replace") as file:
        return file.read(MOST_SAID)
