"""What the judge believes of a worker's own times, with workers that lie in known ways."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion
from torch import tensor

from grader.course import catalog
from grader.machine import processes
from grader.model.channel import Closed
from grader.model.errors import CannotGrade
from grader.model.messages import TensorRef
from grader.sandbox.arena import HostArena, view
from grader.sandbox.executor import KernelFailure
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.worker_link import Entry, WorkerLink, entry_of
from grader.speed import clock
from grader.speed.clock import (
    BUSY_S,
    MAX_UNDERCLAIM,
    MIN_CLAIM,
    BatchTime,
    Evidence,
    correction,
    overhead_growth,
    overhead_spread,
    time_calls,
)
from grader.speed.scored_case import arena_bytes, scored_case
from grader.speed.slots import Plan, Slots
from grader.speed.spot_checks import SlotContents
from grader.worker import loop
from grader.worker.loop import Worker
from grader.worker.toolbox import Toolbox

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OVERHEAD = 0.001
# One was lucky, two were disturbed.
TRUSTED = [
    BatchTime(0.02 + overhead, 0.02, 0)
    for overhead in (0.005, OVERHEAD, OVERHEAD / 2, 0.01, OVERHEAD)
]
durations = st.floats(0.005, 0.2)
delays = st.lists(st.floats(0, 0.05), min_size=4, max_size=20)


def goes(took_s: float, claimed_s: float, late_s: list[float], beside_s: float = 0.0) -> Evidence:
    """Goes of a kernel whose work takes `took_s`, half of them on a machine that disturbs them.

    The trusted ones beside it take `beside_s` longer than those before it was started.
    """
    kernel = [
        BatchTime(took_s + OVERHEAD + late, claimed_s, 0)
        for late in [*late_s, *(0.0 for _ in late_s)]
    ]
    beside = [BatchTime(one.window_s + beside_s, one.claimed_s, 0) for one in TRUSTED]
    return Evidence(TRUSTED, kernel, beside)


@given(took=durations, late=delays)
def test_an_honest_claim_is_believed_whatever_delays_the_machine(took: float, late: list[float]):
    assert correction(goes(took, took, late)) == 1.0


@given(took=durations, late=delays, factor=st.floats(0.01, 1.0), burst=st.floats(-0.0004, 0.05))
def test_a_lie_gains_at_most_the_trust(took: float, late: list[float], factor: float, burst: float):
    """Whatever the kernel's process left on the GPU does to the trusted kernel beside it."""
    lied = goes(took, took * factor, late, burst)
    believed = correction(lied) * took * factor
    assert believed >= took * (1 - MAX_UNDERCLAIM) * (1 - 1e-9)


@given(took=durations, factor=st.floats(1.0, 3.0))
def test_who_claims_more_than_the_judge_saw_is_taken_at_his_word(took: float, factor: float):
    assert correction(goes(took, took * factor, [0.0])) == 1.0


def test_who_claims_no_time_at_all_gets_no_finite_speed():
    assert correction(goes(0.02, 0.0, [0.0])) == float("inf")


def test_the_trusted_goes_that_had_less_overhead_count():
    """Those beside the kernel show what the machine is like by then."""
    calmer = goes(0.02, 0.01, [0.0], beside_s=-OVERHEAD / 2)
    believed = correction(calmer) * 0.01
    assert believed == pytest.approx((1 - MAX_UNDERCLAIM) * (0.02 + OVERHEAD / 2))
    assert correction(goes(0.02, 0.01, [0.0], beside_s=0.003)) == correction(
        goes(0.02, 0.01, [0.0])
    )


def test_overhead_that_came_when_the_kernel_was_started_is_a_shift():
    assert overhead_growth(goes(0.019, 0.019, [0.0])) == 0
    assert overhead_growth(goes(0.019, 0.019, [0.0], beside_s=0.001)) == pytest.approx(0.05)
    assert overhead_growth(goes(0.019, 0.019, [0.0], beside_s=-OVERHEAD / 2)) == pytest.approx(
        -0.025
    )


def test_an_overhead_that_came_with_the_kernels_process_makes_the_clock_unsteady():
    """A fifth of a go, as on an H200 that a queue of copies and a busy kernel was left on."""
    assert overhead_spread(goes(0.015, 0.015, [0.0])) < 0.08
    assert overhead_spread(goes(0.015, 0.012, [0.0], beside_s=0.003)) > 0.08


@pytest.mark.parametrize("claims", [(0.0,), (5e-324,), (1e308,), (), (1e-9, 1e-9)], ids=str)
def test_whatever_is_claimed_can_be_divided_by(
    monkeypatch: pytest.MonkeyPatch, claims: tuple[float, ...]
):
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(clock, "available", lambda: 0)
    worker = SimpleNamespace(
        prepare=list,
        stop=lambda: None,
        stand_by=lambda call: None,
        go=lambda: None,
        times=lambda: claims,
    )
    done, right = time_calls(worker, [[1.0]], [2.0], SlotContents())
    assert right
    assert MIN_CLAIM * done.window_s <= done.claimed_s <= done.window_s


def test_what_is_seen_is_a_quiet_window_less_a_quiet_overhead_of_a_trusted_worker():
    assert correction(goes(0.02, 0.01, [0.004])) == pytest.approx((1 - MAX_UNDERCLAIM) * 2)


class Timed:
    """A worker's backend whose clock goes on by a second with each look, and by none by itself."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def before_call(self, refs: object) -> None: ...

    def synchronize(self) -> None:
        self.done.append("waited")

    def mark(self) -> SimpleNamespace:
        self.done.append("marked")
        at_s = self.done.count("marked")

        def elapsed_time(end: SimpleNamespace) -> float:
            self.done.append("looked")
            return (end.at_s - at_s) * 1e3

        return SimpleNamespace(at_s=at_s, elapsed_time=elapsed_time)


def test_a_worker_looks_at_its_events_when_the_judges_clock_has_stopped():
    """What reading them takes would be counted as the overhead of every go, and a liar saves it."""
    backend = Timed()
    worker = Worker(backend, None)
    worker._entry = lambda: None
    for calls in ([[], []], [[]]):
        worker.do({"op": "prepare", "calls": calls})
        assert worker.do({"op": "go"}) == {}
        assert "looked" not in backend.done
        assert worker.do({"op": "times"}) == {"seconds": (1.0,) * len(calls)}
        assert backend.done.count("looked") == len(calls)
        backend.done.clear()


def test_a_go_is_its_calls_and_nothing_else():
    """Whatever else every worker did would be taken off the time of one that leaves it out."""
    backend = Timed()
    worker = Worker(backend, None)
    worker._entry = lambda: backend.done.append("called")
    worker.do({"op": "prepare", "calls": [[], []]})
    worker.do({"op": "go"})
    assert backend.done == ["marked", "called", "marked", "called", "marked", "waited"]


def test_who_stands_by_has_just_done_once_what_a_go_does():
    """On the GPU, too, of which nothing is left to do when the judge hears that it stands by."""
    backend = Timed()
    worker = Worker(backend, None)
    worker._entry = lambda value: backend.done.append(f"called with {value}")
    worker.do({"op": "prepare", "calls": [[1.0]]})
    assert worker.do({"op": "stand_by", "call": [2.0]}) == {}
    assert backend.done == ["marked", "called with 2.0", "waited"]
    worker.do({"op": "go"})
    assert backend.done[3:] == ["marked", "called with 1.0", "marked", "waited"]


def test_who_stands_by_looks_out_for_the_next_message_and_for_no_other(
    monkeypatch: pytest.MonkeyPatch,
):
    """Asleep, it would hear of it now sooner, now later; at other times it would only be busy."""
    done: list[str] = []
    sent = iter([{"op": "settle", "seq": 1}, {"op": "stand_by", "seq": 2}])

    class Judge:
        def __init__(self, sock: object) -> None: ...

        def receive(self) -> dict[str, object]:
            if (message := next(sent, None)) is None:
                raise Closed("")
            return message

        def send(self, reply: dict[str, object]) -> None:
            done.append(f"answered {reply['seq']}")

        def watch(self, limit_s: float) -> None:
            done.append("watched")

    monkeypatch.setattr(loop, "Channel", Judge)
    monkeypatch.setattr(loop, "limit_resources", lambda simulated: None)
    monkeypatch.setattr(Worker, "do", lambda worker, message: {})
    loop.serve(Toolbox(Timed, simulated=True), None, None)
    assert done == ["answered 1", "answered 2", "watched"]


# -- nothing begins before the clock

X, OUT = (
    TensorRef(name, at, (1, 64), (64, 1), "float32") for name, at in (("x", 0), ("out", 4096))
)


@pytest.fixture
def _adopting() -> None:
    """As a judge does, so that nothing which a worker left can hide from it."""
    processes.adopt_orphans()


@pytest.fixture
def ahead(_adopting: None) -> Iterator[tuple[WorkerLink, torch.Tensor, torch.Tensor]]:
    """A kernel that works ahead, prepared for a go, with its input and its output.

    One of numba's, whose simulated arguments are open to all threads.
    """
    kernel = (Path(__file__).parents[1] / "bad" / "works_ahead.py").read_bytes()
    with closing(HostArena(1 << 16)) as arena, closing(ForkServer("numba", "cpu")) as fork_server:
        entry = Entry("copy", ("x", "out"))
        with closing(WorkerLink(entry, kernel, fork_server, arena)) as link:
            x, out = view(arena.memory, X), view(arena.memory, OUT)
            link.call([[X, OUT]])
            link.prepare([[X, OUT]])
            yield link, x, out


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_thread_that_works_ahead_is_stopped_while_the_inputs_come(ahead):
    link, x, out = ahead
    link.stop()
    x.fill_(7.0)
    out.fill_(-1.0)
    time.sleep(0.2)
    assert out.eq(-1.0).all()
    link.stand_by([X, OUT])
    link.go()
    assert out.eq(7.0).all()
    assert link.times() == (), "a simulated kernel is not timed"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_unless_it_is_stopped_it_has_the_answer_before_the_clock_starts(ahead):
    """What the test above is worth."""
    _, x, out = ahead
    x.fill_(7.0)
    out.fill_(-1.0)
    deadline = time.monotonic() + 30
    while not out.eq(7.0).all():
        assert time.monotonic() < deadline


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_stopped_worker_can_be_ended(ahead):
    link, *_ = ahead
    link.stop()
    link.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_who_cannot_be_stopped_has_failed(
    ahead, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    link, *_ = ahead
    monkeypatch.setattr(ForkServer, "stop", lambda _: False)
    with pytest.raises(KernelFailure) as caught:
        link.stop()
    assert text_of(caught.value.failure) == snapshot


@pytest.mark.usefixtures("_adopting")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_go_of_a_worker_in_its_own_process(monkeypatch: pytest.MonkeyPatch):
    """Every message of it, and the call on spare rows; only what asks a GPU is left out.

    The kernel is numba's: a simulated GPU takes no launches of calls that are timed.
    """
    monkeypatch.setattr(clock.torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(clock, "require_idle_gpu", lambda kernel: None)
    monkeypatch.setattr(clock, "available", lambda: 7)
    exercise = catalog.find(ROOT, "02_dot_reduction")
    spec = exercise.spec
    with (
        closing(HostArena(arena_bytes(spec, 40, 3))) as arena,
        closing(ForkServer(spec.backend, "cpu")) as fork_server,
        closing(
            WorkerLink(entry_of(spec), exercise.solution.read_bytes(), fork_server, arena)
        ) as link,
    ):
        slots = Slots(spec, scored_case(spec, 40), 3, arena.memory)
        out = view(arena.memory, slots.spare[-1])
        assert out.isnan().all()
        for _ in range(2):
            done = clock.time_batch(link, slots)
            assert done.claimed_s == done.window_s, "a simulated kernel claims nothing"
            assert done.available == 7
        assert not out.isnan().any()


class Order:
    """A kernel and its slots that only take down what is asked of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *round_trips_s: float) -> None:
        self.done: list[str] = []
        took = iter(round_trips_s)
        monkeypatch.setattr(clock.torch.cuda, "synchronize", lambda: self.note("waited"))
        monkeypatch.setattr(clock, "_median_round_trip_s", lambda: self.note("looked", next(took)))
        monkeypatch.setattr(clock, "available", lambda: self.note("what is held", 7))
        self.untouched = True  # when the clock starts
        self.right = True
        canary = SimpleNamespace(intact=lambda: self.note("untouched", tensor(self.untouched)))
        late = SimpleNamespace(write=lambda: self.note("all there"))
        check = SimpleNamespace(right=lambda: self.note("probed", tensor(self.right)))
        contents = SlotContents([canary], [late], [check])
        self.slots = SimpleNamespace(
            plan=lambda: self.note("planned", Plan([["a"], ["b"]], [1, 2])),
            fill=lambda plan: self.note("filled", contents),
            spare=["spare"],
        )
        self.kernel = SimpleNamespace(
            prepare=lambda calls: self.note("prepared"),
            stop=lambda: self.note("stopped"),
            stand_by=lambda call: self.note(f"stands by after {call}"),
            go=lambda: self.note("went"),
            times=lambda: self.note("claimed", [0.0, 0.0]),
            close=lambda: self.note("closed"),
        )

    def note(self, what: str, answer: object = None) -> object:
        self.done.append(what)
        return answer


def test_the_worker_is_stopped_before_the_inputs_come_and_its_gpu_idle_after(
    monkeypatch: pytest.MonkeyPatch,
):
    """What its queues did until the inputs came would go on now, or its answers would be there."""
    order = Order(monkeypatch, BUSY_S / 2)
    clock.time_batch(order.kernel, order.slots)
    assert order.done == [
        *("planned", "prepared", "stopped", "filled", "looked", "probed"),
        "stands by after ['spare']",
        *("what is held", "untouched", "all there", "waited", "went", "probed", "claimed"),
    ]


def test_who_wrote_anything_before_the_clock_started_is_early(monkeypatch: pytest.MonkeyPatch):
    """What is queued on the GPU until its inputs come runs without its process, and keeps no GPU
    busy before."""
    order = Order(monkeypatch, BUSY_S / 2)
    order.untouched = False
    with pytest.raises(KernelFailure) as caught:
        clock.time_batch(order.kernel, order.slots)
    assert caught.value.failure.kind == "early_start"
    assert order.done[-1] == "probed", "nobody is asked for the times"


def test_the_trusted_kernel_goes_over_slots_that_were_written_to(monkeypatch: pytest.MonkeyPatch):
    """The learner's kernel did; looking at them is what counts."""
    order = Order(monkeypatch)
    order.untouched = False
    assert clock.window(order.kernel, ["spare"], order.slots.fill(None)).right


def test_who_answers_wrong_is_asked_for_no_times(monkeypatch: pytest.MonkeyPatch):
    """Of one that answers early, the events are not over: that would be told in their place."""
    order = Order(monkeypatch)
    order.right = False
    done, right = clock.time_calls(order.kernel, [["a"]], ["spare"], order.slots.fill(None))
    assert not right
    assert done.claimed_s == done.window_s
    assert order.done[-1] == "probed"


def test_a_kernel_that_stays_on_the_gpu_fails(monkeypatch: pytest.MonkeyPatch):
    order = Order(monkeypatch, 2 * BUSY_S, BUSY_S / 2)
    with pytest.raises(KernelFailure) as caught:
        clock.time_batch(order.kernel, order.slots)
    assert caught.value.failure.kind == "early_start"
    assert order.done == [
        *("planned", "prepared", "stopped", "filled", "looked", "closed", "looked")
    ]


def test_a_gpu_that_stays_busy_without_the_worker_is_somebody_elses(
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
):
    order = Order(monkeypatch, 2 * BUSY_S, 2 * BUSY_S)
    with pytest.raises(CannotGrade) as caught:
        clock.time_batch(order.kernel, order.slots)
    assert text_of(caught.value) == snapshot


def test_before_a_worker_is_started_a_busy_gpu_is_somebody_elses(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    Order(monkeypatch, 2 * BUSY_S)
    with pytest.raises(CannotGrade) as caught:
        clock.require_idle_gpu(None)
    assert text_of(caught.value) == snapshot
