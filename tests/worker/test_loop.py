"""A call without kernels, as the worker reports it: what the file did, and what the grader did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.model.faults import Fault
from grader.model.messages import Reply, WithoutKernels
from grader.worker.launches import Withheld
from grader.worker.loop import Worker


class Backend:
    """A backend whose parts of such a call do what a test gives it."""

    def __init__(self, **parts: Callable[..., Any]) -> None:
        self.parts = parts
        self.withheld = Withheld()

    @contextmanager
    def without_kernels(self) -> Iterator[Withheld]:
        self._part("switch_off")
        yield self.withheld
        self._part("switch_on")

    def argument(self, ref: dict[str, Any]) -> object:
        self._part("argument")
        return ref["name"]

    def before_call(self, refs: object) -> None:
        self._part("before_call")

    def synchronize(self) -> None:
        self._part("synchronize")

    def root_cause(self, error: BaseException) -> BaseException:
        return error

    def _part(self, name: str) -> None:
        self.parts.get(name, lambda: None)()


def fail() -> None:
    raise ValueError("no")


def report(backend: Backend, entry: Callable[..., None] = lambda x: None) -> WithoutKernels:
    worker = Worker(backend, None)
    worker._entry, worker._file = entry, __file__
    message = {"op": "without_kernels", "call": [{"name": "x"}], "stop_after": 0.2}
    return worker.do(message)["without_kernels"]


def test_launches_are_counted():
    backend = Backend()

    def entry(x: object) -> None:
        backend.withheld.launch("grid", x)
        backend.withheld.launch()

    assert report(backend, entry) == WithoutKernels(2)


@pytest.mark.parametrize("part", ["switch_off", "argument", "before_call", "switch_on"])
def test_what_fails_beside_the_entry_is_the_graders_fault(part: str):
    assert report(Backend(**{part: fail})) == WithoutKernels(0, None, "ValueError: no")


def test_what_comes_out_of_the_entry_is_the_files_with_its_lines(snapshot: SnapshotAssertion):
    found = report(Backend(), lambda x: fail())
    assert found.broken == ""
    assert found.fault is not None
    assert found.fault.kind == "exception"
    assert text_of(found.fault) == snapshot
    assert found.fault.frames[-1][1:] == ("fail", 'raise ValueError("no")')


def test_what_comes_out_of_the_wait_has_no_line_of_the_file():
    def lost() -> None:
        exec(compile("raise RuntimeError('CUDA error: no GPU')", "torch", "exec"))

    backend = Backend(synchronize=lost)
    worker = Worker(backend, None)
    worker._entry, worker._file = (lambda x: None), "kernel.py"
    message = {"op": "without_kernels", "call": [{"name": "x"}], "stop_after": 1.0}
    fault = worker.do(message)["without_kernels"].fault
    assert fault == Fault("exception", "RuntimeError: CUDA error: no GPU")


def test_an_endless_call_is_stopped_and_reported():
    backend = Backend()

    def waits(x: object) -> None:
        backend.withheld.launch()
        while True:
            pass

    found = report(backend, waits)
    assert found.launches == 1
    assert found.fault is not None
    assert found.fault.kind == "timeout"
    assert found.fault.frames[-1][1] == "waits"


def test_a_failure_that_the_file_caught_is_reported():
    backend = Backend()

    def entry(x: object) -> None:
        with pytest.raises(ValueError, match="no"), backend.withheld.own_part():
            fail()

    assert report(backend, entry) == WithoutKernels(0, None, "ValueError: no")


def test_it_crosses_the_wall():
    without = WithoutKernels(3, Fault("exception", "ValueError: no", ((1, "f", "x"),)), "broken")
    reply = Reply(seq=1, without_kernels=without)
    assert Reply.parse(reply.dump()) == reply
