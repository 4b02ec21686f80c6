"""Call one entry once in plain GPU allocations, for one of NVIDIA's tools to watch.

Started as `python -I -m grader.worker.single_call FOLDER`, where `grader.grading.sanitize` has put
kernel.py, call.json and each tensor's bytes. Writes the start of each argument to addresses.json.
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
from grader.worker.loop import limit_resources


def main(folder: Path) -> None:
    limit_resources(simulated=False)
    call = json.loads((folder / "call.json").read_text())
    wrap = backend_module(Path(call["backend"]), "plain_call").install(lines=True)
    tensors = {
        argument["name"]: tensor_of(folder, argument, "cuda")
        for argument in call["arguments"]
        if "value" not in argument
    }
    starts = {name: tensor.untyped_storage().data_ptr() for name, tensor in tensors.items()}
    (folder / "addresses.json").write_text(json.dumps(starts))
    arguments = [
        wrap(tensors[argument["name"]]) if argument["name"] in tensors else argument["value"]
        for argument in call["arguments"]
    ]
    names = [argument["name"] for argument in call["arguments"]]
    entry = load_entry(folder / "kernel.py", call["entry"], names)
    entry(*arguments)
    torch.cuda.synchronize()


def tensor_of(folder: Path, argument: Mapping[str, Any], device: str) -> torch.Tensor:
    """Make the tensor of an entry of call.json; its allocation ends with its last element."""
    data = bytearray((folder / f"{argument['name']}.bin").read_bytes())
    # A plain copy: the tool would watch a kernel of torch's, too.
    memory = torch.frombuffer(data, dtype=getattr(torch, argument["dtype"])).to(device)
    return memory.as_strided(argument["shape"], argument["strides"], argument["offset"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
