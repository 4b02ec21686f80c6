"""The words of ptxas, NVIDIA's assembler: registers, spills, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from grader.worker.compile_jobs import Refused
from grader.worker.sass import Counts

KERNEL = "kernel.py"  # the name of every kernel file

_ERROR = re.compile(
    r"ptxas[\w-]*\s+(?:.*, line (?P<line>\d+); )?(?:error|fatal)\s*:\s*(?P<text>.+)"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SHARED = re.compile(r"\b(?P<bytes>\d+) bytes smem\b")
_SPILLED = re.compile(r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")


def refusal(log: str, ptx: object) -> Refused | None:
    """Return the first error of a log, at the line of the kernel file that its PTX belongs to."""
    found = _ERROR.search(log)
    if found is None:
        return None
    line = None if found["line"] is None or not isinstance(ptx, str) else int(found["line"])
    return Refused(found["text"], None if line is None else _place(str(ptx), line))


def _place(ptx: str, line: int) -> int | None:
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.MULTILINE))
    above = "\n".join(ptx.splitlines()[:line])
    for file, own in reversed(re.findall(r"^\s*\.loc\s+(\d+)\s+(\d+)", above, re.MULTILINE)):
        if Path(files.get(file, "")).name == KERNEL:
            return int(own)
    return None


def figures(log: str, counts: Counts | None) -> dict[str, Any]:
    """Return the registers and spills that `ptxas -v` reports, and what is known of the code.

    Functions that a kernel calls spill for themselves: the most of all is reported.
    Raises Refused for a log without a kernel.
    """
    used, spilled = _USED.search(log), _SPILLED.findall(log)
    if used is None or not spilled:
        raise Refused("ptxas does not report the registers that it used")
    found = counts or Counts()
    return {
        "registers": int(used["registers"]),
        "spills": max(int(size) for sizes in spilled for size in sizes),
        "loads": dict(sorted(found.loads.items())),
        "stores": dict(sorted(found.stores.items())),
        "arithmetic": found.arithmetic,
    }


def static_shared(log: str) -> int:
    """Return the bytes of shared memory that a kernel's code itself names."""
    found = _SHARED.search(log)
    return 0 if found is None else int(found["bytes"])
