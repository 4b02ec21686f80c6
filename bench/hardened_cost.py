"""What walls cost: the same check hardened, plain and without walls, in turns.

    python bench/hardened_cost.py --out bench/results/hardened_cost_cpu.json
    python bench/hardened_cost.py --device cuda --out bench/results/hardened_cost_h200.json

Each check is the real command, `grader check NAME --solution --json`, in a process of its own.
Plain and hardened checks build the same walls; hardened ones refuse to run where a required wall
does not hold. `open` builds none (GRADER_WITHOUT_WALLS names them all). Beside the seconds that
pass stand those of the processors, which other load on the machine changes little. Targets, by the
medians of all rounds: hardened takes less than 1 s more than plain, and a GPU's bandwidth differs
by at most 0.5 %. A person runs this on a machine that does nothing else; exit code 0 means that
both hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.course import catalog
from grader.sandbox.commands import WITHOUT
from grader.worker import confine

MODES = ("hardened", "plain", "open")
MOST_SECONDS, MOST_CHANGE = 1.0, 0.005


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("name", nargs="?", default="04_online_softmax", help="the exercise")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--rounds", type=int, default=7, help="of each kind, after one of each")
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = options.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    load_before = os.getloadavg()[0]
    checks: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
    environment: dict[str, Any] = {}
    for turn in range(asked.rounds + 1):
        for mode in MODES if turn % 2 else reversed(MODES):
            figures, environment = one_check(root, asked.name, asked.device, mode)
            if turn:  # the first of each reads files that nobody read before
                checks[mode].append(figures)
    record = {
        "benchmark": "hardened_cost",
        "exercise": asked.name,
        "device": asked.device,
        "machine": {
            "cores": os.cpu_count(),
            "kernel": platform.release(),
            "root": os.geteuid() == 0,
            "load_average_before": load_before,
        },
        "environment": environment,
        "checks": checks,
        "medians": {mode: medians(checks[mode]) for mode in MODES},
    }
    record["compared"] = {mode: compared(record["medians"], mode) for mode in MODES}
    cost = record["compared"]["hardened"]
    record["ok"] = (
        all(one["status"] == "pass" for done in checks.values() for one in done)
        and cost["seconds_more_than_plain"] < MOST_SECONDS
        and abs(cost["bandwidth_against_plain"] or 0.0) <= MOST_CHANGE
    )
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    print("\n".join(table(record)))
    return 0 if record["ok"] else 1


def one_check(
    root: Path, name: str, device: str, mode: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One check from outside: seconds, measured bandwidth, walls that fell; and its environment."""
    variables = {WITHOUT: ",".join(confine.NAMES)} if mode == "open" else {}
    command = [sys.executable, "-m", "grader.cli", "check", name, "--solution", "--json"]
    command += ["--device", device, *(["--hardened"] if mode == "hardened" else [])]
    began, used = time.monotonic(), processor_seconds()
    done = subprocess.run(
        command, cwd=root, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    seconds, used = time.monotonic() - began, processor_seconds() - used
    if not done.stdout.strip():
        sys.exit(f"{mode}: no result.\n{done.stderr}")
    result = json.loads(done.stdout)
    speed = next((step["speed"] for step in result["steps"] if step["speed"]), None)
    return {
        "status": result["status"],
        "seconds": round(seconds, 3),
        "processor_seconds": round(used, 3),
        "bandwidth_gbps": speed and speed["bandwidth_gbps"],
        "ceiling_gbps": speed and speed["ceiling_gbps"],
        "share": speed and speed["share"],
        "fallen": [wall["name"] for wall in result["walls"] if not wall["held"]],
    }, result["environment"]


def processor_seconds() -> float:
    """Of all processes below this one that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def medians(checks: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Of seconds, and of what the speed step measured; None where no check has it."""
    middle = {}
    for name in ("seconds", "processor_seconds", "bandwidth_gbps", "ceiling_gbps", "share"):
        values = [one[name] for one in checks if one[name] is not None]
        middle[name] = statistics.median(values) if values else None
    return middle


def compared(middle: dict[str, dict[str, Any]], mode: str) -> dict[str, float | None]:
    """This mode against plain: seconds more, and by what part the bandwidth differs."""
    mine, plain = middle[mode], middle["plain"]
    both = mine["bandwidth_gbps"] and plain["bandwidth_gbps"]
    return {
        "seconds_more_than_plain": mine["seconds"] - plain["seconds"],
        "bandwidth_against_plain": mine["bandwidth_gbps"] / plain["bandwidth_gbps"] - 1
        if both
        else None,
    }


def table(record: dict[str, Any]) -> list[str]:
    rounds = len(record["checks"]["plain"])
    lines = [
        f"{record['exercise']} on {record['device']}: medians of {rounds} checks, and to plain"
    ]
    for mode in MODES:
        middle, against = record["medians"][mode], record["compared"][mode]
        line = f"{mode:<10}{middle['seconds']:7.2f} s  {against['seconds_more_than_plain']:+6.2f} s"
        line += f"{middle['processor_seconds']:9.2f} s of processors"
        if middle["bandwidth_gbps"] is not None:
            change = against["bandwidth_against_plain"]
            told = "" if change is None else f"  {change:+.2%}"
            line += f"{middle['bandwidth_gbps']:9,.1f} GB/s{told}"
        lines.append(line)
    lines.append("targets hold" if record["ok"] else "a target does not hold")
    return lines


if __name__ == "__main__":
    sys.exit(main())
