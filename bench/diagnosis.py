"""Judge what reports say of wrong kernels: do they name the failing line, and the right cause?

    python bench/diagnosis.py --out bench/results/diagnosis.json
    python bench/diagnosis.py --exercise 04_online_softmax --exercise p14_prefix_sum --missed
    python bench/diagnosis.py --mutants 0

The kernels are beginners' mistakes, the wrong kernels of the solutions, and of each exercise so
many mutants. tests/mistakes/causes.toml explains the table that reports are judged against. A third
of it is held out: of that, only sums are printed and kept.

A line is right if a frame, the message or the hint names one of the row's lines. Of a mutant it is
the line that changed; where the kernel fails at a line, as out of bounds, also one that depends on
it. A cause is the result's own word, or what its sentences or its kind of failure state. It
misleads if the row neither has it nor permits it. A mutant whose cause is not clear is judged for
its line alone. A report that named every line would always be right: the numbers of lines that
reports name, their median and their 90th percentile, show whether it does.

Exit code 1 when a kernel passes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import mistakes_table
import mutant_rows
from host import machine
from mistakes_table import Row
from named import causes_named, lines_named

from grader.authoring import mutants, survivors
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.options import Options
from grader.model.errors import GraderError
from grader.model.results import Result

SEED = 1
BATCH = 12  # kernels a judge, which takes some 3 s to start
KINDS = ("mistake", "wrong kernel", "mutant")
# Kinds of failures that have a line of their own, where the kernel fails.
AT_A_LINE = {"out_of_bounds", "stray_write", "race", "uninitialised", "misaligned"}
AT_A_LINE |= {"divergent_barrier", "divergent_shuffle", "launch_refused", "compile", "exception"}


@dataclass(frozen=True)
class Verdict:
    """The worth of the report on one kernel: a field is None where that was not judged."""

    exercise: str
    kernel: str
    kind: str
    held_out: bool
    step: str | None  # the one that failed; None: the kernel passed
    failure: str | None  # the kind of failure
    causes: tuple[str, ...]
    lines: tuple[int, ...]
    right_line: bool
    right_cause: bool | None
    misleads: bool | None


def judge(row: Row, kind: str, result: Result) -> Verdict:
    """Compare a result with the row of its kernel."""
    failed = next((step for step in result.steps if step.failure is not None), None)
    failure = failed.failure if failed else None
    lines = lines_named(failure) if failure else set[int]()
    causes = causes_named(failure) if failure else set[str]()
    right = row.lines
    if failure and kind == "mutant" and failure.kind in AT_A_LINE:
        right = mutant_rows.affected(row.kernel.read_text(encoding="utf-8"), row.lines)
    return Verdict(
        exercise=row.exercise,
        kernel=row.kernel.stem,
        kind=kind,
        held_out=row.held_out,
        step=failed.name if failed else None,
        failure=failure.kind if failure else None,
        causes=tuple(sorted(causes)),
        lines=tuple(sorted(lines)),
        right_line=bool(lines & right),
        right_cause=bool(causes & row.causes) if row.causes else None,
        misleads=bool(causes) and not causes & (row.causes | row.also) if row.causes else None,
    )


def graded(
    rows: Sequence[tuple[str, Row]], root: Path, tell: Callable[[str], None]
) -> list[Verdict]:
    """Grade the kernels, as many batches at a time as there are cores."""
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]

    def verdicts(batch: Sequence[tuple[str, Row]]) -> list[Verdict]:
        options = Options(device="cpu", seed=SEED, leave_out=("speed",))
        requests = [
            check.Request(catalog.find(root, row.exercise), row.kernel, options) for _, row in batch
        ]
        results = check.run(requests, lambda text: None)
        tell(
            f"graded {len(batch)} kernels up to {batch[-1][1].exercise}/{batch[-1][1].kernel.stem}"
        )
        return [
            judge(row, kind, result) for (kind, row), result in zip(batch, results, strict=True)
        ]

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [verdict for some in pool.map(verdicts, batches) for verdict in some]


def mutants_of(exercise: Exercise, count: int, scratch: Path) -> Iterator[Row]:
    """Yield rows for `count` mutants of a solution that tests reject, with their files."""
    source = exercise.solution.read_text(encoding="utf-8")
    made = mutants.make(source)
    declared = survivors.assign(made, survivors.read(exercise.survivors), exercise.survivors)
    groups = mistakes_table.groups()
    stated = frozenset().union(*(groups[name] for name in ("records", "budgets", "draws")))
    scratch.mkdir()
    for mutant in mutants.sample([one for one in made if one not in declared], count, SEED):
        kernel = scratch / f"mutant_{made.index(mutant) + 1}_{mutant.operator}.py"
        kernel.write_text(mutant.source, encoding="utf-8")
        yield mutant_rows.row(exercise.name, kernel, mutant, source, stated)


def rows_of(exercises: Sequence[Exercise], count: int, scratch: Path) -> list[tuple[str, Row]]:
    """Return all rows with their kinds, exercise by exercise."""
    table = defaultdict(list)
    for row in mistakes_table.rows():
        table[row.exercise].append(row)
    found: list[tuple[str, Row]] = []
    for exercise in exercises:
        for row in table[exercise.name]:
            found.append((KINDS[row.kernel.name.startswith("wrong_")], row))
        for row in mutants_of(exercise, count, scratch / exercise.name):
            found.append((KINDS[2], row))
    return found


def summed(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Count; the share of a cause is of the kernels that are judged for it."""
    judged = [one for one in verdicts if one.right_cause is not None]
    return {
        "kernels": len(verdicts),
        "rejected": sum(one.step is not None for one in verdicts),
        "right_line": sum(one.right_line for one in verdicts),
        "judged_for_cause": len(judged),
        "right_cause": sum(bool(one.right_cause) for one in judged),
        "misleads": sum(bool(one.misleads) for one in judged),
        "lines_median": _percentile(50, verdicts),
        "lines_90th": _percentile(90, verdicts),
    }


def _percentile(share: int, verdicts: Sequence[Verdict]) -> int:
    """Return the number of lines that so many of 100 reports name at most."""
    numbers = sorted(len(one.lines) for one in verdicts)
    return numbers[math.ceil(share / 100 * len(numbers)) - 1] if numbers else 0


def parts(verdicts: Sequence[Verdict]) -> dict[str, dict[str, Any]]:
    """Sum up the seen part of the table, the held out one, the mutants, and all."""
    table = [one for one in verdicts if one.kind != "mutant"]
    return {
        "seen": summed([one for one in table if not one.held_out]),
        "held_out": summed([one for one in table if one.held_out]),
        "mutants": summed([one for one in verdicts if one.kind == "mutant"]),
        "all": summed(verdicts),
    }


def record_of(verdicts: Sequence[Verdict], count: int, wall_s: float) -> dict[str, Any]:
    names = dict.fromkeys(one.exercise for one in verdicts)
    named = {cause for one in verdicts for cause in one.causes}
    return {
        "benchmark": "diagnosis",
        "machine": machine(),
        "seed": SEED,
        "mutants": count,
        "wall_s": round(wall_s, 1),
        # Causes that the vocabulary lacks. No row has them, so that they count as misleading.
        "unknown_causes": sorted(named - set(mistakes_table.vocabulary())),
        "total": parts(verdicts),
        "by_kind": {kind: summed([v for v in verdicts if v.kind == kind]) for kind in KINDS},
        "exercises": {
            name: parts([one for one in verdicts if one.exercise == name]) for name in names
        },
        "seen": [asdict(one) for one in verdicts if not one.held_out],
    }


def table(record: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the printed table: counts, shares in per cent, and numbers of lines.

    Of these numbers, the median is before the stroke, and the 90th percentile after it.
    """
    columns = ("seen", "held_out", "mutants", "all")
    yield f"{'':<22}" + "".join(f"{name.replace('_', ' '):^28}" for name in columns)
    yield f"{'exercise':<22}" + f"{'n  line cause mislead named':>28}" * len(columns)
    for name, row in (*record["exercises"].items(), ("total", record["total"])):
        yield f"{name:<22}" + "".join(_cells(row[column]) for column in columns)


def _cells(sums: dict[str, int]) -> str:
    of, judged = sums["kernels"], sums["judged_for_cause"]
    line = _share(sums["right_line"], of)
    cause, misleads = (_share(sums[key], judged) for key in ("right_cause", "misleads"))
    named = f"{sums['lines_median']}/{sums['lines_90th']}" if of else "-"
    return f"{of:>5}{line:>6}{cause:>5}{misleads:>6}{named:>6}"


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.0f}%" if of else "-"


def missed(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each seen kernel whose line or cause is not named, or which misleads."""
    for one in verdicts:
        faults = [
            *(["line"] if not one.right_line else []),
            *(["cause"] if one.right_cause is False else []),
            *(["misleads"] if one.misleads else []),
        ]
        if faults and not one.held_out:
            causes = " or ".join(one.causes) or "none"
            told = f"{one.failure or 'passes'}, cause {causes}, lines {list(one.lines)}"
            yield f"{one.exercise}/{one.kernel}: {', '.join(faults)}. Report: {told}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--exercise", action="append", default=[], help="one; without, all")
    parser.add_argument("--mutants", type=int, default=10, help="of each exercise (default: 10)")
    parser.add_argument(
        "--missed", action="store_true", help="list each seen kernel that fell short"
    )
    parser.add_argument("--out", type=Path, help="write the record here")
    asked = parser.parse_args(argv)
    root = catalog.find_root(Path(__file__).parent)
    out = asked.out and asked.out.resolve()
    os.chdir(root)  # so that the paths in the results are the course's own
    began = time.monotonic()
    try:
        exercises = [catalog.find(root, one) for one in asked.exercise] or catalog.exercises(root)
        with tempfile.TemporaryDirectory() as scratch:
            rows = rows_of(exercises, asked.mutants, Path(scratch))
            verdicts = graded(rows, root, lambda text: print(text, file=sys.stderr, flush=True))
    except GraderError as error:
        print(f"error: {error.message}\nnext: {error.next_step}", file=sys.stderr)
        return error.exit_code
    record = record_of(verdicts, asked.mutants, time.monotonic() - began)
    if out:
        out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if asked.missed:
        print("\n".join(missed(verdicts)), end="\n\n")
    print("\n".join(table(record)))
    if record["unknown_causes"]:
        print(f"not in causes.toml: {', '.join(record['unknown_causes'])}")
    passed = [one for one in verdicts if one.step is None]
    print("".join(f"{one.exercise}/{one.kernel} passes\n" for one in passed), end="")
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
