"""Logs of Nsight Compute, and an `ncu` of the tests' own that writes them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.speed.ncu import DRAM_READ, DRAM_WRITTEN, TIME
from grader.speed.profile import HIT_RATE, OCCUPANCY

MEMORY, BARRIER, WAIT, CHOSEN = (
    f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
    for reason in ("long_scoreboard", "barrier", "wait", "not_selected")
)


SAID = """\
==PROF== Connected to process 7 (/usr/bin/python3.12)
==PROF== Profiling "add_kernel" - 0: 0%....50%....100% - 4 passes
==PROF== Disconnected from process 7
"""


def csv_of(units: dict[str, str], *rows: dict[str, str]) -> str:
    """A table as `ncu --csv --page raw` prints it: each cell quoted, units below the names."""
    fixed = {"ID": "", "Process Name": "", "Kernel Name": ""}
    head = list(fixed | units)
    table = [head, list((fixed | units).values())]
    table += [[row.get(name, "") for name in head] for row in rows]
    return SAID + "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in table)


UNITS = {DRAM_READ: "byte", DRAM_WRITTEN: "byte", TIME: "ns", HIT_RATE: "%", OCCUPANCY: "%"}
STALLED = dict.fromkeys((MEMORY, BARRIER, WAIT, CHOSEN), "inst")
SHORT = {
    "ID": "0",
    "Process Name": "python3.12",
    "Kernel Name": "dot_partials(Array, int, Array)",
    DRAM_READ: "1,000,448",
    DRAM_WRITTEN: "64",
    TIME: "2,500",
    HIT_RATE: "80.5",
    OCCUPANCY: "20",
    MEMORY: "1",
    WAIT: "9",
}
LONG = {
    "ID": "1",
    "Kernel Name": "sum_partials",
    DRAM_READ: "2,000,000,000",
    DRAM_WRITTEN: "1,000",
    TIME: "500,000",
    HIT_RATE: "33.31",
    OCCUPANCY: "91.2",
    MEMORY: "23.5",
    BARRIER: "0",
    WAIT: "1.25",
    CHOSEN: "2.5",
}


FAKE = """\
#!{python} -I
import json, os, pathlib, shutil, socket, sys, time
seen, given = pathlib.Path({seen!r}), pathlib.Path(sys.argv[-1])
(seen / "argv.json").write_text(json.dumps(sys.argv))
for file in (given if given.is_dir() else given.parent).iterdir():
    if file.is_file():
        shutil.copy(file, seen)
    elif file.is_socket():
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(file))
            handed = socket.recv_fds(line, 1, 1)[1][0]
        (seen / file.name).write_bytes(os.pread(handed, 1 << 20, 0))
log = pathlib.Path(sys.argv[sys.argv.index("--log-file") + 1])
if {report!r}:
    log.write_text({report!r})
print({said!r})
time.sleep({sleeps})
sys.exit({status})
"""


def fake_ncu(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    report: str,
    *,
    said: str = "",
    status: int = 0,
    sleeps: float = 0,
) -> Path:
    """Put an `ncu` on PATH that reports this; return where it keeps what it was given."""
    program = folder / "bin" / "ncu"
    program.parent.mkdir()
    seen = folder / "seen"
    seen.mkdir()
    program.write_text(
        FAKE.format(
            python=sys.executable,
            seen=str(seen),
            report=report,
            said=said,
            sleeps=sleeps,
            status=status,
        )
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    return seen
