"""The search for a plainer case takes back no failure."""

from types import SimpleNamespace
from typing import Any

import pytest

from grader.grading.steps.correctness import explained
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
