"""The whole simulated GPU in a test's own process: Triton's runtime, the driver, and the device.

The test stands for the judge; the device answers in a thread, over the lines that processes use.
"""

from __future__ import annotations

import mmap
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.testing
from triton.runtime import driver as active

from grader.backends.triton.device import process
from grader.backends.triton.driver import compiler
from grader.backends.triton.driver.driver import activate
from grader.backends.triton.driver.errors import DeviceError
from grader.backends.triton.driver.launcher import Line
from grader.backends.triton.driver.scratch import Scratch
from grader.model.channel import LONGEST_LAUNCH, Channel
from grader.model.device_report import DeviceReport
from grader.worker.device_link import SCRATCH, scratch_memory
from grader.worker.races import runs_backwards

ARENA = 1 << 22  # bytes
OFFSET = 512  # bytes between the arguments in the arena


class Refused(Exception):
    """The device found a fault in a call; `report` is its own view."""

    def __init__(self, report: DeviceReport) -> None:
        super().__init__(report.fault.message if report.fault else report.not_simulated)
        self.report = report

    @property
    def kind(self) -> str:
        return self.report.fault.kind if self.report.fault else "not_simulated"

    @property
    def lines(self) -> list[int]:
        return [line for line, _, _ in self.report.fault.frames] if self.report.fault else []


class Gpu:
    """`report` is that of the last call."""

    def __init__(self, judge: Channel, arena: torch.Tensor, file: str) -> None:
        self._judge = judge
        self._arena = arena
        self._file = file
        self._seq = 0
        self.report = DeviceReport(seq=0)

    def run(self, kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        """Launch a kernel in a call of its own, on memory that the file allocated.

        Its programs run forwards.
        """
        forwards = next(n for n in range(1, 99) if not runs_backwards([(n,)]))
        given = self.placed(x=torch.ones(forwards))
        self.call(lambda: kernel[grid](*arguments, **options), given)

    def placed(self, **tensors: torch.Tensor) -> dict[str, torch.Tensor]:
        """Copy tensors to the arena, one behind the other, for `call`."""
        placed, at = {}, OFFSET
        for name, tensor in tensors.items():
            extent = 1 + sum(
                (n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)
            )
            size = extent * tensor.element_size()
            window = self._arena[at : at + size].view(tensor.dtype)
            placed[name] = window.as_strided(tensor.shape, tensor.stride()).copy_(tensor)
            at = -(-(at + size + OFFSET) // OFFSET) * OFFSET
        return placed

    def call(
        self,
        work: Any,
        given: Mapping[str, torch.Tensor] | None = None,
        *,
        count: bool = True,
        withhold: bool = False,
    ) -> None:
        """Do as the judge does around a call with these arguments. Raises Refused."""
        refs = [self._ref(name, tensor) for name, tensor in (given or {}).items()]
        file = {"file": self._file, "source": Path(self._file).read_text()}
        self._ask("begin", refs=refs, roles={}, count=count, withhold=withhold, **file)
        error: Exception | None = None
        try:
            work()
        except DeviceError as refused:
            error = refused
        finally:
            self.report = self._ask("end")
        if self.report.fault is not None or self.report.not_simulated is not None:
            raise Refused(self.report) from error
        if error is not None:
            raise error

    def _ref(self, name: str, tensor: torch.Tensor) -> dict[str, Any]:
        return {
            "name": name,
            "offset": tensor.data_ptr() - self._arena.data_ptr(),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "dtype": str(tensor.dtype).removeprefix("torch."),
        }

    def _ask(self, operation: str, **message: Any) -> DeviceReport:
        self._seq += 1
        self._judge.send({"op": operation, "seq": self._seq, **message})
        return DeviceReport.parse(self._judge.receive(60))


@contextmanager
def whole_gpu(cache: Path, file: str) -> Iterator[Gpu]:
    """Make the simulated GPU that of this process; `file` stands for the kernel file."""
    sockets = (*socket.socketpair(), *socket.socketpair())
    judges, devices_judge, workers, devices_worker = sockets
    arena, scratch = os.memfd_create("arena"), scratch_memory()
    os.ftruncate(arena, ARENA)
    channels = Channel(devices_judge), Channel(devices_worker, LONGEST_LAUNCH)
    thread = threading.Thread(target=process.serve, args=(*channels, arena, scratch))
    thread.start()
    memory = torch.frombuffer(mmap.mmap(arena, ARENA), dtype=torch.uint8)
    line = Line(Channel(workers), Scratch(scratch, SCRATCH))
    line.map(memory)
    with pytest.MonkeyPatch.context() as patch, triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(cache)
        patch.setattr(triton.knobs.runtime, "interpret", False)
        patch.setitem(triton.backends.backends, "nvidia", triton.backends.backends["nvidia"])
        patch.setattr(active, "_active", None)
        for name in ("do_bench", "do_bench_cudagraph"):
            patch.setattr(triton.testing, name, getattr(triton.testing, name))
        compiler.install()
        activate(line)
        yield Gpu(Channel(judges), memory, file)
    judges.close()
    thread.join()
    for sock in sockets:
        sock.close()
    for descriptor in (arena, scratch):
        os.close(descriptor)
