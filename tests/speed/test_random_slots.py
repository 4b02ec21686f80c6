"""Spot checks of outputs that are drawn: each place may take its choices, as often as asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from grader.correctness.dtypes import bits
from grader.course import catalog
from grader.model.arguments import MOST_SEED, Inputs
from grader.model.cases import Case
from grader.sandbox.pretender import Pretender
from grader.speed.clock import wrong_output
from grader.speed.scored_case import arena_bytes, scored_case
from grader.speed.slots import Slots
from grader.speed.spot_checks import RandomSpotCheck, SlotContents, random_spot_check

COURSE = Path(__file__).parents[1] / "courses" / "draws"
DROPOUT = catalog.find(COURSE, "01_dropout_residual").spec
SPEC = replace(DROPOUT, scored=replace(DROPOUT.scored, columns=512))
ROWS, CALLS = 64, 3

Drop = Callable[[Inputs], Tensor]  # marks the elements that are dropped


def after(drop: Drop, scale: float = 1.0) -> SlotContents:
    """Return the contents of slots after a kernel that drops so."""

    def kernel(spec: object, inputs: Inputs, outputs: dict[str, Tensor]) -> None:
        kept = inputs["x"] / (1 - inputs["p"]) * scale
        outputs["out"].copy_(inputs["residual"] + torch.where(drop(inputs), 0.0, kept))

    memory = torch.zeros(arena_bytes(SPEC, ROWS, CALLS), dtype=torch.uint8)
    arena = SimpleNamespace(memory=memory)
    slots = Slots(SPEC, scored_case(SPEC, ROWS), CALLS, memory)
    calls, contents = slots.refill()
    assert not contents.outputs_right()
    Pretender(SPEC, kernel, arena).call(calls)
    return contents


def drawn(inputs: Inputs) -> Tensor:
    random = torch.Generator().manual_seed(inputs["seed"])
    return torch.rand(inputs["x"].shape, generator=random) < inputs["p"]


def test_a_right_output_is_right_whatever_it_drew():
    for _ in range(5):
        contents = after(drawn)
        assert contents.outputs_right()
        [check] = contents.spot_checks
        assert check.share_right() > 0.99


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_one_choice_for_all_is_wrong_although_each_place_is_right(share: float):
    """A kernel that drops all in the timed calls need not read x."""
    contents = after(lambda inputs: torch.full(inputs["x"].shape, bool(share)))
    [check] = contents.spot_checks
    assert bool(check.met().right())
    assert not contents.outputs_right()
    assert wrong_output(contents).kind == "share"


def test_values_that_are_no_choice_are_wrong():
    contents = after(drawn, scale=1.01)
    assert not contents.outputs_right()
    failure = wrong_output(contents)
    assert failure.kind == "wrong_at_scale"
    assert failure.expected != failure.got


def test_places_that_are_sampled_twice_count_once():
    check = of_places([3, 1, 3, 0, 3])
    assert check.telling.tolist() == [True, True, False, True, False]


def test_places_with_equal_choices_do_not_count():
    """Choices that are all equal are never unlikely."""
    check = of_places([0, 1, 2, 3], apart=0.0)
    assert not check.telling.any()
    assert bool(check.right())


def of_places(places: list[int], apart: float = 5.0) -> RandomSpotCheck:
    index = torch.tensor(places)
    memory = torch.zeros(8)
    answers = torch.stack([torch.zeros(len(places)), torch.full((len(places),), apart)], -1)
    limits = torch.full(answers.shape, 0.1)
    odds = torch.tensor([0.5, 0.5], dtype=torch.float64).expand(answers.shape)
    return random_spot_check(index, answers, limits, odds, bits(memory)[index], memory)


def test_each_slot_has_a_seed_of_its_own():
    memory = torch.zeros(arena_bytes(SPEC, ROWS, CALLS), dtype=torch.uint8)
    slots = Slots(SPEC, Case((ROWS, 512), "float32"), CALLS, memory)
    at = next(n for n, argument in enumerate(SPEC.arguments) if argument.seeds)
    seeds = {call[at] for _ in range(4) for call in slots.refill()[0]}
    assert len(seeds) == 4 * CALLS
    assert all(isinstance(seed, int) and 0 <= seed <= MOST_SEED for seed in seeds)
    assert max(seeds) > math.sqrt(MOST_SEED)
