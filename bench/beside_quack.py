"""Time `fast.py` of 04 beside QuACK's softmax, in one process that nothing judges.

    python bench/beside_quack.py --out bench/results/beside_quack_h200.json

The judge's workers refuse CuTe DSL, in which QuACK is written. So both are timed by plain CUDA
events, called in turn with torch's copy on 1 GiB of input. A share is the copy's time over the
kernel's, each a median of CALLS calls. Needs a CUDA GPU that nobody else uses, and the package
quack-kernels. Exit code 1 when an answer is wrong.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from cuda.core import ProgramOptions
from torch import Tensor

from grader.machine import environment, gpu_lock

ROOT = Path(__file__).parents[1]
COLUMNS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
DTYPES = (torch.float32, torch.bfloat16)
INPUT = 2**30  # bytes, twenty times the L2 cache of an H200
CALLS = 15
CHECKED = 64  # rows that are compared with torch's softmax
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 1e-2}  # of a probability, relative


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--out", type=Path, help="write the record here")
    args = options.parse_args(arguments)
    from quack.softmax import _softmax_fwd

    kernels = {"solution, fast": fast_softmax(), "quack": _softmax_fwd}
    with gpu_lock.exclusive_gpu():
        rows = [_measured(kernels, columns, dtype) for dtype in DTYPES for columns in COLUMNS]
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
    return 0 if all(row["right"] for row in rows) else 1


def fast_softmax() -> Callable[[Tensor, Tensor], None]:
    """Load fast.py; outside of a worker its compiler needs to know where CUDA's headers are."""
    file = ROOT / "solutions" / "04_online_softmax" / "fast.py"
    spec = importlib.util.spec_from_file_location("fast_softmax", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    headers = next(Path(torch.__file__).parents[1].glob("nvidia/*/include/cuda_bf16.h"))
    module.ProgramOptions = partial(ProgramOptions, include_path=str(headers.parent))
    return module.softmax


def _measured(
    kernels: Mapping[str, Callable[[Tensor, Tensor], None]], columns: int, dtype: torch.dtype
) -> dict[str, Any]:
    x = torch.randn(INPUT // (columns * dtype.itemsize), columns, device="cuda", dtype=dtype)
    out = torch.empty_like(x)
    expected = torch.softmax(x[:CHECKED].double(), -1)
    right = True
    for kernel in kernels.values():
        out.fill_(-1)
        kernel(x, out)
        wrong = (out[:CHECKED].double() / expected - 1).abs().max().item()
        right &= wrong < TOLERANCE[dtype] and bool((out >= 0).all())
    calls = {"copy": lambda: out.copy_(x)} | {
        name: partial(kernel, x, out) for name, kernel in kernels.items()
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(CALLS):
        for name, call in calls.items():
            times[name].append(_seconds(call))
    medians = {name: statistics.median(each) for name, each in times.items()}
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "columns": columns,
        "rows": len(x),
        "copy_gbps": 2 * x.nbytes / medians["copy"] / 1e9,
        "shares": {name: medians["copy"] / medians[name] for name in kernels},
        "right": right,
    }


def _seconds(call: Callable[[], object]) -> float:
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    began.record()
    call()
    ended.record()
    ended.synchronize()
    return began.elapsed_time(ended) / 1e3


if __name__ == "__main__":
    sys.exit(main())
