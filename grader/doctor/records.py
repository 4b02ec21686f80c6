"""The report of `grader doctor`, `grader/doctor/v1`: findings, fixes of problems, the GPU."""

from __future__ import annotations

import os
import pwd
import re
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from grader.model import CannotGrade, Record


class Group(StrEnum):
    """The subject of a finding, in the order of the report."""

    INSTALLATION = "installation"
    SIMULATORS = "simulators"
    GPU = "gpu"
    TOOLS = "tools"
    WALLS = "walls"
    HARDENING = "hardening"
    COURSE = "course"


class State(StrEnum):
    """The gravity of a finding."""

    OK = "ok"
    NOTE = "note"  # a fact that limits what can be done here
    PROBLEM = "problem"  # `mend` says what to do


class Finding(Record):
    """The result of one test of this machine."""

    group: Group
    name: str
    state: State
    message: str
    mend: str | None = Field(default=None, description="the fix; every problem has one")


class Ceiling(Record):
    """The bandwidth of this GPU's memory, as a reference kernel reaches it."""

    mix: str = Field(description="what the kernel reads and writes, such as `1 read, 1 write`")
    gbps: float = Field(description="in 1e9 bytes per second")


class Gpu(Record):
    """The GPU that kernels are graded on. Values that the driver does not report are null."""

    name: str
    capability: str = Field(description="compute capability, such as `9.0`")
    driver: str | None
    memory_bytes: int
    free_bytes: int
    l2_bytes: int
    sms: int = Field(description="streaming multiprocessors")
    sm_mhz: int | None = Field(description="now; an idle GPU runs slowly")
    most_sm_mhz: int | None
    memory_mhz: int | None
    most_memory_mhz: int | None
    temperature_c: int | None
    slowdowns: tuple[str, ...] = Field(description="why the GPU runs below its clock now")
    mig: bool | None = Field(description="whether the GPU is cut into instances")
    ecc: bool | None = Field(description="whether its memory corrects errors")
    others: tuple[str, ...] = Field(description="other programs that compute on it")
    ceilings: tuple[Ceiling, ...] = Field(default=(), description="empty where none were measured")


class PartReport(Record):
    """One report of a process that examines a part of the machine."""

    findings: tuple[Finding, ...] = ()
    gpu: Gpu | None = None


class Examination(Record):
    """All findings on this machine."""

    schema_: Literal["grader/doctor/v1"] = Field(alias="schema")
    grader: str
    findings: tuple[Finding, ...]
    gpu: Gpu | None = Field(description="null where kernels are simulated")


def ok(group: Group, name: str, message: str) -> Finding:
    return Finding(group=group, name=name, state=State.OK, message=message)


def note(group: Group, name: str, message: str, mend: str | None = None) -> Finding:
    return Finding(group=group, name=name, state=State.NOTE, message=message, mend=mend)


def problem(group: Group, name: str, message: str, mend: str) -> Finding:
    return Finding(group=group, name=name, state=State.PROBLEM, message=message, mend=mend)


def exit_code(examination: Examination) -> int:
    problems = any(finding.state is State.PROBLEM for finding in examination.findings)
    return CannotGrade.exit_code if problems else 0


def json_schema() -> dict[str, Any]:
    return Examination.model_json_schema(by_alias=True, mode="serialization")


SYSTEM = ("/dev/", "/etc/", "/opt/", "/proc/", "/sys/", "/usr/")  # these name nobody
_PATH = re.compile(r"(?:~|(?<![\w~./:…]))(?:/[^\s/:'\"`,;()\[\]]+)+")


def without_secrets(text: str) -> str:
    """Cut every path to its last part, except those of the system itself.

    Errors of libraries quote paths, which name users and their projects.
    """
    homes = {os.path.expanduser("~")}
    with suppress(KeyError):  # a container's user may have no name
        homes.add(pwd.getpwuid(os.getuid()).pw_dir)
    for home in sorted(homes - {"/"}, key=len, reverse=True):
        text = text.replace(home, "~")
    return _PATH.sub(_shortened, text)


def _shortened(found: re.Match[str]) -> str:
    path = Path(found[0])
    if found[0].startswith(SYSTEM) and "home" not in path.parts:
        return found[0]
    return f"…/{path.name}"
