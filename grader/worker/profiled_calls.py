"""Call a kernel once under a profiler: `python -I -m grader.worker.profiled_calls job.json`.

The job names the file and the entry, and describes the arguments. The first call compiles; only the
second lies between cudaProfilerStart and cudaProfilerStop.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from grader.worker.backend import backend_module
from grader.worker.load import load_entry


def main(path: str) -> None:
    job = json.loads(Path(path).read_text())
    generator = torch.Generator("cuda").manual_seed(0)
    tensors = [_argument(a, job["below"], generator) for a in job["arguments"]]
    wrap = backend_module(Path(job["backend"]), "plain_call").install(lines=False)
    arguments = [wrap(a) if isinstance(a, torch.Tensor) else a for a in tensors]
    entry = load_entry(Path(job["kernel"]), job["entry"], job["parameters"])
    entry(*arguments)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    entry(*arguments)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def _argument(
    described: Mapping[str, Any], below: int, generator: torch.Generator
) -> torch.Tensor | float:
    if "value" in described:
        number: float = described["value"]
        return number
    dtype = getattr(torch, described["dtype"])
    if dtype.is_floating_point:
        # Torch draws no floats of 8 bits.
        drawn_in = dtype if dtype.itemsize > 1 else torch.float32
        tensor = torch.empty(described["shape"], dtype=drawn_in, device=generator.device)
        return tensor.normal_(generator=generator).to(dtype)
    most = 2 if dtype == torch.bool else torch.iinfo(dtype).max
    tensor = torch.empty(described["shape"], dtype=dtype, device=generator.device)
    return tensor.random_(0, min(below, most), generator=generator)


if __name__ == "__main__":
    main(sys.argv[1])
