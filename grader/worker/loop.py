"""The worker's loop: map the arena, load the kernel file, call its entry, say what happened.

Whatever it says is only a hint: the judge looks at the arena. This module runs in the same process
as the learner's code and holds nothing that must be trusted.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from grader.model import Channel, Closed, Fault, Reply, Traced, WithoutKernels
from grader.worker import faults, walls
from grader.worker.backend import backend_module
from grader.worker.deadline import stopped_after
from grader.worker.launches import Withheld
from grader.worker.load import LoadError, load_entry

if TYPE_CHECKING:
    from grader.worker.allocations import Allocations
    from grader.worker.launches import Launches
    from grader.worker.traffic_counter import Ledger


class Log(Protocol):
    """Every access of every thread of one call; a backend that traces threads keeps one."""

    def counts(self, file: str) -> dict[str, int]:
        """Return each of `grader.model.exercise.COUNTS`, by names such as `counts.barriers`."""

    def traced(self, file: str) -> Traced:
        """Return the log as the judge gets it, with lines of the kernel file `file`."""


class Kernels(Protocol):
    """How kernels of one backend meet the arena, on the CPU or on a GPU."""

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        """Make the arena's memory reachable."""

    def argument(self, ref: Mapping[str, Any]) -> object:
        """The tensor that the entry receives for a `wire.TensorRef`."""

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """Told which tensors the next call gets."""

    allocations: Allocations

    def watching(self) -> AbstractContextManager[object]:
        """Take down in `allocations` what is allocated meanwhile; a GPU takes nothing down."""

    def counting(self, refs: list[Mapping[str, Any]]) -> AbstractContextManager[Ledger]:
        """Count what is read and written of these tensors meanwhile; a GPU counts nothing."""

    def logging(self) -> AbstractContextManager[Log | None]:
        """Take down every access of every thread meanwhile, where the backend traces threads."""

    def mark(self) -> Any:
        """A point in the GPU's work, to be timed by; None in simulation, where no time counts."""

    def observing(self) -> AbstractContextManager[Launches | None]:
        """Note which kernels are launched meanwhile, where they are compiled."""

    def without_kernels(self) -> AbstractContextManager[Withheld]:
        """Leave every launch of a kernel without effect on memory, and count them."""

    def synchronize(self) -> None:
        """Wait until all started work is done; raises what it raised."""

    def settle(self) -> None:
        """Give back the GPU memory that the libraries hold unused; a simulator holds none."""

    def root_cause(self, error: BaseException) -> BaseException:
        """The learner's error inside whatever the library wrapped around it."""


@dataclass(frozen=True)
class Toolbox:
    """What the parent of all workers has imported once.

    `notes` say what it could not load: a worker loads that itself, when it needs it.
    """

    make_kernels: Callable[[], Kernels]
    simulated: bool
    notes: tuple[str, ...] = ()


def prepare(backend: Path, device: str) -> Toolbox:
    """Import what workers of the backend in this folder need, before any is forked.

    Raises CannotGrade when an installed library does not fit.
    """
    sys.dont_write_bytecode = True
    simulated = device == "cpu"
    # The libraries' objects stay. To look for garbage among them takes an eighth of the imports,
    # and a quarter of a launch that makes some thousand records of accesses.
    gc.disable()
    module = backend_module(backend, "simulated" if simulated else "compiled")
    make_kernels = module.install()
    note = module.preload() if hasattr(module, "preload") else None
    gc.freeze()
    gc.enable()
    return Toolbox(make_kernels, simulated, () if note is None else (note,))


LIMITS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 256 << 20,  # bytes
    resource.RLIMIT_NOFILE: 4096,
    resource.RLIMIT_CPU: 3600,  # seconds, of each process; far beyond the limits of all calls
}
STAND_BY_S = 1.0  # after which it may sleep: the judge is about to say go
HOST_MEMORY = 8 << 30  # bytes that a process may take beyond what the libraries hold at the start


def serve(toolbox: Toolbox, sock: socket.socket, arena_fd: int | None) -> None:
    """Answer the judge's messages until it hangs up."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    limit_resources(toolbox.simulated)
    channel = Channel(sock)
    worker = Worker(toolbox.make_kernels(), arena_fd)
    while True:
        try:
            message = channel.receive()
        except Closed:
            return
        reply = Reply(seq=int(message["seq"]))
        try:
            reply = replace(reply, **worker.do(message))
        except BaseException as error:
            # A KeyboardInterrupt or SystemExit that the learner's code raises is a fault like any.
            reply = replace(reply, fault=worker.fault(error))
        _flush()
        try:
            channel.send(reply.dump())
            if message["op"] == "stand_by":
                channel.watch(STAND_BY_S)
        except Closed:
            return


def _flush() -> None:
    """Pass on what was printed without an end of line, unless the learner closed the stream."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def limit_resources(simulated: bool) -> None:
    """What this process may take of the machine from now on."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for kind, most in LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    # On a GPU the driver reserves address space by the hundred gigabytes, little of it private.
    kind, field = (resource.RLIMIT_AS, 0) if simulated else (resource.RLIMIT_DATA, 5)
    held = int(Path("/proc/self/statm").read_text().split()[field]) * resource.getpagesize()
    resource.setrlimit(kind, (held + HOST_MEMORY, held + HOST_MEMORY))


class Worker:
    def __init__(self, kernels: Kernels, arena_fd: int | None) -> None:
        self._kernels = kernels
        self._arena_fd = arena_fd
        self._entry: Callable[..., object] | None = None
        self._prepared: list[tuple[list[Mapping[str, Any]], list[object]]] = []
        self._marks: list[Any] = []  # before the first call of the last go, and after each
        self._file = ""

    def do(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Carry one message out; returns the fields of the reply that it fills."""
        return self.operations[message["op"]](message)

    @property
    def operations(self) -> dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        """What each message does: docs/formats.md has them in a table."""
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
            "resources": self._resources,
            "without_kernels": self._without_kernels,
        }

    def fault(self, error: BaseException) -> Fault:
        if not isinstance(error, LoadError):
            error = self._kernels.root_cause(error)
        return faults.describe(error, self._file)

    def _walls(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return {"walls": walls.tried(message["targets"])}

    def _map(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._kernels.map(message["ticket"], self._arena_fd)
        return {}

    def _load(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._file = message["path"]
        with self._kernels.watching():
            self._entry = load_entry(Path(self._file), message["entry"], message["parameters"])
        return {}

    def _call(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once for each argument list, then wait for all the work."""
        self._prepare(message)
        return self._go(message)

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take the argument lists of the next go, so that reading them is not timed."""
        self._prepared = [(_refs(call), self._arguments(call)) for call in message["calls"]]
        return {}

    def _stand_by(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do once what a go does, to be as quick to begin as who has just worked.

        A process that rested finds neither the file's code nor the library's in the processor's
        caches, and one library loses more by that than another.
        """
        self._kernels.mark()
        self._once(message)
        return {}

    def _go(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once for each prepared argument list, then wait for all the work."""
        assert self._entry is not None
        # Nothing but the calls and the marks between them: whatever else a go did would be counted
        # as the clock's overhead, and a worker that left it out would be believed to be faster.
        self._marks = [self._kernels.mark()]
        for refs, arguments in self._prepared:
            self._kernels.before_call(refs)
            self._entry(*arguments)
            self._marks.append(self._kernels.mark())
        self._kernels.synchronize()
        return {}

    def _times(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """How long each call of the last go took. Asked for apart: the go's own answer is timed."""
        marks = [mark for mark in self._marks if mark is not None]
        return {"seconds": tuple(a.elapsed_time(b) / 1e3 for a, b in pairwise(marks))}

    def _count(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once; what it reads and writes, and what the file allocated so far.

        With `threads`, also what single threads and warps do.
        """
        assert self._entry is not None
        call = message["call"]
        arguments = self._arguments(call)
        self._kernels.before_call(_refs(call))
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
        return {"counts": counts, "peak": self._kernels.allocations.peak}

    def _trace(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once; what each thread did, and what went wrong if something did."""
        assert self._entry is not None
        call = message["call"]
        arguments = self._arguments(call)
        self._kernels.before_call(_refs(call))
        fault = None
        with self._kernels.logging() as log:
            try:
                self._entry(*arguments)
                self._kernels.synchronize()
            except BaseException as error:  # as in `serve`
                fault = self.fault(error)
        assert log is not None, "the judge asks only a backend that traces threads"
        return {"traced": replace(log.traced(self._file), fault=fault)}

    def _settle(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Give back what the calls so far have left unused."""
        gc.collect()
        self._kernels.settle()
        return {}

    def _resources(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once, and say what it launched."""
        with self._kernels.observing() as launches:
            self._once(message)
        return {"launched": () if launches is None else launches.most_launched()}

    def _without_kernels(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the entry once with launches withheld; how many were, and what the file raised.

        The judge must know the one from the other: only an exception out of the entry, or out of
        the wait for its work, can come from kernels without effect.
        """
        record, fault, broken = Withheld(), None, ""
        try:
            with self._kernels.without_kernels() as record:
                entry = self._ready(message)
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

    def _once(self, message: Mapping[str, Any]) -> None:
        """Call the entry with the message's argument list, then wait for all the work."""
        self._ready(message)()
        self._kernels.synchronize()

    def _ready(self, message: Mapping[str, Any]) -> Callable[[], object]:
        """Return the entry, bound to the message's argument list."""
        assert self._entry is not None
        call = message["call"]
        arguments = self._arguments(call)
        self._kernels.before_call(_refs(call))
        return partial(self._entry, *arguments)

    def _arguments(self, call: list[Any]) -> list[object]:
        return [self._kernels.argument(a) if isinstance(a, dict) else a for a in call]


def _refs(call: list[Any]) -> list[Mapping[str, Any]]:
    return [argument for argument in call if isinstance(argument, dict)]
