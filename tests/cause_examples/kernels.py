"""Kernel files that run on the simulated GPU: detectors read what was recorded of their calls."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evidences import spec_of

from grader.model import Case, Spec

DRAWN = {"inputs": lambda case, draw: {"x": draw.tensor(case.shape)}}
COPY = spec_of(lambda i: {"out": i["x"] * 1.0}, "x", **DRAWN)
SUM = spec_of(lambda i: {"out": i["x"].sum(-1, keepdim=True)}, "x", shape=(1,), **DRAWN)
HIGHEST = spec_of(lambda i: {"out": i["x"].amax(-1, keepdim=True)}, "x", shape=(1,), **DRAWN)
COUNTS = spec_of(
    lambda i: {"out": i["x"].bincount(minlength=4)},
    "x",
    shape=(4,),
    inputs=lambda case, draw: {"x": draw.indices(case.shape, 4)},
)


@dataclass(frozen=True)
class Kernel:
    """A kernel file that fails in a case; `word` is the cause that a report names, at `line`."""

    detector: str
    text: str
    spec: Spec
    case: Case
    word: str = ""
    line: str = ""


def triton(spec: Spec, shape: tuple[int, ...], parameters: str, body: str, host: str = "", *,
           before: str = "", **case: int) -> tuple[str, Spec, Case]:  # fmt: skip
    """Return a file with a kernel and its launch, which `host` replaces."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    launch = host or "kernel[(1,)](x, out, x.numel(), BLOCK=8)"
    launch = "\n".join(f"    {line}" for line in launch.strip().splitlines())
    text = (
        "import torch\nimport triton\nimport triton.language as tl\n"
        f"{before}\n\n@triton.jit\ndef kernel({parameters}):\n{lines}\n\n\n"
        f"def run(x, out):\n{launch}\n"
    )
    return text, replace(spec, backend="triton"), Case(shape, "float32", **case)  # type: ignore[arg-type]
