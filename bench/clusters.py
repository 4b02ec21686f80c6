"""A dask cluster of one's own for benchmarks: its scheduler and its workers can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.machine import nvml

Process = subprocess.Popen[bytes]
Workers = Mapping[str, Sequence[Process]]


@contextmanager
def own_cluster(gpus: Sequence[str], each: int = 4) -> Iterator[tuple[str, Process, Workers]]:
    """Yield an address, the scheduler, and some workers without a nanny for each GPU.

    `gpus` are UUIDs; the empty one is for workers that see all GPUs.
    """
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "scheduler.json")
        scheduler = started("scheduler", "--scheduler-file", str(file), "--port", "0")
        while not file.exists():
            time.sleep(0.2)
        address = json.loads(file.read_text())["address"]
        options = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0")
        folder = ("--local-directory", scratch)
        workers = {
            gpu: [started("worker", address, *options, *folder, gpu=gpu) for _ in range(each)]
            for gpu in gpus
        }
        try:
            yield address, scheduler, workers
        finally:
            for process in [*(one for some in workers.values() for one in some), scheduler]:
                end(process)


def started(what: str, *arguments: str, gpu: str = "") -> Process:
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, "--no-dashboard"],
        env=os.environ | ({nvml.VISIBLE: gpu} if gpu else {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def end(process: Process, patience_s: float = 10.0) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
