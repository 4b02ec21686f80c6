"""NVIDIA's tools for a closer look at a kernel, and the compiler that Triton needs on a GPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.doctor.records import Finding, Group, note, ok, problem
from grader.machine import has_driver

# Where NVIDIA's installers put them.
PLACES = {
    "ncu": ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu"),
    "compute-sanitizer": (
        "/usr/local/cuda/bin/compute-sanitizer",
        "/usr/local/cuda/compute-sanitizer/compute-sanitizer",
    ),
}
USES = {
    "ncu": "Nsight Compute reads a GPU's counters",
    "compute-sanitizer": "it finds races and stray accesses on a GPU",
}
COMPILERS = ("cc", "gcc", "clang")
ANSWER_S = 20.0
DRIVER = Path("/proc/driver/nvidia/params")
# linux/capability.h; drivers from 565 on also take the second: NVIDIA, ERR_NVGPUCTRPERM.
CAP_SYS_ADMIN, CAP_PERFMON = 1 << 21, 1 << 38


def findings() -> list[Finding]:
    has_gpu = has_driver()
    found = [of_tool(name, find(name, places), has_gpu) for name, places in PLACES.items()]
    found.append(of_compiler(next(filter(None, map(shutil.which, COMPILERS)), None), has_gpu))
    if DRIVER.exists():
        found.append(of_counters(DRIVER.read_text(), _capabilities()))
    return found


def find(name: str, places: Sequence[str]) -> Path | None:
    """The program, from PATH or else from its usual places, the newest first."""
    on_path = shutil.which(name)
    if on_path is not None:
        return Path(on_path)
    there = (path for place in places for path in _matching(place))
    return next((path for path in there if os.access(path, os.X_OK)), None)


def _matching(place: str) -> Iterator[Path]:
    yield from sorted(Path("/").glob(place.lstrip("/")), reverse=True)


def of_tool(name: str, path: Path | None, has_gpu: bool) -> Finding:
    if path is None:
        mend = "it comes with NVIDIA's CUDA toolkit" if has_gpu else None
        return note(Group.TOOLS, name, f"not found; {USES[name]}", mend)
    version = version_of(path)
    if version is None:
        return note(
            Group.TOOLS, name, "found, but does not tell its version", "install it once more"
        )
    return ok(Group.TOOLS, name, version)


def of_compiler(path: str | None, has_gpu: bool) -> Finding:
    if path is None:
        mend = "`apt-get install gcc`, or what your system has for it"
        missing = problem if has_gpu else note
        return missing(Group.TOOLS, "C compiler", "not found; Triton needs one on a GPU", mend)
    return ok(
        Group.TOOLS, "C compiler", f"{Path(path).name} {version_of(Path(path)) or ''}".strip()
    )


def version_of(path: Path) -> str | None:
    """What the program says with --version, such as `2025.3.1.0`; None if it says nothing."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=ANSWER_S, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    said = re.search(r"Version (\d[\d.]*)", done.stdout) or re.search(r"(\d+(\.\d+)+)", done.stdout)
    return said[1] if said else None


def of_counters(driver: str, capabilities: int) -> Finding:
    """Whether a profiler may count here: `driver` is its /proc/driver/nvidia/params."""
    restricted = re.search(r"^RmProfilingAdminOnly: 1$", driver, re.MULTILINE)
    if restricted and not capabilities & (CAP_SYS_ADMIN | CAP_PERFMON):
        return note(
            *(Group.TOOLS, "GPU counters", "the driver shows them to administrators only"),
            mend="an administrator writes `options nvidia NVreg_RestrictProfilingToAdminUsers=0` "
            "into a file in /etc/modprobe.d and restarts the machine",
        )
    return ok(Group.TOOLS, "GPU counters", "may be read")


def _capabilities() -> int:
    """What this process may do: CapEff in proc(5)."""
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 16) if found else 0
