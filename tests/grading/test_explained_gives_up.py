"""The search for a plainer case takes back no failure."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

from grader.grading.steps.correctness import compare, explained
from grader.model import Case, Failure
from grader.sandbox.executor import TooManyOperations


def test_a_simulator_that_gives_up_on_a_further_case_leaves_the_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gives_up(grading: Any, case: Case) -> Failure | None:
        raise TooManyOperations("the calls take more operations than the budget")

    monkeypatch.setattr(explained, "try_case", gives_up)
    case, failure = Case((8,), "float32"), Failure(kind="value", message="wrong")
    grading: Any = SimpleNamespace()
    trials = explained._Trials(grading, case, failure)
    assert not trials.fails(Case((4,), "float32"))
    assert trials.failed == {case: failure}


def test_a_simulator_that_gives_up_in_the_search_leaves_the_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Case] = []
    failure = Failure(kind="value", message="wrong")

    def fails_once(grading: Any, case: Case) -> Failure | None:
        tried.append(case)
        if len(tried) > 1:
            raise TooManyOperations("the calls take more operations than the budget")
        return failure

    monkeypatch.setattr(compare, "try_case", fails_once)
    drawn = st.integers(1, 9).map(lambda extent: Case((extent,), "float32"))
    monkeypatch.setattr(compare, "cases", lambda spec, on_gpu: drawn)
    options = SimpleNamespace(device="cpu", shrink=False, seed=0)
    grading: Any = SimpleNamespace(spec=None, options=options)
    assert compare._search(grading, 9) == (tried[0], failure)
