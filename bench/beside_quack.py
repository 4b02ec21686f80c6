"""Time `fast.py` of 04 beside QuACK's softmax, in one process that nothing judges.

    python bench/beside_quack.py --out bench/results/beside_quack_h200.json

The judge's workers refuse CuTe DSL, in which QuACK is written. So both are timed by plain CUDA
events, called in turn with torch's copy on 1 GiB of input. Needs a CUDA GPU that nobody else uses,
and the package quack-kernels. Exit code 1 when an answer is wrong.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from in_turn import CALLS, COLUMNS, DTYPES, fast_softmax, measured

from grader.machine import environment, gpu_lock


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--out", type=Path, help="write the record here")
    args = options.parse_args(arguments)
    from quack.softmax import _softmax_fwd  # here, for --help needs no package

    kernels = {"solution, fast": fast_softmax(), "quack": _softmax_fwd}
    with gpu_lock.exclusive_gpu():
        rows = [measured(kernels, columns, dtype) for dtype in DTYPES for columns in COLUMNS]
    shares = {name: [row["shares"][name] for row in rows] for name in kernels}
    means = {name: statistics.geometric_mean(each) for name, each in shares.items()}
    record = {
        "benchmark": "beside_quack",
        "environment": environment("cuda").model_dump()
        | {"quack": importlib.metadata.version("quack-kernels")},
        "calls": CALLS,
        "rows": rows,
        "geometric_means": means,
    }
    if args.out:
        args.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"{'time of a copy / time':22}" + "".join(f"{name:>16}" for name in kernels))
    for row in rows:
        shown = "".join(f"{row['shares'][name]:>16.3f}" for name in kernels)
        print(f"{row['columns']:>10,} {row['dtype']:11}{shown}")
    print(f"{'geometric mean':22}" + "".join(f"{means[name]:>16.3f}" for name in kernels))
    return 0 if not any(row["wrong"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
