"""Small kernels of ours in real workers: their outputs, and the walls around them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing

import torch

from grader import backends
from grader.doctor.packages import REINSTALL
from grader.doctor.records import Finding, Group, note, ok, problem
from grader.model import GraderError, TensorRef, Wall
from grader.sandbox import (
    CudaArena,
    Entry,
    ForkServer,
    HostArena,
    KernelFailure,
    NotSimulated,
    NoWorker,
    Unfit,
    WorkerLink,
    view,
    walls,
)

ELEMENTS = 1000
ARENA_BYTES = 1 << 20

# These hold on every machine that the grader runs on; the others need features of Linux.
EVERYWHERE = {"own_session", "environment", "home", "file_size", "memory", "limits", "leftovers"}
DO_NOT_GRADE = "do not grade other people's kernels on this machine; docs/trust.md lists the walls"


def add(group: Group, name: str, fork_server: ForkServer) -> list[Finding]:
    """Have a worker add ELEMENTS numbers, and compare the sums."""
    trial = backends.find(fork_server.backend).trial
    file = backends.folder(fork_server.backend) / trial.file
    entry = Entry(trial.entry, ("a", "b", "out"))
    arena = (HostArena if fork_server.device == "cpu" else CudaArena)(ARENA_BYTES)
    refs = [
        TensorRef(name, 4096 * (1 + 2 * place), (ELEMENTS,), (1,), "float32")
        for place, name in enumerate(entry.parameters)
    ]
    with closing(arena), closing(WorkerLink(entry, file.read_bytes(), fork_server, arena)) as link:
        a, b, out = (view(arena.memory, ref) for ref in refs)
        a.copy_(torch.arange(ELEMENTS))
        b.copy_(torch.arange(ELEMENTS) ** 2 % 97)
        out.fill_(torch.nan)
        if fork_server.device == "cuda":
            torch.cuda.synchronize()
        link.call([refs])
        wrong = int((out != a + b).sum())
    if wrong:
        return [problem(group, name, f"{wrong} of {ELEMENTS:,} sums are wrong", REINSTALL)]
    how = "simulates" if fork_server.device == "cpu" else "compiles and runs"
    right = ok(group, name, f"{how} a kernel: {ELEMENTS:,} sums are right")
    return [right, *slow_starts(group, name, fork_server.notes)]


def compiles(name: str, fork_server: ForkServer) -> list[Finding]:
    """Have a worker compile the kernel, of a language that nothing simulates.

    Nobody needs that language: that its compiler is not installed is a note.
    """
    group = Group.TOOLS
    try:
        return add(group, name, fork_server)
    except NotSimulated:
        return [ok(group, name, "compiles a kernel; a GPU runs it")]
    except Unfit as error:
        return [note(group, name, error.message, error.next_step)]


def slow_starts(group: Group, name: str, notes: Sequence[str]) -> list[Finding]:
    return [note(group, name, f"first launches take longer: {reason}") for reason in notes]


def check_walls(fork_server: ForkServer) -> list[Finding]:
    return of_walls(walls.try_all(fork_server), administrator=os.geteuid() == 0)


def of_walls(tested: Sequence[Wall], administrator: bool) -> list[Finding]:
    """Return a finding for each wall: a problem where it holds on every machine but this one."""
    found = []
    for wall in tested:
        name, meaning = wall.name.replace("_", " "), walls.MEANING[wall.name]
        message = f"does not hold: {meaning}"
        if wall.held:
            found.append(ok(Group.WALLS, name, meaning))
        elif wall.name in EVERYWHERE:
            found.append(problem(Group.WALLS, name, message, DO_NOT_GRADE))
        else:
            fix = f"needs {walls.REMEDIES[wall.name]}"
            found.append(note(Group.WALLS, name, message, fix))
    lacking = [wall.name for wall in tested if wall.name in walls.REQUIRED and not wall.held]
    if lacking:
        message = "`grader check --hardened` refuses to run: some of these do not hold"
        found.append(note(Group.WALLS, "--hardened", message))
    else:
        found.append(ok(Group.WALLS, "--hardened", "all walls that it requires hold"))
    if administrator:
        message = "you are an administrator: a kernel file that breaks out has your rights"
        found.append(note(Group.WALLS, "rights", message, "work as an ordinary user"))
    return found


def guarded(
    group: Group, name: str, work: Callable[..., list[Finding]], *arguments: object
) -> list[Finding]:
    """Return the findings of `work`, or one that says why it failed."""
    try:
        return work(*arguments)
    except KernelFailure as error:
        return [problem(group, name, gist(error.failure.message), REINSTALL)]
    except NoWorker as error:
        return [problem(group, name, gist(error.message), REINSTALL)]
    except GraderError as error:
        return [problem(group, name, gist(error.message), error.next_step)]
    except Exception as error:
        return [problem(group, name, gist(f"{type(error).__name__}: {error}"), REINSTALL)]


def gist(message: str) -> str:
    """Return the first line of a message and the last, which in a traceback names the error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    last = lines[-1].removeprefix("grader.model.errors.CannotGrade: ")
    if len(lines) == 1 or lines[0].endswith(last):
        return lines[0].removeprefix("grader.model.errors.CannotGrade: ")
    return f"{lines[0]} {last}"
