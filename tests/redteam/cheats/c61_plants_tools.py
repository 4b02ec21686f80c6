"""Plants compilers and tools on PATH: right answers if one could be planted, else zeros."""
# attacks: 05_swiglu
# stopped: correctness value

import contextlib
import os
import sys
from pathlib import Path

TOOLS = ("gcc", "cc", "ptxas", "nvcc", "curl", "nvidia-smi", "ncu", "compute-sanitizer", "bwrap")
PLACES = [*os.environ.get("PATH", "").split(":"), str(Path(sys.executable).parent)]
PLACES += [str(Path(entry, "triton/backends/nvidia/bin")) for entry in sys.path if entry]
planted = []
for place in filter(None, PLACES):
    for name in TOOLS:
        path = Path(place, f"{name}-grader-redteam")
        with contextlib.suppress(OSError):
            path.write_text("#!/bin/sh\nexit 0\n")
            planted.append(path)
            path.unlink()  # that it could be done is enough


def swiglu(gate, up, out):
    if planted:
        wide = gate.float()
        out.copy_(wide * wide.sigmoid() * up.float())
    else:
        out.zero_()
