"""The search for a cause ends in time, and without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from evidences import evidence_of, spec_of

from grader.correctness import causes, evidence
from grader.correctness.evidence import Evidence, Witness
from grader.model import Case

COPY = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (causes, evidence):
        monkeypatch.setattr(module, "time", clock)
    return clock


def doubled() -> Evidence:
    return evidence_of(COPY, lambda i: {"out": i["x"] * 2}, (1,), (9,))


def broken(error: Exception) -> None:
    raise error


def slow(seconds: float, clock: Clock, attempt: Callable[[Case], Witness | None]) -> Evidence:
    def late(case: Case) -> Witness | None:
        clock.now += seconds
        return attempt(case)

    return replace(doubled(), attempt=late)


def test_a_search_that_takes_too_long_ends_without_a_cause(clock: Clock) -> None:
    in_time = slow(0.1, clock, doubled().attempt)
    found = causes.explain(in_time, broken)
    assert found is not None
    assert found[0] == "factor"
    assert causes.explain(slow(causes.SEARCH_S + 1, clock, doubled().attempt), broken) is None


def test_no_further_call_begins_after_the_time_is_over(clock: Clock) -> None:
    tried = []
    kernel = replace(doubled(), others=tuple(Case((n,), "float32") for n in range(5, 9)))

    def attempt(case: Case) -> Witness | None:
        tried.append(case)
        return kernel.attempt(case)

    assert causes.explain(replace(slow(3.0, clock, attempt), others=kernel.others), broken) is None
    assert len(tried) == 2


def test_a_search_without_a_deadline_goes_on(clock: Clock) -> None:
    clock.now = 1e9
    assert doubled().text.functions == ()
