"""Measure how exact the speed step is on this GPU: its targets, kept as JSON.

    python bench/accuracy.py --out bench/results/accuracy_h200.json
    python bench/accuracy.py --only repeats --runs 30
    python bench/accuracy.py --only bound_liars --exercise 03_product --out liars.json
    python bench/accuracy.py --only bound_repeats --seconds 240 --resume --out repeats.json

1. events         published bandwidth of each solution against CUDA events in a plain process
2. itself         the ceiling's own kernel, graded as if it were a learner's
3. repeats        runs in fresh processes, on a quiet machine and beside processes that load the CPU
4. liars          workers that answer early, lie about time, hide or save work: what they gain
5. bounds         shares of other bounds, against kernel and reference in turn by plain events
6. sizes          published bandwidth at each of several scored sizes, against plain events
7. bound_repeats  runs of other bounds in fresh processes
8. bound_liars    workers that slow the reference, forge it, or lie about other bounds
9. duration       seconds of the speed step for one size

The record is written after each row of `events`, `bounds`, `bound_repeats` and `bound_liars`, and
after each other part. With `--seconds` these four begin no row after that time, and name what is
left; with `--resume` they go on where the record in `--out` ends, on a machine with the same GPU
and versions.

Needs a CUDA GPU that nobody else uses. Exit code 0 means that every target that was tried holds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import accuracy_bounds
from accuracy_bounds import Key, Plan, in_turn
from accuracy_runs import ROOT, Ended, by_events, graded, graded_text

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading.plan import with_step

REFERENCE_KERNELS = ROOT / "grader" / "backends" / "triton" / "reference_kernels.py"
LIARS = ROOT / "tests" / "redteam" / "clock"
SIZES = ROOT / "tests" / "courses" / "sizes"
TARGETS = {
    "events": 0.01,
    "itself": 0.005,
    "repeats": 0.01,
    "liars": 0.02,
    "bounds": accuracy_bounds.CLOSE,  # times the leeway of the bound, as `bound_repeats`
    "sizes": 0.01,
    "bound_repeats": accuracy_bounds.STEADY,
    "bound_liars": accuracy_bounds.GAIN,
    "duration": 8.0,
}
PARTS = tuple(TARGETS)[:-1]


def main(argv: Sequence[str] | None = None) -> int:
    asked = arguments().parse_args(argv)
    earlier: dict[str, Any] = {}
    if asked.resume and asked.out and asked.out.exists():
        earlier = json.loads(asked.out.read_text())
    plan = Plan(
        asked.runs,
        asked.repeated,
        tuple(asked.exercise or ()),
        time.monotonic() + asked.seconds,
    )
    try:
        for record in measured(asked.only or PARTS, plan, earlier):
            if asked.out:  # again and again, for a run may be stopped
                asked.out.write_text(json.dumps(record, indent=2) + "\n")
    except Ended as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("\n".join(table(record)))
    return 0 if record["ok"] else 1


def arguments() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--out", type=Path, help="write the record here")
    options.add_argument("--only", action="append", choices=PARTS)
    options.add_argument(
        "--runs", type=int, default=30, help="in each half of `repeats`; of `bound_repeats` in all"
    )
    options.add_argument("--repeated", default="04_online_softmax", help="the exercise to repeat")
    names = sorted(exercise.name for exercise in accuracy_bounds.chosen(Plan()))
    options.add_argument(
        "--exercise", action="append", choices=names, help="of other bounds; without, all"
    )
    options.add_argument("--seconds", type=float, default=float("inf"), help="for other bounds")
    options.add_argument("--resume", action="store_true", help="go on with the record in --out")
    return options


# --- the targets ----------------------------------------------------------------------------------


def measured(
    only: Sequence[str], plan: Plan, record: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the record, which may begin with an earlier one, after each row or part.

    Raises Ended when the earlier one is of another machine.
    """
    found = {name: record[name] for name in PARTS if name in record}
    known = record.get("environment")
    for name in only:
        done = found.get(name, {})
        for part, steps in MEASURES[name](replace(plan, done=done)):
            if any(
                step["environment"] != (known := known or step["environment"]) for step in steps
            ):
                raise Ended("The record was begun on another machine, or with other versions.")
            durations = [*done.get("durations_s", ()), *(step["duration_s"] for step in steps)]
            found[name] = part | {"durations_s": durations}
            yield record_of(found, known)


def record_of(found: Mapping[str, Any], environment: Any) -> dict[str, Any]:
    every = [seconds for part in found.values() for seconds in part["durations_s"]]
    duration = {
        "slowest_s": max(every, default=0.0),
        "median_s": statistics.median(every) if every else 0.0,
        "ok": max(every, default=0.0) <= TARGETS["duration"],
    }
    return {
        "benchmark": "accuracy",
        "ok": duration["ok"] and all(part["ok"] for part in found.values()),
        "targets": TARGETS,
        "environment": environment,
        **found,
        "duration": duration,
    }


def events(plan: Plan) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Compare bandwidths of one size; `bounds` and `sizes` have the others."""
    exercises = {
        one.name: one
        for one in with_step(catalog.parts(ROOT), "speed")
        if one.spec.scored.bound == "bandwidth" and not one.spec.also_scored
    }

    def measure(key: Key) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        exercise = exercises[key[0]]
        step = graded(exercise.name, exercise.solution)
        plain = by_events("plain", exercise.name, step)
        return event_row(exercise, step, plain), [step]

    def ok(rows: Sequence[dict[str, Any]]) -> bool:
        return all(
            row["outcome"] == "pass"
            and row["off"] is not None
            and abs(row["off"]) <= TARGETS["events"]
            for row in rows
        )

    keys: list[Key] = [(name, "events") for name in exercises]
    yield from in_turn(plan, keys, lambda row: (row["exercise"], "events"), measure, ok)


def event_row(exercise: Exercise, step: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    speed = step["speed"] or {}
    published = speed.get("bandwidth_gbps")
    return {
        "exercise": exercise.name,
        "rows": step["sized"][0][0],
        "published_gbps": published,
        "events_gbps": plain["gbps"],
        "off": None if published is None else published / plain["gbps"] - 1,
        "outcome": step["outcome"],
        "share": speed.get("share"),
        "raised": speed.get("raised"),
        "duration_s": step["duration_s"],
    }


def itself() -> dict[str, Any]:
    """Grade the reference kernel of 01's mix as if it were a learner's."""
    entry = "\n\ndef vector_add(x, y, out):\n    stream(2, 1, x, y, out)\n"
    steps = [graded_text("01_vector_add", REFERENCE_KERNELS.read_text() + entry) for _ in range(3)]
    shares = [step["speed"]["share"] for step in steps]
    ok = all(abs(share - 1) <= TARGETS["itself"] for share in shares)
    return {"shares": shares, "ok": ok, "steps": steps}


def repeats(exercise: Exercise, runs: int) -> dict[str, Any]:
    quiet = [graded(exercise.name, exercise.solution) for _ in range(runs)]
    with loaded_cpu():
        loaded = [graded(exercise.name, exercise.solution) for _ in range(runs)]
    found: dict[str, Any] = {"exercise": exercise.name}
    for name, steps in (("quiet", quiet), ("loaded", loaded)):
        shares = [step["speed"]["share"] for step in steps]
        found[name] = {
            "shares": shares,
            "raised": [step["speed"]["raised"] for step in steps],
            "spread": (max(shares) - min(shares)) / statistics.median(shares),
            "outcomes": sorted({step["outcome"] for step in steps}),
        }
    every = [*found["quiet"]["shares"], *found["loaded"]["shares"]]
    found["spread"] = (max(every) - min(every)) / statistics.median(every)
    same = found["quiet"]["outcomes"] == found["loaded"]["outcomes"] == ["pass"]
    return found | {"ok": same and found["spread"] <= TARGETS["repeats"], "steps": quiet + loaded}


@contextmanager
def loaded_cpu() -> Iterator[None]:
    """One process that computes on every core."""
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range(len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def liars() -> dict[str, Any]:
    honest_text = (LIARS / "honest.py").read_text()
    honest = graded_text("01_vector_add", honest_text)
    rows, steps = [], [honest]
    for kernel in sorted(LIARS.glob("*.py")):
        if kernel.stem == "honest":
            continue
        step = graded_text("01_vector_add", f"{honest_text}\n\n{kernel.read_text()}")
        speed, caught = step["speed"], step["failure"]
        gain = speed["share"] / honest["speed"]["share"] - 1 if speed and not caught else None
        rows.append(
            {
                "kernel": kernel.stem,
                "caught": caught,
                "message": step["message"],
                "raised": speed and speed["raised"],
                "gain": gain,
            }
        )
        steps.append(step)
    ok = all(row["caught"] or row["gain"] <= TARGETS["liars"] for row in rows)
    return {"rows": rows, "ok": ok, "steps": steps}


def sizes() -> dict[str, Any]:
    """Compare each size of SIZES. A latency has no target: a plain process calls differently."""
    rows, steps = [], []
    for exercise in with_step(catalog.parts(SIZES), "speed"):
        step = graded(exercise.name, exercise.solution, SIZES)
        for place, one in enumerate(step["speed"]["sizes"]):
            plain = by_events("plain", exercise.name, step, SIZES, place)
            rows.append(
                {
                    "exercise": exercise.name,
                    "case": one["case"],
                    "bound": one["bound"],
                    "share": one["share"],
                    "off": one["bandwidth_gbps"] / plain["gbps"] - 1,
                    "outcome": step["outcome"],
                    "duration_s": step["duration_s"],
                }
            )
        duration_s = step["duration_s"] / len(step["speed"]["sizes"])
        steps.append(step | {"duration_s": duration_s})
    close = [abs(row["off"]) <= TARGETS["sizes"] for row in rows if row["bound"] != "latency"]
    ok = all(close) and all(row["outcome"] == "pass" for row in rows)
    return {"rows": rows, "ok": ok, "steps": steps}


def at_once(
    measure: Callable[[Plan], dict[str, Any]],
) -> Callable[[Plan], Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]]:
    """Make a part of one that is measured as a whole."""

    def part(plan: Plan) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        found = measure(plan)
        steps = found.pop("steps")
        yield found, steps

    return part


MEASURES = {
    "events": events,
    "itself": at_once(lambda plan: itself()),
    "repeats": at_once(lambda plan: repeats(catalog.find(ROOT, plan.repeated), plan.runs)),
    "liars": at_once(lambda plan: liars()),
    "bounds": accuracy_bounds.bounds,
    "sizes": at_once(lambda plan: sizes()),
    "bound_repeats": accuracy_bounds.repeats,
    "bound_liars": accuracy_bounds.liars,
}


# --- what a person reads --------------------------------------------------------------------------


def table(record: dict[str, Any]) -> Iterator[str]:
    def mark(part: str) -> str:
        return "ok" if record[part]["ok"] else "MISSED"

    if "events" in record:
        yield f"events: within {TARGETS['events']:.0%}: {mark('events')}"
        for row in record["events"]["rows"]:
            published = (
                "no speed"
                if row["off"] is None
                else (f"{row['published_gbps']:>8,.0f} GB/s published, {row['off']:+.2%} off")
            )
            yield (
                f"  {row['exercise']:<24}{row['events_gbps']:>8,.0f} GB/s by events, {published}, "
                f"{row['outcome']}, {row['duration_s']:.1f} s"
            )
        if record["events"]["left"]:
            yield f"  not measured: {', '.join(record['events']['left'])}"
    if "itself" in record:
        shares = ", ".join(f"{share:.4f}" for share in record["itself"]["shares"])
        yield f"the reference against itself: {shares}: {mark('itself')}"
    if "sizes" in record:
        yield f"sizes: within {TARGETS['sizes']:.0%}: {mark('sizes')}"
        for row in record["sizes"]["rows"]:
            yield (
                f"  {row['case']:<24}{row['share']:.1%} of {row['bound']}, {row['off']:+.2%} off "
                f"plain events, {row['outcome']}, {row['duration_s']:.1f} s for all sizes"
            )
    for name, title, lines in (
        ("bounds", "other bounds: ", accuracy_bounds.bound_lines),
        ("bound_repeats", "fresh runs of other bounds: ", accuracy_bounds.repeat_lines),
        ("bound_liars", "liars of other bounds: ", accuracy_bounds.liar_lines),
    ):
        if name in record:
            yield title + mark(name)
            yield from lines(record[name])
    if "repeats" in record:
        part = record["repeats"]
        halves = ", ".join(
            f"{half} {part[half]['spread']:.2%} ({', '.join(part[half]['outcomes'])})"
            for half in ("quiet", "loaded")
        )
        yield f"repeats: spread {part['spread']:.2%}: {halves}: {mark('repeats')}"
    if "liars" in record:
        yield f"liars: {mark('liars')}"
        for row in record["liars"]["rows"]:
            told = row["caught"] or f"gains {row['gain']:+.2%}"
            yield f"  {row['kernel']:<24}{told}"
    part = record["duration"]
    yield f"speed step: {part['median_s']:.1f} s, slowest {part['slowest_s']:.1f} s: " + (
        mark("duration")
    )


if __name__ == "__main__":
    sys.exit(main())
