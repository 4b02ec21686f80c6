"""The judge's line to a worker: load the kernel file, call its entry, notice its end."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.model import (
    MOST_SPECIALISATIONS,
    CannotGrade,
    Closed,
    DeviceReport,
    Failure,
    Fault,
    GraderError,
    Launched,
    Limits,
    Origin,
    Recording,
    Reply,
    Sightings,
    Spec,
    Specialisation,
    TensorRef,
    TimedOut,
    Traced,
    TracedLanes,
    WireError,
    WithoutKernels,
    barred,
    between,
    printable,
)
from grader.sandbox import cancellation, failures
from grader.sandbox.arena import Arena
from grader.sandbox.commands import START_S
from grader.sandbox.device_line import DeviceLine
from grader.sandbox.executor import Call, Counts, KernelFailure, NotSimulated, TooManyOperations
from grader.sandbox.fork_server import ForkServer, Worker

REPORT_S = 5.0  # beyond a call's limit, for a worker that stops the call itself to report on it
LAST_REPORT_S = 1.0  # for a device to report on a call that went wrong; it may be in a launch
MOVED = ("reads.", "writes.")
COMPUTING = ("call", "go", "count", "trace", "record")
# What libraries say when a check on the GPU failed, such as torch's of an index.
DEVICE_ASSERT = ("device-side assert triggered", "CUDA_ERROR_ASSERT")


@dataclass(frozen=True)
class Entry:
    """The function to call in a kernel file, and its time limits.

    `parameters` are the arguments' names, `roles` their roles. With `threads`, a counted call also
    counts the work of single threads and warps.
    """

    name: str
    parameters: tuple[str, ...]
    roles: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    threads: bool = False


def entry_of(spec: Spec) -> Entry:
    names = tuple(argument.name for argument in spec.arguments)
    roles = tuple(argument.role for argument in spec.arguments)
    return Entry(spec.entry, names, roles, spec.limits, threads=bool(spec.budgets))


class WorkerLink:
    """An executor that is a worker process. After a crash the next call starts a new one.

    Where a simulated device runs beside the worker, the device's view of a call counts, and not
    the worker's.
    """

    def __init__(self, entry: Entry, kernel: bytes, fork_server: ForkServer, arena: Arena) -> None:
        self._entry = entry
        self._kernel = kernel
        self._fork_server = fork_server
        self._arena = arena
        self._worker: Worker | None = None
        self._device: DeviceLine | None = None
        self._watched = False  # by the device, to which a call was announced
        self._sequence = 0
        self._printed = ""
        self._loaded = False
        self._origins: tuple[Origin, ...] = ()
        self._lanes: TracedLanes | None = None  # of the last call that was traced
        self._sightings: Sightings | None = None
        self._prepared = 0  # calls that the next `go` makes
        self._stopped = False
        self._used_s = 0.0  # of the time that one check has

    def start(self) -> None:
        """Start a worker that maps the memory, and has nothing of the learner's yet."""
        self._end()
        self._worker = self._fork_server.fork(self._arena.fd)
        self._map()

    def load(self) -> None:
        if self._worker is None or self._loaded:
            self.start()
        assert self._worker is not None
        path = self._fork_server.home_for(self._kernel)
        if self._worker.device is not None:
            roles = dict(zip(self._entry.parameters, self._entry.roles, strict=False))
            source = self._kernel.decode(errors="replace")
            self._device = DeviceLine(self._worker.device, roles, str(path), source)
        self._loaded = True
        self._exchange(
            "load",
            self._entry.limits.load_s,
            path=str(path),
            entry=self._entry.name,
            parameters=list(self._entry.parameters),
        )

    def _map(self) -> None:
        # Nothing of the learner's has run yet: a failure here is not their fault.
        try:
            self._exchange("map", START_S, ticket=self._arena.ticket())
        except KernelFailure as error:
            raise CannotGrade(
                f"The worker cannot reach the memory that it shares with the judge: {error}.",
                "On a GPU, `nvidia-smi` shows whether other programs hold its memory.",
            ) from None

    def call(self, calls: Sequence[Call], *, other_order: bool = False) -> None:
        self._make_ready()
        if self._device is None:
            sent = [_sent(call) for call in calls]
            limit_s = self._limit_s(len(calls))
            self._exchange("call", limit_s, calls=sent, other_order=other_order)
            return
        for call in calls:
            limit_s = self._limit_s(1)
            self._observed("call", limit_s, call, other_order=other_order, calls=[_sent(call)])

    def watch(self, call: Call) -> None:
        self._make_ready()
        self._sightings = None
        self._observed("call", self._limit_s(1), call, record=True, calls=[_sent(call)])

    def prepare(self, calls: Sequence[Call]) -> None:
        """Hand over the argument lists for `go`, so that the transfer is not timed."""
        self._make_ready()
        sent = [_sent(call) for call in calls]
        self._prepared = len(sent)
        self._exchange("prepare", self._entry.limits.call_s, calls=sent)

    def stop(self) -> None:
        """Stop every process of the worker on the CPU until the next message.

        Raises KernelFailure when one keeps running.
        """
        if not self._fork_server.stop():
            self._end()
            raise KernelFailure(failures.UNSTOPPABLE)
        self._stopped = True

    def stand_by(self, call: Call) -> None:
        """Resume the worker, have it make this call and wait for `go` without sleeping."""
        self._exchange("stand_by", self._entry.limits.call_s, call=_sent(call))

    def go(self) -> None:
        """Run the prepared calls."""
        self._exchange("go", self._limit_s(self._prepared))

    def times(self) -> Sequence[float]:
        """Return the seconds of each call of the last `go`, by the worker's own clock.

        Empty in simulation; on a GPU no more than a claim.
        """
        return self._exchange("times", self._entry.limits.call_s).seconds

    def _limit_s(self, calls: int) -> float:
        return self._entry.limits.call_s * max(1, calls)

    def settle(self) -> None:
        self._exchange("settle", self._entry.limits.call_s)

    def without_kernels(self, call: Call) -> bool:
        self._make_ready()
        limit_s = self._entry.limits.call_s
        try:
            reply, seen = self._observed(
                *("without_kernels", limit_s + REPORT_S, call),
                withhold=True,
                call=_sent(call),
                stop_after=limit_s,
            )
            report = reply.without_kernels
            if report is None:
                raise KernelFailure(failures.broke_protocol("an answer to another message"))
            launches = report.launches if seen is None else seen.launches
            return self._finished(replace(report, launches=launches))
        except KernelFailure as error:
            raise KernelFailure(failures.switched_off(error.failure)) from None

    def _finished(self, report: WithoutKernels) -> bool:
        """Return whether the call finished, or False where it failed without its kernels.

        A worker that died or did not report in time has raised KernelFailure before this: a file
        may do neither in any other call.
        """
        if report.broken:  # nothing was tried, so nothing may pass
            raise GraderError(
                f"The launches of kernels could not be switched off: {report.broken}.",
                "This is the grader's fault, and not the kernel's: report it with the kernel file.",
            )
        fault = report.fault
        if fault is None:
            return True
        self._end()  # its memory may be in any state
        # Evidence is an exception of the file's own lines, or a call that did not end, after a
        # launch without effect: scratch held anything, or a loop waited for what a kernel writes.
        # Work queued on the GPU may fail likewise, and no line is to blame for it; of everything
        # else without a line, such as a GPU that was lost, the cause is another one.
        if report.launches and (fault.frames or _of_queued_work(fault)):
            return False
        if fault.kind == "timeout":
            raise KernelFailure(failures.too_long("call", self._entry.limits.call_s))
        raise KernelFailure(failures.from_fault(fault, self._fork_server.backend))

    def count(self, call: Call) -> Counts:
        self._make_ready()
        reply, seen = self._observed(
            *("count", self._entry.limits.call_s, call),
            count=True,
            call=_sent(call),
            threads=self._entry.threads,
        )
        if reply.peak is None:
            raise GraderError("The worker did not count the memory that the kernel file holds.")
        if seen is None:
            return Counts(reply.counts, reply.peak, between(reply.held, 0, reply.peak))
        peak = max(reply.peak, seen.held)
        held = between(reply.held, seen.held, peak)
        return Counts(_added(seen.counts, reply.counts), peak, held)

    def trace(self, call: Call) -> tuple[Traced, Failure | None]:
        self._make_ready()
        reply = self._exchange("trace", self._entry.limits.call_s, call=_sent(call))
        self._end()  # a call that was stopped leaves its memory in any state
        if reply.traced is None:
            raise GraderError("The worker did not report the work of the threads.")
        fault = reply.traced.fault
        return reply.traced, None if fault is None else failures.from_fault(
            fault, self._fork_server.backend
        )

    def trace_lanes(self, call: Call) -> tuple[TracedLanes, Failure | None]:
        """Call the entry once; return what the programs did, as its device saw it, and any failure.

        Raises as `call` does where the failure left no record.
        """
        self._make_ready()
        self._lanes = None
        failure: Failure | None = None
        try:
            self._observed(
                *("call", self._limit_s(1), call),
                trace=True,
                calls=[_sent(call)],
            )
        except KernelFailure as error:
            failure = error.failure
        self._end()
        return self._lanes or TracedLanes(), failure

    def resources(self, call: Call) -> tuple[Launched, ...]:
        """Call the entry once more and return its launches, which are the worker's word.

        They are for display, and for the memory that spills may take, which MOST_STACK limits.
        Empty when that call fails, and in simulation.
        """
        try:
            self._make_ready()
            return self._exchange("resources", self._entry.limits.call_s, call=_sent(call)).launched
        except KernelFailure:
            return ()

    def record(self, call: Call) -> Recording:
        """Call the entry once on a GPU; return its launches, which are the worker's word.

        Raises KernelFailure when the call goes wrong.
        """
        self._make_ready()
        recording = self._exchange("record", self._limit_s(1), call=_sent(call)).recording
        if recording is None:
            raise KernelFailure(failures.broke_protocol("an answer to another message"))
        return recording

    def _make_ready(self) -> None:
        if self._worker is None or not self._loaded:
            self.load()

    def kernels(self) -> Sequence[Specialisation]:
        if self._device is None:
            return self._sent_kernels()
        try:
            report = self._device.kernels(REPORT_S)
        except WireError as error:
            raise self._device_died(error) from None
        if report.unlisted:
            raise self._too_many_kernels(len(report.kernels), report.unlisted)
        return report.kernels

    def _sent_kernels(self) -> Sequence[Specialisation]:
        """Return the kernels that the worker itself names, over several messages."""
        self._make_ready()
        found: list[Specialisation] = []
        while True:
            reply = self._exchange("kernels", REPORT_S, start=len(found))
            found += reply.kernels
            more = len(found) + reply.unlisted - MOST_SPECIALISATIONS
            if more > 0:
                raise self._too_many_kernels(MOST_SPECIALISATIONS, more)
            if not reply.unlisted:
                return found
            if not reply.kernels:
                raise NotSimulated("the code of one of its kernels is longer than a message")

    def _too_many_kernels(self, listed: int, more: int) -> KernelFailure:
        return KernelFailure(failures.too_many_kernels(listed, more, self._fork_server.backend))

    def origins(self) -> Sequence[Origin]:
        return self._origins

    def sightings(self) -> Sightings | None:
        return self._sightings

    def close(self) -> str:
        self._end()
        return self._printed

    def _observed(
        self,
        operation: str,
        limit_s: float,
        observed: Call,
        *,
        count: bool = False,
        withhold: bool = False,
        trace: bool = False,
        record: bool = False,
        other_order: bool = False,
        **message: object,
    ) -> tuple[Reply, DeviceReport | None]:
        """Have the worker carry out a call; return its reply, and the device's report if any.

        Raises KernelFailure, NotSimulated, or GraderError if the simulated GPU's process ended.
        """
        if self._device is None:
            return self._exchange(operation, limit_s, **message), None
        try:
            self._device.begin(
                *(observed, limit_s),
                count=count,
                withhold=withhold,
                trace=trace,
                record=record,
                other_order=other_order,
            )
            self._watched = True
            reply = self._exchange(operation, limit_s, **message)
            self._watched = False
            report = self._device.end(limit_s)
            self._origins, self._lanes = report.origins, report.lanes
            self._sightings = report.sightings
        except TimedOut:
            self._end()
            raise KernelFailure(failures.too_long(operation, limit_s)) from None
        except WireError as error:
            raise self._device_died(error) from None
        if report.fault is not None or report.not_simulated is not None:
            self._end()
            raise self._cause(report)
        return reply, report

    def _device_died(self, error: WireError) -> GraderError | KernelFailure:
        log = self._fork_server.log()
        self._end()
        if not self._fork_server.running:  # something killed the fork server of both
            return KernelFailure(failures.ended("call", None, server_runs=False))
        return GraderError(
            barred(f"The simulated GPU ended, or broke off ({error}).\n{log}".rstrip()),
            "A kernel file that ends other processes may be why. If yours does not, this is the "
            "grader's fault: report it with the kernel file.",
        )

    def _last_report(
        self, *, worker_lives: bool = False, timed_out: str | None = None
    ) -> DeviceReport | None:
        """Return the device's view of a call that went wrong, if it still has one.

        A device that does not answer is in a launch. If that is why the call `timed_out`, in these
        words, the simulation is at fault: a GPU is faster.
        """
        if self._device is None or not self._watched:
            return None
        self._watched = False
        try:
            report = self._device.end(LAST_REPORT_S)
            self._origins, self._lanes = report.origins, report.lanes
            self._sightings = report.sightings
            return report
        except TimedOut:
            if timed_out is None:
                return None
            return DeviceReport(seq=0, fault=Fault(TooManyOperations.kind, timed_out))
        except WireError as error:
            if worker_lives:
                raise self._device_died(error) from None
            return None

    def _cause(
        self, report: DeviceReport | None, failure: Failure | None = None
    ) -> GraderError | KernelFailure:
        """Return the error to raise: the device knows better than the worker what went wrong."""
        if report is not None and report.fault is not None:
            seen = failures.from_device(report.fault, self._kernel, self._fork_server.backend)
            if failure is not None and failure.kind == seen.kind:  # the file let the error through
                seen = seen.model_copy(update={"frames": (*failure.frames, *seen.frames)})
            if seen.kind == TooManyOperations.kind:
                return TooManyOperations(seen.message, seen.hint or "", seen.frames)
            return KernelFailure(seen)
        if report is not None and report.not_simulated is not None:
            return NotSimulated(report.not_simulated)
        assert failure is not None
        if failure.kind == "not_simulated":
            return NotSimulated(failure.message)
        return KernelFailure(failure)

    def _exchange(self, operation: str, limit_s: float, **message: object) -> Reply:
        self._send(operation, **message)
        return self._answer(operation, limit_s)

    def _send(self, operation: str, **message: object) -> None:
        assert self._worker is not None
        self._sequence += 1
        with contextlib.suppress(Closed):
            self._worker.channel.send({"op": operation, "seq": self._sequence, **message})

    def _answer(self, operation: str, limit_s: float) -> Reply:
        """Receive the reply to the last message; resume a stopped worker first."""
        assert self._worker is not None
        of_the_file = operation != "map"  # `map` is ours: nothing of the learner's has run
        left_s = self._entry.limits.check_s - self._used_s if of_the_file else math.inf
        began = time.monotonic()
        try:
            if self._stopped:
                self._stopped = False
                self._fork_server.resume()
            with cancellation.waiting():
                reply = Reply.parse(self._worker.channel.receive(min(limit_s, left_s)))
        except TimedOut:
            failure = failures.too_long(operation, limit_s)
            if left_s < limit_s:
                failure = failures.too_long_in_all(self._entry.limits.check_s)
            report = self._last_report(timed_out=failure.message)
            self._end()
            raise self._cause(report, failure) from None
        except Closed:
            report = self._last_report()
            status = self._end(patient=True)
            failure = failures.ended(operation, status, self._fork_server.running)
            raise self._cause(report, failure) from None
        except WireError as error:
            report = self._last_report()
            self._end()
            # The detail after the colon is Python's, about JSON: a learner cannot use it.
            failure = failures.broke_protocol(str(error).partition(":")[0])
            raise self._cause(report, failure) from None
        finally:
            self._used_s += time.monotonic() - began
        if reply.seq != self._sequence:
            self._end()
            raise KernelFailure(failures.broke_protocol("an answer to another message"))
        if reply.fault is not None:
            # Its memory may be in any state: the next call gets a new worker.
            report = self._last_report(worker_lives=True)
            self._end()
            failure = failures.from_fault(reply.fault, self._fork_server.backend)
            raise self._cause(report, failure)
        if operation in COMPUTING and self._fork_server.dry_run:
            self._end()  # a worker that only notes launches says of each call that nothing ran
            raise KernelFailure(failures.broke_protocol("an output that no kernel computed"))
        return reply

    def _end(self, *, patient: bool = False) -> int | None:
        """End the worker, if there is one; return its wait status if it ended by itself."""
        if self._worker is None:
            return None
        status = self._fork_server.kill(patient=patient)
        self._printed = printable(self._printed + self._worker.close())
        self._worker, self._loaded, self._stopped = None, False, False
        self._device, self._watched = None, False
        return status


def _added(seen: Mapping[str, int], claimed: Mapping[str, int]) -> dict[str, int]:
    """Add a worker's counts of torch operations on arguments to what its device counted."""
    own = {name: number for name, number in claimed.items() if name.startswith(MOVED)}
    return {**seen, **{name: number + seen.get(name, 0) for name, number in own.items()}}


def _of_queued_work(fault: Fault) -> bool:
    """Report whether the GPU stopped the file's queued work; the fault shows at the wait for it."""
    stopped = any(text in fault.message for text in DEVICE_ASSERT)
    return stopped or fault.kind == "out_of_bounds"


def _sent(call: Call) -> list[object]:
    return [vars(a) if isinstance(a, TensorRef) else a for a in call]
