"""Writes a passing result into the pipe from judge to command, then kills the judge."""
# attacks: 01_vector_add
# stopped: correctness value | judge ended

import contextlib
import json
import os
import signal
import stat
from pathlib import Path

RESULT = json.dumps(
    {
        "schema": "grader/result/v1",
        "exercise": "01_vector_add",
        "title": "Vector add",
        "status": "pass",
        "points": 100,
        "max_points": 100,
        "kernel": {"path": "kernel.py", "sha256": "0" * 64},
        "environment": {"grader": "0.1.0", "python": "3.12", "device": "cpu", "simulated": True},
        "seed": 0,
        "started_at": "2026-01-01T00:00:00+00:00",
        "duration_s": 1.0,
        "steps": [],
    }
)


def judge():
    told = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(told.rpartition(")")[2].split()[1])


def vector_add(x, y, out):
    out.zero_()
    with contextlib.suppress(OSError):
        number = judge()
        for path in Path(f"/proc/{number}/fd").iterdir():
            with contextlib.suppress(OSError):
                if stat.S_ISFIFO(path.stat().st_mode):
                    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                    os.write(descriptor, RESULT.encode() + b"\n")
        os.kill(number, signal.SIGKILL)
