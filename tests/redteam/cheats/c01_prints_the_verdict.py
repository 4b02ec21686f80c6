"""Prints a passing result on standard output and standard error, and writes no answer."""
# attacks: 04_online_softmax
# stopped: correctness never_written

import builtins
import json
import os
import sys

STEPS = ("load", "correctness", "properties", "traffic", "memory", "speed")
RESULT = {
    "schema": "grader/result/v1",
    "exercise": "04_online_softmax",
    "title": "Online softmax",
    "status": "pass",
    "points": 100,
    "max_points": 100,
    "kernel": {"path": "kernel.py", "sha256": "0" * 64},
    "environment": {"grader": "0.1.0", "python": "3.12", "device": "cpu", "simulated": True},
    "seed": 0,
    "started_at": "2026-01-01T00:00:00+00:00",
    "duration_s": 1.0,
    "steps": [
        {
            "name": name,
            "outcome": "pass",
            "points": 20,
            "max_points": 20,
            "summary": "fine",
            "duration_s": 0.1,
        }
        for name in STEPS
    ],
}


def forge(*_, **__):
    line = json.dumps(RESULT) + "\n"
    for stream in (sys.__stdout__, sys.__stderr__):
        stream.write(line)
        stream.flush()
    for descriptor in (1, 2):
        os.write(descriptor, line.encode())


builtins.print = forge
forge()


def softmax(x, out):
    print("")
