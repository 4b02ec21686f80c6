"""Hold the results of this checkout against those of another: same kernels, same seeds, on the CPU.

    python bench/same_results.py ../before --out bench/results/same_results_cpu.json

Grades the solution and the last wrong kernels of each exercise, and the stubs, in both checkouts
(each with the `grader` of its own .venv), and compares the results field by field. Times, versions,
and the words of messages may differ, those of a case too; everything else is listed where it does.
Exit code 1 then.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from grader.model import Case

ROOT = Path(__file__).parent.parent
SHELVES = ("exercises", "puzzles")
FIRST_SEED = 1000
# Words for a reader, times, and the versions of what ran: free to change.
FREE = {"duration_s", "started_at", "environment", "summary", "message", "hint", "expected", "got"}
FREE |= {"output", "title", "where", "replay", "walls", "rule"}


def jobs() -> list[tuple[str, str]]:
    """Return exercise and kernel file of each check, solutions first."""
    names = [
        (shelf, p.parent.name) for shelf in SHELVES for p in sorted(ROOT.glob(f"{shelf}/*/spec.py"))
    ]
    chosen = [(name, f"solutions/{name}/kernel.py") for _, name in names]
    for shelf, name in names:
        wrong = sorted((ROOT / "solutions" / name).glob("wrong_*.py"))
        chosen += [
            (name, path.relative_to(ROOT).as_posix())
            for path in wrong[-2 if shelf == "exercises" else -1 :]
        ]
    return chosen + [(name, f"{shelf}/{name}/kernel.py") for shelf, name in names[:6]]


def graded(checkout: Path, exercise: str, kernel: Path, seed: int) -> dict[str, Any]:
    """Return the result of one check by another checkout's grader, or why there is none."""
    command = [checkout / ".venv/bin/grader", "check", exercise, "--kernel", kernel]
    done = subprocess.run(
        [*map(str, command), "--device", "cpu", "--seed", str(seed), "--json"],
        cwd=checkout,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout) if done.stdout.strip() else {"no result": done.stderr[-500:]}


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield each field that differs and is not free to; fields that are new are no difference."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() - FREE:
            if name == "case" and _same_case(before[name], after.get(name)):
                continue
            if name in after:
                yield from differences(before[name], after[name], f"{place}.{name}".strip("."))
            elif before[name] not in (None, [], "", False):
                yield f"{place}.{name} is gone"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif before != after:
        yield f"{place}: {before!r:.200} became {after!r:.200}"


def _same_case(before: str | None, after: str | None) -> bool:
    """Report whether two headlines name one case, however they say it."""
    if before is None or after is None:
        return before == after
    with suppress(ValueError):  # a test's own inputs are no case
        return Case.of_headline(before) == Case.of_headline(after)
    return before == after


def main(argv: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("before", type=Path, help="the other checkout, set up with `make setup`")
    options.add_argument("--out", type=Path, help="write the record here")
    options.add_argument("--before-results", type=Path, help="results kept of a run before")
    asked = options.parse_args(argv)
    kept = {}
    if asked.before_results:
        lines = asked.before_results.read_text(encoding="utf-8").splitlines()
        kept = {(r["kernel"], r["seed"]): r["result"] for r in map(json.loads, lines)}
    compared = []
    for number, (exercise, kernel) in enumerate(jobs()):
        seed = FIRST_SEED + number
        before = kept.get((kernel, seed)) or graded(asked.before, exercise, Path(kernel), seed)
        after = graded(ROOT, exercise, Path(kernel), seed)
        found = list(differences(before, after))
        compared.append(
            {
                "kernel": kernel,
                "seed": seed,
                "status": after.get("status"),
                "differences": found,
            }
        )
        print(
            f"{kernel:60} {after.get('status', 'no result'):12} {'; '.join(found) or 'same'}",
            flush=True,
        )
    record = {
        "kernels": len(compared),
        "same": sum(not one["differences"] for one in compared),
        "compared": compared,
    }
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{record['same']} of {record['kernels']} results are the same")
    return 0 if record["same"] == record["kernels"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
