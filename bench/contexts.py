"""Measure how long processes wait for their CUDA contexts when many start at once, kept as JSON.

    python bench/contexts.py --out bench/results/contexts_h100.json

Each process starts CUDA, makes a context on its GPU and ends it. The driver does that for one
process after the other, on all GPUs of a host. `one_node` is a process that finds no other GPU's
device node, as a worker behind the wall `mounts`; `one_queue` has CUDA_DEVICE_MAX_CONNECTIONS=1, as
the judge. Seconds are means over the processes, `wall_s` is from the first start to the last end.
Needs CUDA GPUs that nobody else uses, and for `one_node` the right to mount.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

from host import machine

from grader.machine import nvml
from grader.worker.gpu_nodes import gpu_nodes
from grader.worker.linux import MS_BIND, mount, own_mounts

ONE_QUEUE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
PHASES = ("start_s", "context_s", "end_s")
PATIENCE_S = 120.0
BYTES = 64 << 20  # that each process takes of its GPU, so that its context exists


def contexts(
    uuid: str, variables: Mapping[str, str], one_node: bool, barrier: Barrier, said: Any
) -> None:
    """Put the seconds of each phase of one process into the queue `said`, or why it has none."""
    os.environ |= {nvml.VISIBLE: uuid, **variables}
    try:
        if one_node:
            _hide_other_gpus()
        cuda = ctypes.CDLL("libcuda.so.1")
        barrier.wait(PATIENCE_S)
    except (OSError, BrokenBarrierError) as error:
        barrier.abort()
        said.put(repr(error))
        return
    device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    times = [time.monotonic()]
    statuses = [cuda.cuInit(0)]
    times.append(time.monotonic())
    statuses += [
        cuda.cuDeviceGet(ctypes.byref(device), 0),
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
        cuda.cuCtxSetCurrent(context),
        cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(BYTES)),
    ]
    times.append(time.monotonic())
    statuses.append(cuda.cuDevicePrimaryCtxRelease_v2(device))
    times.append(time.monotonic())
    seconds = [later - earlier for earlier, later in pairwise(times)]
    said.put(f"CUDA says {statuses}" if any(statuses) else seconds)


def _hide_other_gpus() -> None:
    """Mount an empty file over each other GPU's node, in a mount namespace of this process."""
    own_mounts()
    hidden = set(Path("/dev").glob("nvidia[0-9]*")) - set(gpu_nodes())
    with tempfile.NamedTemporaryFile() as empty:  # the mounts keep it
        for node in hidden:
            mount(empty.name, node, flags=MS_BIND)


def measured(uuids: Sequence[str], count: int, **settings: bool) -> dict[str, Any]:
    """Start `count` processes on these GPUs in turns, and return the means of their seconds."""
    barrier, said = multiprocessing.Barrier(count), multiprocessing.Queue()
    variables = ONE_QUEUE if settings["one_queue"] else {}
    processes = [
        multiprocessing.Process(
            target=contexts,
            args=(uuids[number % len(uuids)], variables, settings["one_node"], barrier, said),
        )
        for number in range(count)
    ]
    began = time.monotonic()
    for process in processes:
        process.start()
    answers = [said.get(timeout=PATIENCE_S) for _ in processes]
    for process in processes:
        process.join()
    row = {"gpus": len(uuids), "processes": count} | settings
    faults = [answer for answer in answers if isinstance(answer, str)]
    if faults:
        return row | {"fault": faults[0]}
    means = [round(sum(phase) / count, 3) for phase in zip(*answers, strict=True)]
    wall_s = round(time.monotonic() - began, 2)
    return row | dict(zip(PHASES, means, strict=True)) | {"wall_s": wall_s}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--out", type=Path, help="write the record here")
    asked = options.parse_args()
    cards = nvml.cards()
    if not cards:
        sys.exit("This machine has no NVIDIA GPU.")
    uuids = [card.uuid for card in cards]
    rows = []
    for count, gpus in sorted({(1, 1), (12, 1), (6 * len(uuids), len(uuids))}):
        for one_node, one_queue in ((False, False), (True, False), (False, True), (True, True)):
            row = measured(uuids[:gpus], count, one_node=one_node, one_queue=one_queue)
            print(json.dumps(row), flush=True)
            rows.append(row)
    if asked.out:
        names = [card.name for card in cards]
        record = {"machine": machine(), "gpus": names, "rows": rows}
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 1 if any("fault" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
