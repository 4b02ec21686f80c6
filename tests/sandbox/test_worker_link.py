"""What the judge concludes from a worker's report on a call without kernels."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.model.errors import GraderError
from grader.model.faults import Fault
from grader.model.messages import Reply, WithoutKernels
from grader.model.specialisations import MOST_SPECIALISATIONS, Specialisation, listed
from grader.sandbox.executor import KernelFailure, NotSimulated
from grader.sandbox.worker_link import Entry, WorkerLink

pytestmark = pytest.mark.slow

LINE = ((3, "double", "raise ValueError"),)
ASSERT = "RuntimeError: CUDA error: device-side assert triggered"


@pytest.fixture
def link() -> WorkerLink:
    return linked("triton")


def linked(backend: str) -> WorkerLink:
    return WorkerLink(Entry("double", ("x", "out")), b"", SimpleNamespace(backend=backend), None)


@pytest.mark.parametrize(
    ("report", "finished"),
    [
        (WithoutKernels(0), True),
        (WithoutKernels(2), True),
        (WithoutKernels(1, Fault("exception", "ValueError", LINE)), False),
        (WithoutKernels(1, Fault("timeout", "too long", LINE)), False),
        (WithoutKernels(1, Fault("out_of_bounds", "far outside")), False),
        (WithoutKernels(1, Fault("exception", ASSERT)), False),
    ],
)
def test_a_failure_after_a_launch_without_effect_is_a_wrong_answer(
    link: WorkerLink, report: WithoutKernels, finished: bool
):
    assert link._finished(report) is finished


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        (WithoutKernels(0, Fault("exception", "ValueError", LINE)), "exception"),
        (WithoutKernels(0, Fault("timeout", "too long", LINE)), "timeout"),
        (WithoutKernels(1, Fault("exception", "RuntimeError: CUDA error: GPU lost")), "exception"),
        (WithoutKernels(0, Fault("out_of_bounds", "far outside")), "out_of_bounds"),
    ],
)
def test_a_failure_of_another_cause_is_a_failure(
    link: WorkerLink, report: WithoutKernels, kind: str
):
    with pytest.raises(KernelFailure) as caught:
        link._finished(report)
    assert caught.value.failure.kind == kind


@pytest.mark.parametrize("fault", [None, Fault("exception", "ValueError", LINE)])
def test_a_failure_of_the_graders_part_is_an_error(
    link: WorkerLink, fault: Fault | None, snapshot: SnapshotAssertion
):
    with pytest.raises(GraderError) as caught:
        link._finished(WithoutKernels(1, fault, "KeyError: 'run'"))
    assert text_of(caught.value) == snapshot
    assert caught.value.exit_code == 4


# -- the kernels that a worker without a device names


def sent(link: WorkerLink, monkeypatch: pytest.MonkeyPatch, number: int, most: int) -> list[str]:
    """Return the names that the judge gets of this many kernels, with `most` bytes a message."""
    every = [Specialisation(f"kernel{one}", "x" * 98) for one in range(number)]  # 100 bytes each

    def exchange(operation: str, limit_s: float, start: int) -> Reply:
        assert operation == "kernels"
        kernels, unlisted = listed(every[start:], most)
        return Reply(1, kernels=kernels, unlisted=unlisted)

    monkeypatch.setattr(link, "_make_ready", lambda: None)
    monkeypatch.setattr(link, "_exchange", exchange)
    return [one.kernel for one in link.kernels()]


def test_kernels_come_in_as_many_messages_as_they_need(
    link: WorkerLink, monkeypatch: pytest.MonkeyPatch
):
    assert sent(link, monkeypatch, 0, 250) == []
    assert sent(link, monkeypatch, 5, 250) == [f"kernel{one}" for one in range(5)]
    most = MOST_SPECIALISATIONS
    assert len(sent(link, monkeypatch, most, 350)) == most


@pytest.mark.parametrize("room", [350, 1 << 20], ids=["few a message", "many a message"])
def test_more_kernels_than_are_compiled_do_not_pass(monkeypatch: pytest.MonkeyPatch, room: int):
    with pytest.raises(KernelFailure, match="than are compiled: 64, and 1 more") as caught:
        sent(linked("numba"), monkeypatch, MOST_SPECIALISATIONS + 1, room)
    assert "launch all blocks with the same" in caught.value.failure.hint


def test_a_kernel_longer_than_a_message_is_not_simulated(
    link: WorkerLink, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(NotSimulated, match="longer than a message"):
        sent(link, monkeypatch, 2, 99)
