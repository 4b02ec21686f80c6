"""Load fast solutions as they are or changed, and time softmax in turn with torch's copy."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from cuda.core import ProgramOptions
from torch import Tensor

Softmax = Callable[[Tensor, Tensor], None]

SOLUTIONS = Path(__file__).parents[1] / "solutions"
COLUMNS = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072)
DTYPES = (torch.float32, torch.bfloat16)
INPUT = 2**30  # bytes, twenty times the L2 cache of an H200
CALLS = 15
CHECKED = 64  # of the first rows and of the last, that are compared with torch's softmax
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 1e-2}  # of a probability, relative


def fast_solution(exercise: str) -> ModuleType:
    """Load fast.py. Outside of a worker its compiler needs to know where CUDA's headers are."""
    spec = importlib.util.spec_from_file_location("fast", SOLUTIONS / exercise / "fast.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    headers = next(Path(torch.__file__).parents[1].glob("nvidia/*/include/cuda_bf16.h"))
    module.ProgramOptions = partial(ProgramOptions, include_path=str(headers.parent))
    return module


def fast_softmax(
    change: Callable[[str], str] | None = None, shape: tuple[int, ...] | None = None
) -> Softmax:
    """Load fast.py of 04, with its CUDA C++ changed or with one shape for all rows."""
    module = fast_solution("04_online_softmax")
    if change:
        module.SOURCE = change(module.SOURCE)
    if shape:
        module.SHAPES = {INPUT: module.Shape(*shape)}
    return module.softmax


def measured(kernels: Mapping[str, Softmax], columns: int, dtype: torch.dtype) -> dict[str, Any]:
    """Check each kernel at one size and time it; a share is the copy's time over the kernel's.

    Each time is a median of CALLS calls. Before a timed call a copy runs, which no time includes:
    so the CPU has done its part of the launch when the GPU begins.
    """
    x = torch.randn(INPUT // (columns * dtype.itemsize), columns, device="cuda", dtype=dtype)
    out = torch.empty_like(x)
    copy = partial(out.copy_, x)
    wrong = [name for name, kernel in kernels.items() if not _is_right(kernel, x, out)]
    calls = {"copy": copy} | {name: partial(kernel, x, out) for name, kernel in kernels.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(CALLS):
        for name, call in calls.items():
            copy()
            times[name].append(_seconds(call))
    medians = {name: statistics.median(each) for name, each in times.items()}
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "columns": columns,
        "rows": len(x),
        "copy_gbps": 2 * x.nbytes / medians["copy"] / 1e9,
        "shares": {name: medians["copy"] / medians[name] for name in kernels},
        "wrong": wrong,
    }


def _is_right(kernel: Softmax, x: Tensor, out: Tensor) -> bool:
    out.fill_(-1)
    kernel(x, out)
    for rows in (slice(CHECKED), slice(-CHECKED, None)):
        off = (out[rows].double() / torch.softmax(x[rows].double(), -1) - 1).abs().max().item()
        if not off < TOLERANCE[x.dtype]:
            return False
    return bool((out >= 0).all())


def _seconds(call: Callable[[], object]) -> float:
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    began.record()
    call()
    ended.record()
    ended.synchronize()
    return began.elapsed_time(ended) / 1e3
