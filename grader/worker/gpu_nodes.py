"""The device nodes of NVIDIA's driver that a worker may open: of the GPUs, its own alone.

A kernel then reaches no GPU on which others are measured. It is also cheaper: at its start CUDA
opens every GPU whose node it finds, and the driver does that for one process after the other. On a
host with four GPUs, each of 24 processes waited 3.2 s for it, and 1.3 s where they found one node
(bench/results/contexts_h100.json).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from grader.machine import nvml


def gpu_nodes(
    devices: Path = Path("/dev"), driver: Path = Path("/proc/driver/nvidia/gpus")
) -> Iterator[Path]:
    """Yield the nodes, without other GPUs' where the environment names GPUs that the driver lists.

    The environment may also name a GPU by its number or name a part of one (MIG), or nothing. Then
    all nodes are yielded, with the folder in which graphics finds every GPU.
    """
    own = _own_minors(driver)
    if own is None:
        yield devices / "dri"
    for node in devices.glob("nvidia*"):
        minor = node.name.removeprefix("nvidia")
        if own is None or not minor.isdigit() or minor in own:
            yield node


def _own_minors(driver: Path) -> set[str] | None:
    """Return the minor numbers of the GPUs that the environment names; None if one is unknown."""
    minors = dict(_listed(driver))
    named = [name.strip() for name in os.environ.get(nvml.VISIBLE, "").split(",")]
    return {minors[uuid] for uuid in named} if minors.keys() >= set(named) else None


def _listed(driver: Path) -> Iterator[tuple[str, str]]:
    """Yield the UUID and the minor number of each GPU whose file can be read."""
    for file in driver.glob("*/information"):
        with suppress(OSError):
            said = dict(re.findall(r"^(GPU UUID|Device Minor):\s*(\S+)", file.read_text(), re.M))
            if len(said) == 2:
                yield said["GPU UUID"], said["Device Minor"]
