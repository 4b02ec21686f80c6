"""Measure what a length costs the ceiling's kernel, beside torch's addition, kept as JSON.

    python bench/ceiling_lengths.py --out bench/results/ceiling_lengths_h200.json

Where Triton knows that 16 divides the length, it reads and writes four numbers at once, and else
one after the other. Rates are GB/s, medians of five batches of 12 calls. Needs a CUDA GPU that
nobody else uses.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import torch

from grader.backends.triton.reference_kernels import stream

LENGTH = 346_536_448  # of float32; near that of exercise 22 on an H200
LESS = (0, 8, 4, 1, 16, 1024)
BATCHES, CALLS = 5, 12


def rate(call: Callable[[], object], moved: int) -> float:
    """Return GB/s of a call that moves so many bytes."""
    call()
    torch.cuda.synchronize()
    rates = []
    for _ in range(BATCHES):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            call()
        stop.record()
        torch.cuda.synchronize()
        rates.append(CALLS * moved / start.elapsed_time(stop) / 1e6)
    return statistics.median(rates)


def rates(length: int, x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> dict[str, float]:
    x, y, out = x[:length], y[:length], out[:length]
    calls: dict[str, tuple[Callable[[], object], int]] = {
        "two_one": (lambda: stream(2, 1, x, y, out), 3),
        "one_one": (lambda: stream(1, 1, x, out), 2),
        "read_one": (lambda: stream(1, 0, x), 1),
        "torch_add": (lambda: torch.add(x, y, out=out), 3),
    }
    found = {name: rate(call, 4 * tensors * length) for name, (call, tensors) in calls.items()}
    return {"mod16": length % 16, **found}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    x, y = torch.randn((2, LENGTH), device="cuda")
    out = torch.empty_like(x)
    found = {}
    for less in LESS:
        found[LENGTH - less] = rates(LENGTH - less, x, y, out)
        print(
            LENGTH - less, *(f"{name} {value:,.0f}" for name, value in found[LENGTH - less].items())
        )
    record = {"device": torch.cuda.get_device_name(0), "rates_gbps": found}
    if asked.out is not None:
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
