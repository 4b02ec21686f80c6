"""Small kernels of ours in real workers: is the answer right, and which walls hold?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import torch

import grader
from grader.arena import CudaArena, HostArena, view
from grader.doctor.packages import AGAIN
from grader.doctor.records import Finding, Group, note, ok, problem
from grader.errors import GraderError
from grader.link import Entry, KernelFailure, WorkerLink
from grader.sandbox import NoWorker, Nursery
from grader.wire import TensorRef

WORKER = Path(grader.__file__).parent / "worker"
ADDITIONS = {
    "triton": (WORKER / "streams.py", Entry("read_two_write_one", ("a", "b", "out"))),
    "numba": (WORKER / "numba_add.py", Entry("add", ("a", "b", "out"))),
}
ELEMENTS = 1000
ARENA_BYTES = 1 << 20

# By the word that worker/walls.py uses: the name of the wall, and what it means for a kernel file.
HELD = {
    "session": ("own process", "it runs in a process and a session of its own"),
    "environment": ("environment", "it sees a few of your variables, and no others"),
    "home": ("home folder", "it gets a new one, closed to other users"),
    "file_size": ("file size", "it cannot write a file of 1 GiB"),
    "memory": ("memory", "it cannot take all there is, when it is simulated"),
}
# Those that are not built: what it means where something else than the grader stands in the way.
OPEN = {
    "files": ("your files", "it cannot list your home folder"),
    "network": ("network", "it does not reach this machine's network"),
}
DO_NOT_GRADE = "grade nobody else's kernel on this machine; docs/trust.md says what should hold"


def add(group: Group, name: str, nursery: Nursery) -> list[Finding]:
    """Have a worker add ELEMENTS numbers, and look at the answer."""
    file, entry = ADDITIONS[nursery.backend]
    arena = (HostArena if nursery.device == "cpu" else CudaArena)(ARENA_BYTES)
    refs = [
        TensorRef(name, 4096 * (1 + 2 * place), (ELEMENTS,), (1,), "float32")
        for place, name in enumerate(entry.parameters)
    ]
    with closing(arena), closing(WorkerLink(entry, file.read_bytes(), nursery, arena)) as link:
        a, b, out = (view(arena.memory, ref) for ref in refs)
        a.copy_(torch.arange(ELEMENTS))
        b.copy_(torch.arange(ELEMENTS) ** 2 % 97)
        out.fill_(torch.nan)
        if nursery.device == "cuda":
            torch.cuda.synchronize()
        link.call([refs])
        wrong = int((out != a + b).sum())
    if wrong:
        return [problem(group, name, f"{wrong} of {ELEMENTS:,} sums are wrong", AGAIN)]
    how = "simulates" if nursery.device == "cpu" else "compiles and runs"
    return [ok(group, name, f"{how} a kernel: {ELEMENTS:,} sums are right")]


def walls(nursery: Nursery) -> list[Finding]:
    """Have a worker try the walls around it. Its nursery must start with packages.CANARY set."""
    entry = Entry("look", ())
    with closing(HostArena(ARENA_BYTES)) as arena:
        link = WorkerLink(entry, (WORKER / "walls.py").read_bytes(), nursery, arena)
        try:
            link.call([[]])
        finally:
            printed = link.close()
    seen = json.loads(printed.splitlines()[-1])  # above it may stand warnings of libraries
    return of_walls(seen, ended=not _runs(seen["left"]), administrator=os.geteuid() == 0)


def of_walls(seen: Mapping[str, bool], ended: bool, administrator: bool) -> list[Finding]:
    """`seen` is what worker/walls.py prints; `ended`, whether what it left running was ended."""
    found = []
    held = [(seen[key], *words) for key, words in HELD.items()]
    held.append((ended, "leftovers", "what it leaves running is ended"))
    for holds, name, meaning in held:
        if holds:
            found.append(ok(Group.WALLS, name, meaning))
        else:
            told = f"this does not hold: {meaning}"
            found.append(problem(Group.WALLS, name, told, DO_NOT_GRADE))
    for key, (name, meaning) in OPEN.items():
        if seen[key]:
            found.append(ok(Group.WALLS, name, meaning))
        else:
            told = "in its reach: run no stranger's kernel file"
            found.append(note(Group.WALLS, name, told))
    if administrator:
        told = "it has an administrator's rights, as you do"
        found.append(note(Group.WALLS, "rights", told, "work as an ordinary user"))
    return found


def tried(
    group: Group, name: str, work: Callable[..., list[Finding]], *arguments: object
) -> list[Finding]:
    """What `work` finds, or why it could not."""
    try:
        return work(*arguments)
    except KernelFailure as error:
        return [problem(group, name, gist(error.failure.message), AGAIN)]
    except NoWorker as error:
        return [problem(group, name, gist(error.message), AGAIN)]
    except GraderError as error:
        return [problem(group, name, gist(error.message), error.next_step)]
    except Exception as error:
        return [problem(group, name, gist(f"{type(error).__name__}: {error}"), AGAIN)]


def gist(message: str) -> str:
    """The first line of a message and the last, which names the error at the end of a traceback."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    last = lines[-1].removeprefix("grader.errors.CannotGrade: ")
    return last if len(lines) == 1 else f"{lines[0]} {last}"


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
