"""One part of `grader doctor` in a process of its own, which may crash without harm.

`grader.doctor.examine` starts it as `python -I -m grader.doctor PART`. It writes one
`records.PartReport` a line to standard output, each as soon as it is known.
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
from grader.doctor.records import Finding, Gpu, Group, PartReport, State, note, ok, problem
from grader.machine import has_driver, processes
from grader.model import GraderError
from grader.sandbox import ForkServer


class Reporter:
    """Writer of findings to standard output. Output of libraries goes to standard error instead."""

    def __init__(self) -> None:
        self._lines: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def report(self, *findings: Finding, gpu: Gpu | None = None) -> None:
        self._lines.write(PartReport(findings=findings, gpu=gpu).model_dump_json() + "\n")
        self._lines.flush()


def installation(reporter: Reporter) -> None:
    reporter.report(*packages.findings(has_driver()))
    reporter.report(*hardening.findings())


def simulators(reporter: Reporter) -> None:
    group = Group.SIMULATORS
    with _workers("cpu") as fork_servers:
        trial = _trial(reporter)
        if trial is None:
            reporter.report(note(group, "simulators", "not tested: they need torch"))
            return
        working = []
        for fork_server in fork_servers:
            name = backends.title(fork_server.backend)
            if fork_server.dry_run:
                about = (Group.TOOLS, name)
                reporter.report(*trial.guarded(*about, trial.compiles, name, fork_server))
                continue
            (found,) = trial.guarded(group, name, trial.add, group, name, fork_server)
            reporter.report(found)
            working += [fork_server] if found.state is State.OK else []
        if not working:
            reporter.report(note(Group.WALLS, "walls", "not tested: no worker works"))
            return
        reporter.report(*trial.guarded(Group.WALLS, "walls", trial.check_walls, working[0]))


def gpu(reporter: Reporter) -> None:
    group = Group.GPU
    with _workers("cuda") as fork_servers:
        trial = _trial(reporter)
        if trial is None:
            reporter.report(note(group, "GPU", "not tested: it needs torch"))
            return
        from grader.doctor import gpu

        found, findings = gpu.examine()
        reporter.report(*findings, gpu=found)
        if found is None:
            return
        for fork_server in fork_servers:
            name = backends.title(fork_server.backend)
            reporter.report(*trial.guarded(group, name, trial.add, group, name, fork_server))

        def ceilings() -> list[Finding]:
            reference = backends.reference().name
            measured = gpu.measure(
                found, next(one for one in fork_servers if one.backend == reference)
            )
            reporter.report(gpu=measured)
            return gpu.of_ceilings(measured)

        reporter.report(*trial.guarded(group, "ceilings", ceilings))


@contextmanager
def _workers(device: str) -> Iterator[list[ForkServer]]:
    """Start the fork servers of each backend; they import while this process does."""
    with ExitStack() as stack:
        fork_servers = []
        for backend in backends.every():
            if backend.compiled if device == "cuda" else backend.can.simulate:
                fork_server = stack.enter_context(closing(ForkServer(backend.name, device)))
                fork_server.start()
                fork_servers.append(fork_server)
        yield fork_servers


def _trial(reporter: Reporter) -> ModuleType | None:
    """Return `grader.doctor.trial`, once torch has been imported without an error."""
    about = (Group.INSTALLATION, "import torch")
    try:
        import torch  # noqa: F401
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            return None  # the packages report it already
        message = f"torch cannot be imported: {type(error).__name__}: {error}"
        reporter.report(problem(*about, message, packages.REINSTALL))
        return None
    reporter.report(ok(*about, "works"))
    from grader.doctor import trial

    return trial


PARTS = {part.__name__: part for part in (installation, simulators, gpu)}

if __name__ == "__main__":
    processes.die_with_parent(signal.SIGKILL)
    with suppress(GraderError):  # no course here, or a broken one: another part reports it
        use_extensions(catalog.find_root())
    PARTS[sys.argv[1]](Reporter())
    os._exit(0)  # taking the interpreter with torch in it apart would take a second
