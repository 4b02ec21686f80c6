"""One part of `grader doctor` in a process of its own, which may crash without harm.

Started by `grader.doctor.examine` as `python -I -m grader.doctor PART`; writes one `records.Told`
a line to standard output, as soon as it knows.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from types import ModuleType
from typing import TextIO

from grader import backends
from grader.course import catalog, use_extensions
from grader.doctor import hardening, packages
from grader.doctor.records import Finding, Gpu, Group, State, Told, note, ok, problem
from grader.machine import has_driver, processes
from grader.model import GraderError
from grader.sandbox import ForkServer


class Teller:
    """Where findings go. Standard output is kept for them: what libraries print goes elsewhere."""

    def __init__(self) -> None:
        self._lines: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def tell(self, *findings: Finding, gpu: Gpu | None = None) -> None:
        self._lines.write(Told(findings=findings, gpu=gpu).model_dump_json() + "\n")
        self._lines.flush()


def installation(teller: Teller) -> None:
    teller.tell(*packages.findings(has_driver()))
    teller.tell(*hardening.findings())


def simulators(teller: Teller) -> None:
    group = Group.SIMULATORS
    with _workers("cpu") as fork_servers:
        trial = _trial(teller)
        if trial is None:
            teller.tell(note(group, "simulators", "not tried: they need torch"))
            return
        working = []
        for fork_server in fork_servers:
            name = backends.title(fork_server.backend)
            (found,) = trial.tried(group, name, trial.add, group, name, fork_server)
            teller.tell(found)
            working += [fork_server] if found.state is State.OK else []
        if not working:
            teller.tell(note(Group.WALLS, "walls", "not tried: no worker works"))
            return
        teller.tell(*trial.tried(Group.WALLS, "walls", trial.around, working[0]))


def gpu(teller: Teller) -> None:
    group = Group.GPU
    with _workers("cuda") as fork_servers:
        trial = _trial(teller)
        if trial is None:
            teller.tell(note(group, "GPU", "not tried: it needs torch"))
            return
        from grader.doctor import gpu

        found, findings = gpu.find()
        teller.tell(*findings, gpu=found)
        if found is None:
            return
        for fork_server in fork_servers:
            name = backends.title(fork_server.backend)
            teller.tell(*trial.tried(group, name, trial.add, group, name, fork_server))

        def ceilings() -> list[Finding]:
            reference = backends.reference().name
            measured = gpu.measure(
                found, next(one for one in fork_servers if one.backend == reference)
            )
            teller.tell(gpu=measured)
            return gpu.of_ceilings(measured)

        teller.tell(*trial.tried(group, "ceilings", ceilings))


@contextmanager
def _workers(device: str) -> Iterator[list[ForkServer]]:
    """Start the parents of workers of each backend; they import while this process does."""
    with ExitStack() as stack:
        fork_servers = []
        for backend in backends.every():
            if backend.compiled if device == "cuda" else backend.can.simulate:
                fork_server = stack.enter_context(closing(ForkServer(backend.name, device)))
                fork_server.start()
                fork_servers.append(fork_server)
        yield fork_servers


def _trial(teller: Teller) -> ModuleType | None:
    """`grader.doctor.trial`, once it is certain that torch can be imported."""
    about = (Group.INSTALLATION, "import torch")
    try:
        import torch  # noqa: F401
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            return None  # among the packages it is told already
        told = f"torch cannot be imported: {type(error).__name__}: {error}"
        teller.tell(problem(*about, told, packages.AGAIN))
        return None
    teller.tell(ok(*about, "works"))
    from grader.doctor import trial

    return trial


PARTS = {part.__name__: part for part in (installation, simulators, gpu)}

if __name__ == "__main__":
    processes.die_with_parent(signal.SIGKILL)
    with suppress(GraderError):  # no course here, or a broken one: another part reports it
        use_extensions(catalog.find_root())
    PARTS[sys.argv[1]](Teller())
    os._exit(0)  # taking the interpreter with torch in it apart would take a second
