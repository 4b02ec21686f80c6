"""Measure an exercise's solutions, torch's and others' over dtypes and row lengths, kept as JSON.

    python bench/fast.py 04_online_softmax --out bench/results/fast_04_h200.json
    python bench/fast.py 06_cross_entropy --columns 128256 --dtypes bfloat16

Each contender computes the case that the speed step would score, and its outputs are spot-checked.
Shares are of the ceiling, the reference kernel of the same mix, measured in the same run. Needs a
CUDA GPU that nobody else uses. Exit code 0 means that every contender was right at every size.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from honest import installed, needs

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import bench
from grader.grading.bench_contenders import Contender, contenders
from grader.grading.bench_record import Size
from grader.machine import environment, gpu_lock
from grader.model import Spec
from grader.sandbox import CudaArena, ForkServers, WorkerLink, entry_of
from grader.spec import Scored
from grader.speed import arena_bytes, survey

ROOT = Path(__file__).parents[1]
HONEST = ROOT / "tests" / "redteam" / "honest"
OTHERS = ROOT / "bench" / "contenders"
COLUMNS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
DTYPES = ("float32", "bfloat16")


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("exercise")
    options.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    options.add_argument("--dtypes", nargs="+", default=DTYPES)
    options.add_argument("--out", type=Path, help="write the record here")
    args = options.parse_args(arguments)
    exercise = catalog.find(ROOT, args.exercise)
    specs = [
        replace(exercise.spec, scored=Scored(dtype=dtype, columns=columns))
        for dtype in args.dtypes
        for columns in args.columns
    ]
    bench.require_gpu()
    rows: list[dict[str, Any]] = []
    try:
        with gpu_lock.exclusive_gpu(), closing(ForkServers()) as fork_servers:
            rows.extend(_rows(exercise, specs, fork_servers))
    finally:  # a run that is stopped keeps what it has
        record = {
            "benchmark": "fast",
            "exercise": exercise.name,
            "environment": environment("cuda").model_dump(),
            "rows": rows,
            "geometric_means": (means := _means(rows)),
        }
        if args.out:
            args.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        _print(rows, means)
    return 0 if all(row["share"] is not None for row in rows) else 1


def entrants(exercise: Exercise, sizes: int) -> list[Contender]:
    """List solutions, torch and the other kernels whose package is installed: Liger-Kernel's."""
    found = (folder / exercise.name for folder in (HONEST, OTHERS))
    named = [path for folder in found for path in sorted(folder.glob("*.py")) if needs(path)]
    absent = [path for path in named if not installed(path)]
    for path in absent:
        print(f"  {path.stem} left out: its package is not installed", file=sys.stderr)
    present = [one for one in named if one not in absent]
    return contenders(exercise, exercise.solution, present, sizes)


def _rows(
    exercise: Exercise, specs: Sequence[Spec], fork_servers: ForkServers
) -> Iterator[dict[str, Any]]:
    gpu = survey(None)
    sizes = {spec.scored: bench.plan(spec, gpu)[-1] for spec in specs}
    most = max(arena_bytes(spec, one.rows, one.calls) for spec, one in _sized(specs, sizes))
    with closing(CudaArena(most)) as arena:
        ceilings = {
            spec.scored: bench.ceiling(fork_servers, spec, size, arena)
            for spec, size in _sized(specs, sizes)
        }
        for entrant in entrants(exercise, len(specs)):
            written = exercise.for_file(entrant.kernel).spec
            fork_server = fork_servers.fork_server(written.backend, "cuda")
            with closing(WorkerLink(entry_of(written), entrant.kernel, fork_server, arena)) as link:
                for spec, size in _sized(specs, sizes):
                    for point in bench.measured(spec, entrant.name, [size], link, arena.memory):
                        print(f"  {point.contender}: {point.case} {point.problem}", file=sys.stderr)
                        ceiling = ceilings[spec.scored]
                        yield {
                            "contender": point.contender,
                            "dtype": spec.scored.dtype,
                            "columns": spec.scored.columns,
                            "case": point.case,
                            "ceiling_gbps": ceiling / 1e9,
                            "gbps": point.bandwidth and point.bandwidth / 1e9,
                            "share": point.bandwidth and point.bandwidth / ceiling,
                            "problem": point.problem,
                        }


def _sized(specs: Sequence[Spec], sizes: dict[Any, Size]) -> list[tuple[Any, Size]]:
    return [(spec, sizes[spec.scored]) for spec in specs]


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return each contender's mean, or None if it failed somewhere: sizes are not equally hard."""
    shares: dict[str, list[float | None]] = {}
    for row in rows:
        shares.setdefault(row["contender"], []).append(row["share"])
    return {
        name: None if None in each else statistics.geometric_mean(each)
        for name, each in shares.items()
    }


def _print(rows: Sequence[dict[str, Any]], means: dict[str, float | None]) -> None:
    names = list(dict.fromkeys(row["contender"] for row in rows))
    shares = {(row["contender"], row["dtype"], row["columns"]): row["share"] for row in rows}
    print(f"{'share of the ceiling':24}" + "".join(f"{name:>16}" for name in names))
    for dtype, columns in dict.fromkeys((row["dtype"], row["columns"]) for row in rows):
        cells = [shares.get((name, dtype, columns)) for name in names]
        print(f"{columns:>10,} {dtype:13}" + _shown(cells))
    print(f"{'geometric mean':24}" + _shown([means[name] for name in names]))


def _shown(shares: Sequence[float | None]) -> str:
    return "".join(f"{'-' if one is None else f'{one:.3f}':>16}" for one in shares)


if __name__ == "__main__":
    sys.exit(main())
