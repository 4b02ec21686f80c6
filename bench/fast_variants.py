"""Time `fast.py` of 04 as it is, with one thing undone, and in other shapes.

    python bench/fast_variants.py --out bench/results/fast_variants_h200.json

fast.md says what each thing bought: this measures it, in one process, by plain CUDA events, on
1 GiB of input. A shape is (blocks of a cluster, threads on a row of a block, rows of a block, packs
of a thread), as in SHAPES of fast.py. Needs a CUDA GPU that nobody else uses. Exit code 1 when an
answer is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from in_turn import CALLS, COLUMNS, DTYPES, Softmax, fast_softmax, measured

from grader.machine import environment, gpu_lock

# What stands in the file once, and what could stand there instead.
VARIANTS = {
    "memory begins at a multiple of 16": (
        "__align__(128) unsigned char",
        "__align__(16) unsigned char",
    ),
    "arrival by default": ("barrier.cluster.arrive.relaxed;", "barrier.cluster.arrive;"),
    "registers without a limit": (", AT_ONCE<PACKS * Pack<T>::SIZE> / (THREADS * ROWS))", ")"),
}
FEWEST_PACKS, MOST_VALUES = 2, 64  # of a thread
MOST_THREADS = 512  # of a block
MOST_SHARE = 128 << 10  # bytes of a block


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--out", type=Path, help="write the record here")
    args = options.parse_args(arguments)
    kernels = {"as it is": fast_softmax()} | {name: _variant(name) for name in VARIANTS}
    with gpu_lock.exclusive_gpu():
        undone = [measured(kernels, columns, dtype) for dtype in DTYPES for columns in COLUMNS]
        shapes = [_in_shapes(columns, dtype) for dtype in DTYPES for columns in COLUMNS]
    means = {
        name: statistics.geometric_mean(row["shares"][name] for row in undone) for name in kernels
    }
    record = {
        "benchmark": "fast_variants",
        "exercise": "04_online_softmax",
        "environment": environment("cuda").model_dump(),
        "calls": CALLS,
        "undone": undone,
        "geometric_means": means,
        "shapes": shapes,
    }
    if args.out:
        args.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{'time of a copy / time':20} {', '.join(kernels)}; the fastest shapes")
    for row, found in zip(undone, shapes, strict=True):
        shares = "  ".join(f"{share:.3f}" for share in row["shares"].values())
        best = sorted(found["shares"], key=found["shares"].get, reverse=True)[:4]
        others = ", ".join(f"{shape}: {found['shares'][shape]:.3f}" for shape in best)
        print(f"{row['columns']:>10,} {row['dtype']:9} {shares}   {others}")
    print(", ".join(f"{name}: {mean:.3f}" for name, mean in means.items()))
    return 0 if not any(row["wrong"] for row in (*undone, *shapes)) else 1


def _variant(name: str) -> Softmax:
    current, replacement = VARIANTS[name]

    def change(source: str) -> str:
        if source.count(current) != 1:
            raise SystemExit(f"fast.py does not say {current!r} once; update VARIANTS")
        return source.replace(current, replacement)

    return fast_softmax(change)


def _in_shapes(columns: int, dtype: torch.dtype) -> dict[str, Any]:
    kernels = {
        " ".join(map(str, shape)): fast_softmax(shape=shape) for shape in _shapes(columns, dtype)
    }
    return measured(kernels, columns, dtype)


def _shapes(columns: int, dtype: torch.dtype) -> Iterator[tuple[int, ...]]:
    """Yield the shapes that hold a row exactly; its length is a power of 2."""
    row = columns * dtype.itemsize
    most = MOST_VALUES * dtype.itemsize // 16
    for cluster, threads, rows in itertools.product(
        (1, 2, 4, 8), (32, 64, 128, 256, 512), (1, 2, 4)
    ):
        packs = row // 16 // cluster // threads
        fits = threads * rows <= MOST_THREADS and row // cluster * rows <= MOST_SHARE
        if (
            FEWEST_PACKS <= packs <= most
            and fits
            and (rows == 1 or (cluster == 1 and threads <= 128))
        ):
            yield cluster, threads, rows, packs


if __name__ == "__main__":
    sys.exit(main())
