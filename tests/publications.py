"""A small course with solutions to publish, and results of them, for tests and for looking at."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

COURSES = Path(__file__).parent / "courses"
H200 = {
    "grader": "0.1.0",
    "python": "3.12.3",
    "torch": "2.11.0",
    "triton": "3.6.0",
    "numba_cuda": "0.30.4",
    "device": "NVIDIA H200",
    "simulated": False,
    "capability": "9.0",
    "driver": "580.159.04",
}
SPEED = {
    "case": "536,870,912 elements of float32",
    "bytes_moved": 4_294_967_296,
    "time_ms": 1.5,
    "bandwidth_gbps": 2863.3,
    "ceiling_gbps": 4260.0,
    "share": 0.672,
    "share_low": 0.661,
    "share_high": 0.683,
    "passing": 0.6,
    "great": 0.9,
    "goes": 10,
    "calls_per_go": 8,
    "first_call_s": 0.5,
    "latency_case": "1,024 elements of float32",
    "latency_us": 12.0,
    "attainable": 0.75,
    "limit": "traffic",
    "explanation": ["The kernel reads x too often.", "Look at `x`."],
    "resources": [
        {
            "kernel": "double_kernel",
            "registers": 40,
            "spills": None,
            "shared_bytes": 32,
            "threads": 256,
            "launches": 1,
            "occupancy": 0.75,
        }
    ],
}
COMMENTARY = """\
It doubles. See [the lesson](https://example.org/), which says `2 * x`.

## Why it is built so

- **One mask**, for load and store.

```python
x = tl.load(x_ptr)  # <b>no markup</b>
```

| block | threads |
| --- | --- |
| 128 | 128 |
"""
WRONG = '''\
"""Leaves out the mask: `inside` is for everybody.

Rejected at: correctness
On a GPU: may pass by luck, because nobody looks behind the end.
"""

import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, 2 * x)


def double(x, out):
    grid = (triton.cdiv(x.numel(), 128),)
    double_kernel[grid](x, out, x.numel(), BLOCK=128)
'''


def make(folder: Path, policy: str = "now") -> Path:
    """A course of two exercises and a puzzle, of which 01_double has all that can be told."""
    root = Path(shutil.copytree(COURSES / "small", folder / "course"))
    for shelf, old, new in (
        ("puzzles", "p01_copy", "p01_transpose"),
        ("solutions", "p01_copy", "p01_transpose"),
    ):
        shutil.rmtree(root / shelf / old)
        shutil.copytree(COURSES / "counted" / shelf / new, root / shelf / new)
    (root / "course.toml").write_text(
        f'name = "small"\ntitle = "A small course"\nversion = "2026.1"\nsolutions = "{policy}"\n'
    )
    answers = root / "solutions" / "01_double"
    (answers / "commentary.md").write_text(COMMENTARY)
    (answers / "wrong_no_mask.py").write_text(WRONG)
    return root


def result(root: Path, name: str = "01_double", **changes: Any) -> dict[str, Any]:
    """A result of that solution as it stands: timed on a GPU, unless `changes` say otherwise."""
    made = json.loads((COURSES / "result.json").read_text())
    solution = root / "solutions" / name / "kernel.py"
    made |= {
        "exercise": name,
        "kernel": {
            "path": f"solutions/{name}/kernel.py",
            "sha256": hashlib.sha256(solution.read_bytes()).hexdigest(),
        },
        "environment": H200,
    }
    made["steps"][-1] |= {"outcome": "pass", "points": 3, "speed": SPEED}
    return made | changes


def simulated(root: Path, name: str = "01_double", **changes: Any) -> dict[str, Any]:
    """The same, made on a machine without a GPU."""
    made = result(root, name)
    environment = made["environment"] | {"simulated": True, "device": "cpu", "driver": None}
    made["steps"][-1] |= {"outcome": "skip", "points": 0, "speed": None}
    return made | {"environment": environment} | changes


def counted(root: Path) -> dict[str, Any]:
    """A result of the puzzle, with counts."""
    made = simulated(root, "p01_transpose")
    made["steps"] = made["steps"][:4]
    step = made["steps"][-1]
    counts = [
        {"count": "transactions", "value": 36, "most": 40, "best": 32},
        {"count": "barriers", "value": 0, "most": 0, "best": 0},
    ]
    made["steps"].append(step | {"name": "counts", "traffic": [], "counts": counts})
    return made


def lines(*results: dict[str, Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in results)
