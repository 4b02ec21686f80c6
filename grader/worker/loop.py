"""The worker's loop: map the arena, load the kernel file, call its entry, report.

Its reports are only hints: the judge looks at the arena. This module runs in the same process as
the learner's code, and holds nothing that must be trusted.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.model import (
    LONGEST_LINE,
    Channel,
    Closed,
    Fault,
    Reply,
    WithoutKernels,
    listed,
)
from grader.worker import faults, walls
from grader.worker.deadline import stopped_after
from grader.worker.kernels import Kernels
from grader.worker.launches import Withheld
from grader.worker.load import LoadError, load_entry
from grader.worker.toolbox import Toolbox

if TYPE_CHECKING:
    from grader.worker.device_link import DeviceLink


LIMITS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 256 << 20,  # bytes
    resource.RLIMIT_NOFILE: 4096,
    resource.RLIMIT_CPU: 3600,  # seconds, of each process; far beyond the limits of all calls
}
MOST_TEXT = LONGEST_LINE // 8 * 7  # bytes of kernels in one reply
STAND_BY_S = 1.0  # then it may sleep; the judge sends `go` much sooner
HOST_MEMORY = 8 << 30  # bytes that a process may take beyond those of the libraries at the start


def serve(
    toolbox: Toolbox, sock: socket.socket, arena_fd: int | None, link: DeviceLink | None = None
) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    limit_resources(toolbox.simulated)
    channel = Channel(sock)
    worker = Worker(toolbox.kernels(link), arena_fd)
    while True:
        try:
            message = channel.receive()
        except Closed:
            return
        reply = Reply(seq=int(message["seq"]))
        try:
            reply = replace(reply, **worker.do(message))
        except BaseException as error:
            # A KeyboardInterrupt or SystemExit of the learner's code is a fault like any other.
            reply = replace(reply, fault=worker.fault(error))
        _flush()
        try:
            channel.send(reply.dump())
            if message["op"] == "stand_by":
                channel.watch(STAND_BY_S)
        except Closed:
            return


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the learner may have closed the stream
            stream.flush()


def limit_resources(simulated: bool) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for kind, limit in LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))
    # On a GPU the driver reserves hundreds of GB of address space, little of it private.
    kind, field = (resource.RLIMIT_AS, 0) if simulated else (resource.RLIMIT_DATA, 5)
    held = int(Path("/proc/self/statm").read_text().split()[field]) * resource.getpagesize()
    resource.setrlimit(kind, (held + HOST_MEMORY, held + HOST_MEMORY))


class Worker:
    def __init__(self, kernels: Kernels, arena_fd: int | None) -> None:
        self._kernels = kernels
        self._arena_fd = arena_fd
        self._entry: Callable[..., object] | None = None
        self._prepared: list[tuple[list[Mapping[str, Any]], list[object]]] = []
        self._marks: list[Any] = []  # before the first call of the last batch, and after each
        self._file = ""

    def do(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return self.operations[message["op"]](message)

    @property
    def operations(self) -> dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        return {
            "walls": self._walls,
            "map": self._map,
            "load": self._load,
            "call": self._call,
            "prepare": self._prepare,
            "stand_by": self._stand_by,
            "go": self._go,
            "times": self._times,
            "count": self._count,
            "trace": self._trace,
            "settle": self._settle,
            "kernels": self._launched,
            "resources": self._resources,
            "without_kernels": self._without_kernels,
            "record": self._record,
        }

    def fault(self, error: BaseException) -> Fault:
        if not isinstance(error, LoadError):
            error = self._kernels.root_cause(error)
        return faults.describe(error, self._file)

    def _walls(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return {"walls": walls.try_all(message["targets"])}

    def _map(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._kernels.map(message["ticket"], self._arena_fd)
        return {}

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._file = message["path"]
        with self._kernels.watching():
            self._entry = load_entry(Path(self._file), message["entry"], message["parameters"])
        return {}

    def _call(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._prepare(message)
        with self._kernels.in_other_order() if message.get("other_order") else nullcontext():
            return self._go(message)

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take the argument lists of the next batch, so that reading them is not timed."""
        self._prepared = [(_refs(call), self._arguments(call)) for call in message["calls"]]
        return {}

    def _stand_by(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do the work of a batch once, so that the next batch starts without delay.

        An idle process finds neither the file's code nor the library's in the processor's caches,
        and one library loses more by that than another.
        """
        self._kernels.mark()
        self._call_once(message)
        return {}

    def _go(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._entry is not None
        # Only the calls and the marks between them: the clock would count any other work as
        # overhead, and a worker that left it out would seem faster.
        self._marks = [self._kernels.mark()]
        for refs, arguments in self._prepared:
            self._kernels.before_call(refs)
            self._entry(*arguments)
            self._marks.append(self._kernels.mark())
        self._kernels.synchronize()
        return {}

    def _times(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Report the seconds of each call, apart from `go`, because the answer to `go` is timed."""
        marks = [mark for mark in self._marks if mark is not None]
        return {"seconds": tuple(a.elapsed_time(b) / 1e3 for a, b in pairwise(marks))}

    def _count(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once; report reads, writes, and the file's allocations so far and in it.

        With `threads`, also report the work of single threads and warps.
        """
        assert self._entry is not None
        call = message["call"]
        arguments = self._arguments(call)
        self._kernels.before_call(_refs(call))
        allocations = self._kernels.allocations
        allocations.begin()
        logging = self._kernels.logging() if message["threads"] else nullcontext()
        with (
            self._kernels.watching(),
            self._kernels.counting(_refs(call)) as ledger,
            logging as log,
        ):
            self._entry(*arguments)
            self._kernels.synchronize()
        counts = ledger.facts()
        if log is not None:
            counts |= log.counts(self._file)
        return {"counts": counts, "peak": allocations.peak, "held": allocations.over_call()}

    def _trace(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once; report each thread's work, and the fault if there was one."""
        assert self._entry is not None
        call = message["call"]
        arguments = self._arguments(call)
        self._kernels.before_call(_refs(call))
        fault = None
        with self._kernels.logging() as log:
            assert log is not None, "the judge asks only a backend that traces threads"
            log.keep_values()
            try:
                self._entry(*arguments)
                self._kernels.synchronize()
            except BaseException as error:  # as in `serve`
                fault = self.fault(error)
        return {"traced": replace(log.traced(self._file), fault=fault)}

    def _settle(self, message: Mapping[str, Any]) -> dict[str, Any]:
        gc.collect()
        self._kernels.settle()
        return {}

    def _resources(self, message: Mapping[str, Any]) -> dict[str, Any]:
        with self._kernels.observing() as launches:
            self._call_once(message)
        return {"launched": () if launches is None else launches.most_launched()}

    def _record(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once; report its launches, for a process that repeats only these."""
        with self._kernels.recording() as recorder:
            self._call_once(message)
        return {"recording": recorder.recording()}

    def _launched(self, message: Mapping[str, Any]) -> dict[str, Any]:
        kernels, unlisted = listed(self._kernels.launched()[message["start"] :], MOST_TEXT)
        return {"kernels": kernels, "unlisted": unlisted}

    def _without_kernels(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once with launches withheld; report their number and the file's error.

        The judge must distinguish two errors: only an exception out of the entry, or out of the
        wait for its work, can come from kernels without effect.
        """
        record, fault, broken = Withheld(), None, ""
        try:
            with self._kernels.without_kernels() as record:
                entry = self._bound_entry(message)
                try:
                    with stopped_after(message["stop_after"]):
                        entry()
                        self._kernels.synchronize()
                except BaseException as error:  # as in `serve`
                    fault = self.fault(error)
        except BaseException as error:
            broken = f"{type(error).__name__}: {error}"
        report = WithoutKernels(record.launches, fault, broken or record.broken)
        return {"without_kernels": report}

    def _call_once(self, message: Mapping[str, Any]) -> None:
        self._bound_entry(message)()
        self._kernels.synchronize()

    def _bound_entry(self, message: Mapping[str, Any]) -> Callable[[], object]:
        assert self._entry is not None
        call = message["call"]
        arguments = self._arguments(call)
        self._kernels.before_call(_refs(call))
        return partial(self._entry, *arguments)

    def _arguments(self, call: list[Any]) -> list[object]:
        return [self._kernels.argument(a) if isinstance(a, dict) else a for a in call]


def _refs(call: list[Any]) -> list[Mapping[str, Any]]:
    return [argument for argument in call if isinstance(argument, dict)]
