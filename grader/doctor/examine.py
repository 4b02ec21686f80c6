"""Examine this machine: parts that may crash or hang, in processes of their own, at once."""

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
from grader.doctor.packages import REINSTALL
from grader.doctor.records import (
    Examination,
    Finding,
    Gpu,
    Group,
    PartReport,
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
    """Examine everything; a part that cannot be examined is a finding, too."""
    parts = [part for part in PARTS if part != "gpu" or any(d.exists() for d in DRIVERS)]
    progress(f"examining: {', '.join([*parts, 'tools', 'course'])} …")
    reports: list[PartReport] = []
    with ExitStack() as stack:
        started = {part: stack.enter_context(_Part(part)) for part in parts}
        reports.append(PartReport(findings=tuple(_safely(Group.TOOLS, tools.findings))))
        reports.append(PartReport(findings=tuple(_safely(Group.COURSE, examine_course))))
        for part, process in started.items():
            progress(f"waiting for: {part} …")
            reports += process.reports()
    if "gpu" not in parts:
        reports.append(PartReport(findings=(note(Group.GPU, "GPU", NO_DRIVER),)))
    return assemble(reports)


def assemble(reports: list[PartReport]) -> Examination:
    """Combine the reports: each finding once, group by group, without secrets."""
    order = list(Group)
    findings = dict.fromkeys(_cleaned(finding) for one in reports for finding in one.findings)
    gpus: list[Gpu] = [one.gpu for one in reports if one.gpu is not None]
    return Examination(
        schema="grader/doctor/v1",
        grader=grader.__version__,
        findings=tuple(sorted(findings, key=lambda finding: order.index(finding.group))),
        gpu=gpus[-1] if gpus else None,
    )


def _cleaned(finding: Finding) -> Finding:
    fix = finding.mend and without_secrets(finding.mend)
    return finding.model_copy(update={"message": without_secrets(finding.message), "mend": fix})


class _Part:
    """A process that examines one part of the machine."""

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

    def reports(self) -> list[PartReport]:
        """Return all reports of the process, and one more if it ended badly."""
        try:
            output, errors = self._process.communicate(timeout=LIMIT_S)
            end = _end(self._process.returncode, errors.decode(errors="replace"))
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, _ = self._process.communicate()
            end = f"took longer than {LIMIT_S:.0f} s and was stopped"
        reports = [one for line in output.splitlines() if (one := _parsed(line))]
        if end is not None:
            reports.append(PartReport(findings=(_died(self._part, end, bool(reports)),)))
        return reports

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # its workers end when they notice
        self._process.communicate()


def _end(status: int, errors: str) -> str | None:
    """Describe a bad end of a process, with its last line of output; None for a good one."""
    if status == 0:
        return None
    described = describe_end(-status if status < 0 else status << 8)
    last = errors.strip().splitlines()[-1:]
    return ": ".join([described, *last])


def _parsed(line: bytes) -> PartReport | None:
    try:
        return PartReport.model_validate_json(line)
    except ValidationError:
        return None  # it was cut off by the crash that `_died` reports


def _died(part: str, end: str, reported: bool) -> Finding:
    message = f"the process that examined this {end}"
    if part != "installation" and not reported:
        message += "; it had reported nothing yet, and imports torch first"
    return problem(PARTS[part], "process", message, REINSTALL)


def _safely(group: Group, examine_part: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return examine_part()
    except Exception as error:
        message = f"could not be examined: {type(error).__name__}: {error}"
        return [problem(group, "everything", message, "report it: the grader is at fault")]


def examine_course() -> list[Finding]:
    try:
        found = catalog.exercises(catalog.find_root())
    except UsageError:
        where = "GRADER_COURSE" if "GRADER_COURSE" in os.environ else "this folder or above it"
        message = f"there is no exercises/ in {where}"
        fix = "change to the course's folder, or set GRADER_COURSE to it"
        return [note(Group.COURSE, "course", message, fix)]
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
