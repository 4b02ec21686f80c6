"""NVIDIA's tools for a closer look at a kernel, and the C compiler that a backend may need."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from grader import backends
from grader.doctor.records import Finding, Group, note, ok, problem
from grader.machine import has_driver, toolkit

USES = {
    "ncu": "Nsight Compute reads a GPU's counters",
    "compute-sanitizer": "it finds races and stray accesses on a GPU",
}
COMPILERS = ("cc", "gcc", "clang")
DRIVER = Path("/proc/driver/nvidia/params")
# linux/capability.h; driver 565 and later also take the second: NVIDIA, ERR_NVGPUCTRPERM.
CAP_SYS_ADMIN, CAP_PERFMON = 1 << 21, 1 << 38


def findings() -> list[Finding]:
    has_gpu = has_driver()
    found = [of_tool(name, toolkit.find(name), has_gpu) for name in USES]
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    users = [backend.title for backend in backends.every() if backend.needs_c_compiler]
    found += [of_compiler(compiler, users, has_gpu)] if users else []
    if DRIVER.exists():
        found.append(of_counters(DRIVER.read_text(), _capabilities()))
    return found


def of_tool(name: str, path: Path | None, has_gpu: bool) -> Finding:
    if path is None:
        fix = "it comes with NVIDIA's CUDA toolkit" if has_gpu else None
        return note(Group.TOOLS, name, f"not found; {USES[name]}", fix)
    version = toolkit.version(path)
    if not version:
        return note(Group.TOOLS, name, "found, but does not print its version", "reinstall it")
    return ok(Group.TOOLS, name, version)


def of_compiler(path: str | None, users: Sequence[str], has_gpu: bool) -> Finding:
    if path is None:
        fix = "`apt-get install gcc`, or what your system has for it"
        missing = problem if has_gpu else note
        users_need = f"{' and '.join(users)} need{'s' if len(users) == 1 else ''}"
        return missing(Group.TOOLS, "C compiler", f"not found; {users_need} one on a GPU", fix)
    return ok(Group.TOOLS, "C compiler", f"{Path(path).name} {toolkit.version(Path(path))}".strip())


def of_counters(driver: str, capabilities: int) -> Finding:
    """Report whether a profiler may count; `driver` is /proc/driver/nvidia/params."""
    restricted = re.search(r"^RmProfilingAdminOnly: 1$", driver, re.MULTILINE)
    if restricted and not capabilities & (CAP_SYS_ADMIN | CAP_PERFMON):
        return note(
            *(Group.TOOLS, "GPU counters", "the driver shows them to administrators only"),
            mend="an administrator writes `options nvidia NVreg_RestrictProfilingToAdminUsers=0` "
            "into a file in /etc/modprobe.d and restarts the machine",
        )
    return ok(Group.TOOLS, "GPU counters", "may be read")


def _capabilities() -> int:
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 16) if found else 0
