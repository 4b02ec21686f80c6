"""Look at this machine: what may crash or hang in processes of its own, all at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pydantic import ValidationError

import grader
from grader.course import catalog
from grader.doctor import tools
from grader.doctor.packages import AGAIN
from grader.doctor.records import (
    Examination,
    Finding,
    Gpu,
    Group,
    Told,
    note,
    ok,
    problem,
    without_secrets,
)
from grader.grading import points_of
from grader.model import BrokenExercise, UsageError, counted
from grader.sandbox import describe_end

LIMIT_S = 300.0  # for one part: importing torch from a slow disk, and compiling
# Where the driver of a GPU can be reached; the second is that of WSL 2.
DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
PARTS = {
    "installation": Group.INSTALLATION,
    "simulators": Group.SIMULATORS,
    "gpu": Group.GPU,
}
NO_DRIVER = "No driver of an NVIDIA GPU is loaded. Kernels are simulated; speed is not graded."


def run(progress: Callable[[str], None]) -> Examination:
    """Look at everything; what cannot be looked at is a finding, too."""
    wanted = [part for part in PARTS if part != "gpu" or any(d.exists() for d in DRIVERS)]
    progress(f"looking at: {', '.join([*wanted, 'tools', 'course'])} …")
    told: list[Told] = []
    with ExitStack() as stack:
        started = {part: stack.enter_context(_Part(part)) for part in wanted}
        told.append(Told(findings=tuple(_safely(Group.TOOLS, tools.findings))))
        told.append(Told(findings=tuple(_safely(Group.COURSE, exercises))))
        for part, process in started.items():
            progress(f"waiting for: {part} …")
            told += process.told()
    if "gpu" not in wanted:
        told.append(Told(findings=(note(Group.GPU, "GPU", NO_DRIVER),)))
    return assemble(told)


def assemble(told: list[Told]) -> Examination:
    """One record of all that was told, each finding once, group by group, and no secrets in it."""
    order = list(Group)
    findings = dict.fromkeys(_cleaned(finding) for one in told for finding in one.findings)
    gpus: list[Gpu] = [one.gpu for one in told if one.gpu is not None]
    return Examination(
        schema="grader/doctor/v1",
        grader=grader.__version__,
        findings=tuple(sorted(findings, key=lambda finding: order.index(finding.group))),
        gpu=gpus[-1] if gpus else None,
    )


def _cleaned(finding: Finding) -> Finding:
    mend = finding.mend and without_secrets(finding.mend)
    return finding.model_copy(update={"message": without_secrets(finding.message), "mend": mend})


class _Part:
    """A process that looks at one part of the machine."""

    def __init__(self, part: str) -> None:
        self._part = part

    def __enter__(self) -> _Part:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "grader.doctor", self._part],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,  # a Ctrl-C in the terminal ends this process, and this one its parts
        )
        return self

    def told(self) -> list[Told]:
        """All that it said before it ended; if it ended badly, that too."""
        try:
            output, said = self._process.communicate(timeout=LIMIT_S)
            end = _end(self._process.returncode, said.decode(errors="replace"))
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, _ = self._process.communicate()
            end = f"took longer than {LIMIT_S:.0f} s and was stopped"
        told = [one for line in output.splitlines() if (one := _parsed(line))]
        if end is not None:
            told.append(Told(findings=(_died(self._part, end, bool(told)),)))
        return told

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # its workers end when they notice
        self._process.communicate()


def _end(status: int, said: str) -> str | None:
    """How a process ended that should have ended well, and the last line that it said."""
    if status == 0:
        return None
    described = describe_end(-status if status < 0 else status << 8)
    last = said.strip().splitlines()[-1:]
    return ": ".join([described, *last])


def _parsed(line: bytes) -> Told | None:
    try:
        return Told.model_validate_json(line)
    except ValidationError:
        return None  # it was cut off, by the crash that is told below


def _died(part: str, end: str, said_something: bool) -> Finding:
    told = f"the process that looked at this {end}"
    if part != "installation" and not said_something:
        told += "; it had found nothing yet, and imports torch first"
    return problem(PARTS[part], "process", told, AGAIN)


def _safely(group: Group, look: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return look()
    except Exception as error:
        told = f"could not be looked at: {type(error).__name__}: {error}"
        return [problem(group, "everything", told, "report it: this is a fault of the grader")]


def exercises() -> list[Finding]:
    """Whether there is a course here, and whether its exercises load."""
    try:
        found = catalog.exercises(catalog.find_root())
    except UsageError:
        where = "GRADER_COURSE" if "GRADER_COURSE" in os.environ else "this folder or above it"
        told = f"there is no exercises/ in {where}"
        mend = "change to the course's folder, or set GRADER_COURSE to it"
        return [note(Group.COURSE, "course", told, mend)]
    broken = []
    for exercise in found:
        try:
            _ = points_of(exercise.any_spec)
        except BrokenExercise as error:
            broken.append(problem(Group.COURSE, exercise.name, error.message, error.next_step))
    if not found:
        return [note(Group.COURSE, "course", "it has no exercises yet", "add one")]
    if broken:
        return broken
    verb = "loads" if len(found) == 1 else "load"
    return [ok(Group.COURSE, "course", f"{counted(len(found), 'exercises')} {verb}")]
