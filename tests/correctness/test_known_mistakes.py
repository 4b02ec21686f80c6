"""Mistakes that an exercise lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from evidences import cause_of, evidence_of, spec_of
from torch import Tensor

from grader.correctness.evidence import Evidence
from grader.model import Inputs, Mistake


def test_mistakes_that_an_exercise_lists() -> None:
    def with_(*mistakes: Mistake) -> Evidence:
        spec = spec_of(lambda i: {"out": i["x"] * 1.0}, "x", mistakes=mistakes)
        return evidence_of(spec, lambda i: {"out": i["x"] ** 3}, (4,), (9,))

    def cubed(inputs: Inputs) -> dict[str, Tensor]:
        return {"out": inputs["x"] ** 3}

    own = Mistake(cause="cubed", hint="x to the third", reference=cubed)
    assert cause_of(with_(own)) == ("cubed", 0)
    squared = Mistake(cause="squared", hint="", reference=lambda i: {"out": i["x"] ** 2})
    assert cause_of(with_(squared)) is None
    assert cause_of(with_(squared, own)) == ("cubed", 0)


def test_a_mistake_whose_result_no_float32_can_hold() -> None:
    """The kernel has infinity where the mistake's reference, in float64, has a huge number."""
    own = Mistake(cause="cubed", hint="", reference=lambda i: {"out": i["x"] ** 3})
    spec = spec_of(lambda i: {"out": i["x"] * 1.0}, "x", mistakes=(own,))
    large = {"x": torch.tensor([2.0, -3e30, 5.0, 3e30])}

    def found(kernel: Callable[[Tensor], Tensor]) -> tuple[str, int] | None:
        return cause_of(evidence_of(spec, lambda i: {"out": kernel(i["x"])}, (4,), given=large))

    assert found(lambda x: x**3) == ("cubed", 0)
    assert found(lambda x: x.abs() ** 3) is None, "the infinity of -3e30 has the other sign"
    assert found(lambda x: torch.where(x > 3, 0.0, x**3)) is None


def test_a_mistake_of_some_elements() -> None:
    large = Mistake(cause="large", hint="", only=lambda i: {"out": i["x"] > 0.5})

    def found(kernel: Callable[[Tensor], Tensor]) -> tuple[str, int] | None:
        spec = spec_of(lambda i: {"out": i["x"] * 1.0}, "x", mistakes=(large,))
        return cause_of(evidence_of(spec, lambda i: {"out": kernel(i["x"])}, (30,), (40,)))

    assert found(lambda x: x.clamp(max=0.5)) == ("large", 0)
    assert found(lambda x: torch.where(x > 0.9, 7.0, x)) == ("large", 0)
    assert found(lambda x: x.clamp(max=0.2)) is None, "smaller ones are wrong, too"
    assert found(lambda x: x + 1) is None


def test_a_mistake_says_how_it_is_recognized() -> None:
    with pytest.raises(ValueError, match="needs reference, blocked or only"):
        Mistake(cause="nothing", hint="")
