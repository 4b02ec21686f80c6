"""The simulated device beside a worker: the judge believes it, and nothing of it outlives them."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.machine import processes
from grader.model.base_spec import Limits
from grader.model.channel import Channel
from grader.model.device_report import DeviceReport, Origin
from grader.model.errors import GraderError
from grader.model.faults import Fault
from grader.model.held_series import HeldSeries
from grader.model.messages import Reply, TensorRef, WithoutKernels
from grader.sandbox.arena import HostArena
from grader.sandbox.executor import KernelFailure, NotSimulated, TooManyOperations
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.worker_link import Entry, WorkerLink

pytestmark = pytest.mark.slow

KERNEL = b"""import os


def double(x, out):
    out.copy_(2 * x)
"""
ENDLESS = b"""import triton
import triton.language as tl


@triton.jit
def count(out_ptr, n):
    lanes = tl.arange(0, 1 << 16)  # slow: the budget of operations must not end it
    total = tl.zeros((1 << 16,), tl.int32)
    for i in range(n):
        total += (lanes + i) % 7
    tl.store(out_ptr, tl.sum(total))


def double(x, out):
    count[(1,)](out, 2**31 - 1)
"""
ENTRY = Entry("double", ("x", "out"), ("in", "out"))
X = TensorRef("x", 512, (4,), (1,), "float32")
OUT = TensorRef("out", 1024, (4,), (1,), "float32")
CALL = [[X, OUT]]
RACE = Fault("race", "two programs write element 1 of out", ((5, "", ""),))


# -- what the judge concludes


class Scripted:
    """Stands in for a fork server: worker and device send what a test gives them."""

    backend, running, dry_run = "triton", True, False

    def __init__(self, worker: Sequence[Reply], device: Sequence[DeviceReport]) -> None:
        self._lines = (worker, device)
        self._ends: list[socket.socket] = []
        self._ours: list[Channel] = []

    def fork(self, arena_fd: int | None) -> Any:
        channels = []
        for replies in self._lines:
            ours, theirs = socket.socketpair()
            self._ends.append(theirs)
            for reply in replies:
                theirs.sendall(json.dumps(reply.dump()).encode() + b"\n")
            theirs.shutdown(socket.SHUT_WR)
            channels.append(Channel(ours))
        worker, device = channels
        self._ours = channels
        return SimpleNamespace(channel=worker, device=device, close=lambda: "")

    def close(self) -> None:
        for end in (*self._ends, *self._ours):
            end.close()

    def home_for(self, kernel: bytes) -> Path:
        return Path("kernel.py")

    def kill(self, *, patient: bool = False) -> int | None:
        return None

    def log(self) -> str:
        return "its last words"

    def sent_to_device(self) -> list[dict[str, Any]]:
        lines = self._ends[1].recv(1 << 20).splitlines()
        return [json.loads(line) for line in lines]


LinkTo = Callable[..., tuple[WorkerLink, Scripted]]


@pytest.fixture
def link_to() -> Iterator[LinkTo]:
    """Make a link whose worker loads the file, and then sends a last reply, or nothing."""
    servers = []

    def link(last: Reply | None, *reports: DeviceReport) -> tuple[WorkerLink, Scripted]:
        replies = [Reply(seq=1), Reply(seq=2), *([last] if last else [])]
        servers.append(Scripted(replies, [DeviceReport(seq=1), *reports]))
        arena = SimpleNamespace(fd=None, ticket=dict)
        return WorkerLink(ENTRY, KERNEL, servers[-1], arena), servers[-1]

    yield link
    for server in servers:
        server.close()


FINE = Reply(seq=3)
CAUGHT = Reply(seq=3, fault=Fault("race", RACE.message, ((9, "double", "launch"),)))
RAISED = Reply(seq=3, fault=Fault("exception", "ValueError", ((9, "double", "raise"),)))


@pytest.mark.parametrize(
    ("said", "lines"),
    [(FINE, [5]), (RAISED, [5]), (CAUGHT, [9, 5]), (None, [5])],
    ids=["all is well", "another error", "the same error", "nothing"],
)
def test_a_fault_of_the_device_counts_whatever_the_worker_says(
    link_to: LinkTo, said: Reply | None, lines: list[int]
):
    link, _ = link_to(said, DeviceReport(seq=2, fault=RACE))
    with pytest.raises(KernelFailure) as caught:
        link.call(CALL)
    failure = caught.value.failure
    assert (failure.kind, failure.message) == ("race", RACE.message)
    assert [frame.line for frame in failure.frames] == lines
    assert (failure.frames[-1].function, failure.frames[-1].code) == ("double", "out.copy_(2 * x)")


def test_a_fault_of_the_worker_counts_where_the_device_saw_none(link_to: LinkTo):
    link, _ = link_to(RAISED, DeviceReport(seq=2))
    with pytest.raises(KernelFailure) as caught:
        link.call(CALL)
    assert caught.value.failure.kind == "exception"


@pytest.mark.parametrize("said", [FINE, RAISED, None])
def test_what_is_not_simulated_is_no_failure_and_no_pass(link_to: LinkTo, said: Reply | None):
    link, _ = link_to(said, DeviceReport(seq=2, not_simulated="inline assembly"))
    with pytest.raises(NotSimulated) as caught:
        link.call(CALL)
    assert "inline assembly" in caught.value.message
    assert caught.value.exit_code == 3


def test_a_worker_may_say_that_it_cannot_simulate(link_to: LinkTo):
    reply = Reply(seq=3, fault=Fault("not_simulated", "no warp of this GPU votes"))
    link, _ = link_to(reply, DeviceReport(seq=2))
    with pytest.raises(NotSimulated):
        link.call(CALL)


@pytest.mark.parametrize(
    "report",
    [None, DeviceReport(seq=1), DeviceReport(seq=3)],
    ids=["nothing", "late", "early"],
)
def test_a_device_that_does_not_answer_is_the_graders_fault(
    link_to: LinkTo, report: DeviceReport | None
):
    link, _ = link_to(FINE, *([report] if report else []))
    with pytest.raises(GraderError, match="its last words") as caught:
        link.call(CALL)
    assert caught.value.exit_code == 4


def test_a_worker_whose_device_is_gone_is_not_to_blame_for_its_error(link_to: LinkTo):
    link, _ = link_to(RAISED)
    with pytest.raises(GraderError) as caught:
        link.call(CALL)
    assert caught.value.exit_code == 4


def test_the_device_learns_the_arguments_before_the_worker_is_called(link_to: LinkTo):
    link, server = link_to(FINE, DeviceReport(seq=2))
    link.call(CALL)
    begun, ended = server.sent_to_device()
    assert begun["op"] == "begin"
    assert begun["roles"] == {"x": "in", "out": "out"}
    assert begun["file"] == "kernel.py"
    assert [ref["name"] for ref in begun["refs"]] == ["x", "out"]
    assert not begun["withhold"]
    assert ended["op"] == "end"


@pytest.mark.parametrize("said", [FINE, RAISED, CAUGHT])
@pytest.mark.parametrize("fault", [None, RACE])
def test_the_origins_of_undefined_values_are_those_of_the_last_call(
    link_to: LinkTo, said: Reply, fault: Fault | None
):
    origins = (Origin("out", 5, "x"),)
    link, _ = link_to(said, DeviceReport(seq=2, fault=fault, origins=origins))
    with suppress(KernelFailure):
        link.call(CALL)
    assert link.origins() == origins


def test_a_count_is_the_devices_with_the_workers_torch_operations(link_to: LinkTo):
    said = Reply(seq=3, counts={"reads.x": 3, "writes.out": 4, "counts.programs": 9}, peak=10)
    seen = DeviceReport(seq=2, counts={"reads.x": 100, "counts.programs": 5}, held=4096)
    link, server = link_to(said, seen)
    counts = link.count(CALL[0])
    assert counts.counts == {"reads.x": 103, "writes.out": 4, "counts.programs": 5}
    assert counts.peak == 4096
    assert server.sent_to_device()[0]["count"]


@pytest.mark.parametrize(("given", "drawn"), [(4096, False), (10, True)])
def test_a_series_below_what_the_device_was_given_is_missing(
    link_to: LinkTo, given: int, drawn: bool
):
    said = Reply(seq=3, peak=10, held=HeldSeries(((0, 0), (1, 10), (2, 0))))
    link, _ = link_to(said, DeviceReport(seq=2, held=given))
    held = link.count(CALL[0]).held
    assert bool(held.points) is drawn
    assert bool(held.missing) is not drawn


def test_kernels_that_a_report_cannot_list_do_not_pass(link_to: LinkTo):
    link, _ = link_to(FINE, DeviceReport(seq=2), DeviceReport(seq=3, unlisted=2))
    link.call(CALL)
    with pytest.raises(KernelFailure, match="more kernels than are compiled: 0, and 2 more"):
        link.kernels()


@pytest.mark.parametrize(("launches", "finished"), [(0, None), (1, False)])
def test_the_launches_without_effect_are_those_that_the_device_saw(
    link_to: LinkTo, launches: int, finished: bool | None
):
    fault = Fault("exception", "ValueError", ((9, "double", "raise"),))
    said = Reply(seq=3, without_kernels=WithoutKernels(launches=7, fault=fault))
    link, server = link_to(said, DeviceReport(seq=2, launches=launches))
    if finished is None:
        with pytest.raises(KernelFailure):
            link.without_kernels(CALL[0])
    else:
        assert link.without_kernels(CALL[0]) is finished
    assert server.sent_to_device()[0]["withhold"]


# -- processes


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    """One for all tests: it takes seconds to start, and starts again where a test ended it."""
    processes.adopt_orphans()
    with closing(ForkServer("triton", "cpu")) as made:
        yield made


@pytest.fixture
def started(fork_server: ForkServer) -> Iterator[tuple[ForkServer, WorkerLink]]:
    """With a worker and a device of its own for each test."""
    with closing(HostArena(1 << 20)) as arena:
        link = WorkerLink(ENTRY, KERNEL, fork_server, arena)
        link.call(CALL)
        yield fork_server, link
        link.close()


def of_device_and_worker(fork_server: ForkServer) -> tuple[int, int]:
    """The pids of the device and of the worker, in the order in which they were forked.

    They have no children. The pids of a machine start again after its last one, those of the fork
    server's own namespace hardly ever.
    """
    assert fork_server._process is not None
    above = {pid: int(said_of(pid, "PPid")[0]) for pid in processes.descendants()}
    below = {fork_server._process.pid}
    while more := {pid for pid, parent in above.items() if parent in below} - below:
        below |= more
    leaves = below - set(above.values())
    device, worker = sorted(leaves, key=lambda pid: int(said_of(pid, "NSpid")[-1]))
    return device, worker


def said_of(pid: int, field: str) -> list[str]:
    """The values of a field in /proc/PID/status."""
    status = Path(f"/proc/{pid}/status").read_text()
    return status.partition(f"{field}:")[2].splitlines()[0].split()


def gone(pids: Sequence[int]) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if not processes.descendants().intersection(pids):
            return True
        time.sleep(0.01)
    return False


Started = tuple[ForkServer, WorkerLink]


def test_a_device_runs_in_a_session_of_its_own_that_nobody_may_look_into(started: Started):
    device, worker = of_device_and_worker(started[0])
    assert os.getsid(device) == device
    assert os.getsid(worker) == worker
    if os.getuid() == 0:
        assert os.stat(f"/proc/{worker}").st_uid != 0
        users = [said_of(pid, "Uid")[0] for pid in (device, worker)]
        assert len(set(users)) == 2
    assert os.stat(f"/proc/{device}/mem").st_uid == 0  # of a process that is not dumpable


def test_the_next_call_after_a_worker_was_killed_has_both_again(started: Started):
    fork_server, link = started
    before = of_device_and_worker(fork_server)
    os.kill(before[1], signal.SIGKILL)
    with pytest.raises(KernelFailure):
        link.call(CALL)
    assert gone(before)
    link.call(CALL)
    assert set(of_device_and_worker(fork_server)).isdisjoint(before)


def test_a_killed_device_is_no_failure_of_the_kernel(started: Started):
    fork_server, link = started
    before = of_device_and_worker(fork_server)
    os.kill(before[0], signal.SIGKILL)
    with pytest.raises(GraderError) as caught:
        link.call(CALL)
    assert caught.value.exit_code == 4
    assert gone(before)
    link.call(CALL)


@pytest.mark.parametrize("killed", ["the judge's patience", "worker", "parent"])
def test_a_launch_without_end_leaves_neither(fork_server: ForkServer, killed: str):
    limits = Limits(call_s=2.0 if killed == "the judge's patience" else 60.0)
    with closing(HostArena(1 << 20)) as arena:
        link = WorkerLink(replace(ENTRY, limits=limits), ENDLESS, fork_server, arena)
        link.load()
        device, worker = of_device_and_worker(fork_server)
        doomed = {"worker": worker, "parent": fork_server._process.pid}.get(killed)
        timer = threading.Timer(2.0, os.kill, (doomed, signal.SIGKILL))
        if doomed is not None:
            timer.start()
        # A GPU may end it sooner than the judge's patience does: that is no fault of the kernel.
        with pytest.raises(KernelFailure if doomed else TooManyOperations):
            link.call(CALL)
        assert gone((device, worker))
        link.close()


def test_a_spent_budget_of_operations_is_no_failure(started: Started):
    _, link = started
    fault = Fault("too_many_operations", "one call takes too many", ((3, "", ""),))
    error = link._cause(DeviceReport(seq=1, fault=fault))
    assert isinstance(error, TooManyOperations)
    failure = error.as_failure()
    assert failure.kind == "too_many_operations"
    assert [frame.line for frame in failure.frames] == [3]
    assert "tl.arange" in str(failure.hint)


def test_neither_outlives_their_parent(started: Started):
    fork_server, link = started
    before = of_device_and_worker(fork_server)
    assert fork_server._process is not None
    fork_server._process.kill()
    assert gone(before)
    with pytest.raises(KernelFailure) as caught:
        link.call(CALL)
    assert caught.value.failure.kind == "protocol"


def test_neither_outlives_the_judges_line(started: Started):
    fork_server, _ = started
    before = of_device_and_worker(fork_server)
    assert fork_server._control is not None
    fork_server._control.shutdown(socket.SHUT_RDWR)
    assert gone(before)
    fork_server.close()  # the next test has it start again


def test_both_stop_and_run_again(started: Started):
    fork_server, link = started
    pids = of_device_and_worker(fork_server)
    assert fork_server.stop()
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]
    assert states == ["T", "T"]
    fork_server.resume()
    link.call(CALL)
