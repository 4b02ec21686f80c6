"""What an exercise's own tests are written with: cases to draw, and a comparison with a limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import hypothesis
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from grader.correctness.properties import (
    ELEMENTS_OF_A_LAW,
    PLAIN_DRAW,
    SCOPE,
    Scope,
    assert_same_bits,
    assert_within,
    cases,
    cases_of,
    eps,
    spread_cases,
)
from grader.course import catalog
from grader.grading.plan import with_step
from grader.model.cases import Case
from grader.model.exercise import Spec

ROOT = Path(__file__).parents[2]
EXERCISES = with_step(catalog.parts(ROOT), "speed")
SOFTMAX = catalog.find(ROOT, "04_online_softmax").spec


def allowed(case: Case, spec: Spec, largest: tuple[int, ...], most: int) -> bool:
    return (
        len(case.shape) == len(largest)
        and all(1 <= extent <= most_ for extent, most_ in zip(case.shape, largest, strict=True))
        and case.elements <= most
        and case.dtype in spec.dtypes
        and case.draw in spec.draws
        and (spec.strided or case.pad == 0)
    )


@pytest.mark.slow
@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("spec", [e.spec for e in EXERCISES], ids=[e.name for e in EXERCISES])
def test_every_case_is_one_that_the_spec_allows(spec: Spec, on_gpu: bool):
    most = min(spec.most_elements, ELEMENTS_OF_A_LAW) * (16 if on_gpu else 1)

    # One strategy draws for all specs, and here for each of them in two forms.
    @settings(max_examples=40)
    @given(cases(spec, on_gpu=on_gpu))
    def holds(case: Case):
        assert allowed(case, spec, spec.largest, most)
        assert Case.parse(str(case)) == case

    holds()


@settings(max_examples=100)
@given(st.data(), st.integers(1, 40), st.integers(1, 5000))
def test_a_case_within_another_is_nowhere_larger(data: st.DataObject, rows: int, columns: int):
    outer = Case((rows, columns), "float32")
    case = data.draw(cases(SOFTMAX, within=outer, plain=True))
    assert case.draw in (PLAIN_DRAW, outer.draw)
    assert allowed(replace(case, draw="rows"), SOFTMAX, outer.shape, outer.elements)


def smallest(spec: Spec, fails: Callable[[Case], bool]) -> Case:
    chosen = settings(
        max_examples=400,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
    )
    return hypothesis.find(cases(spec), fails, settings=chosen)


@pytest.mark.parametrize(
    ("fails", "expected"),
    [
        (lambda case: True, Case((1, 1), "float32")),
        (lambda case: case.shape[1] > 1024, Case((1, 1025), "float32")),
        (lambda case: case.shape[0] > 2, Case((3, 1), "float32")),
        (lambda case: case.dtype == "bfloat16", Case((1, 1), "bfloat16")),
        (lambda case: case.draw == "ties", Case((1, 1), "float32", draw="ties")),
        (lambda case: case.pad > 1, Case((1, 1), "float32", pad=3)),
        (lambda case: case.offset == 1, Case((1, 1), "float32", offset=1)),
    ],
    ids=["anything", "long-rows", "many-rows", "dtype", "draw", "padding", "offset"],
)
def test_a_failure_shrinks_to_what_it_needs(fails: Callable[[Case], bool], expected: Case):
    assert smallest(SOFTMAX, fails) == expected


@pytest.mark.slow
def test_columns_at_which_kernels_go_wrong_are_tried():
    seen: set[int] = set()

    @settings(max_examples=600, derandomize=True, database=None)
    @given(cases(SOFTMAX))
    def look(case: Case):
        seen.add(case.shape[1])

    look()
    assert seen >= {1, 127, 128, 129, 1023, 1024, 1025}


def test_large_cases_come_in_every_check_and_with_every_residue():
    spec, sizes = EXERCISES[0].spec, []
    for seed in range(100):
        check = [case.shape[0] for case in spread_cases(spec, Random(seed))]
        assert max(check) > 2**19
        assert sum(check) <= 2 * spec.most_elements
        sizes += check
    assert {size % 16 for size in sizes} == set(range(16))


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("spec", [e.spec for e in EXERCISES], ids=[e.name for e in EXERCISES])
def test_large_cases_are_ones_that_the_spec_allows(spec: Spec, on_gpu: bool):
    for seed in range(30):
        for case in spread_cases(spec, Random(seed), on_gpu=on_gpu):
            assert allowed(case, spec, spec.largest, spec.most_elements * (4 if on_gpu else 1))
            assert Case.parse(str(case)) == case


def test_exercises_of_small_cases_have_no_large_ones():
    assert not list(spread_cases(catalog.find(ROOT, "p01_map").spec, Random(0)))


def test_the_cases_of_a_test_file_are_those_of_the_spec_beside_it():
    drawn = smallest_of(cases_of(str(EXERCISES[0].tests)))
    assert drawn.shape == (1,)


def test_a_run_may_be_restricted_to_one_case():
    only = Case((3, 7), "float16", seed=9)
    token = SCOPE.set(Scope(only=only))
    try:
        strategy = cases_of(str(EXERCISES[0].tests))
    finally:
        SCOPE.reset(token)
    assert smallest_of(strategy) == only


def test_a_gpu_has_room_for_larger_cases():
    token = SCOPE.set(Scope(on_gpu=True))
    try:
        strategy = cases_of(str(EXERCISES[0].tests))
    finally:
        SCOPE.reset(token)
    most = ELEMENTS_OF_A_LAW
    found = hypothesis.find(
        strategy, lambda case: case.elements > most, settings=settings(database=None)
    )
    assert most < found.elements <= 16 * most


def smallest_of(strategy: st.SearchStrategy[Case]) -> Case:
    chosen = settings(database=None, phases=(Phase.generate, Phase.shrink))
    return hypothesis.find(strategy, lambda case: True, settings=chosen)


# -- assert_within


def test_within_the_limit_and_at_it():
    assert_within(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 2.0]), 0.5, "sums")
    assert_within(3, 3.0, 0.0, "sums")
    assert_within(torch.tensor([1.0, 2.0]), 1.5, torch.tensor([0.5, 0.6]), "sums")
    assert_within(torch.ones(2, 3, dtype=torch.bfloat16), 1.0, 0.0, "sums")


@pytest.mark.parametrize(
    ("got", "expected", "limit", "message"),
    [
        (1.0, 2.0, 0.5, "row sums: expected 2 ± 0.5, got 1"),
        (torch.tensor([1.0, 5.0, 3.0]), 1.0, 1.0, "row sums at [1]: expected 1 ± 1, got 5"),
        (
            torch.tensor([[1.0, 2.0], [3.0, 4.5]]),
            torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
            torch.tensor(0.25),
            "row sums at [1, 1]: expected 4 ± 0.25, got 4.5",
        ),
        (torch.tensor([9.0, math.nan]), 1.0, 1.0, "row sums at [1]: expected 1 ± 1, got nan"),
        (torch.tensor([math.inf]), 1.0, 1.0, "row sums at [0]: expected 1 ± 1, got inf"),
        (1.0, math.nan, 1.0, "row sums: expected nan ± 1, got 1"),
        (1.0, 1.0, math.nan, None),
        (2.0, 1.0, math.nan, "row sums: expected 1 ± nan, got 2"),
    ],
)
def test_beyond_the_limit_names_the_worst(
    got: object, expected: object, limit: object, message: str | None
):
    if message is None:
        assert_within(got, expected, limit, "row sums")
        return
    with pytest.raises(AssertionError) as caught:
        assert_within(got, expected, limit, "row sums")
    assert str(caught.value) == message


def test_equal_infinities_are_equal_and_nan_equals_nothing():
    assert_within(math.inf, math.inf, 0.0, "sums")
    with pytest.raises(AssertionError):
        assert_within(math.inf, -math.inf, 1e300, "sums")
    with pytest.raises(AssertionError):
        assert_within(math.nan, math.nan, 1e300, "sums")


@settings(max_examples=200)
@given(st.floats(), st.floats(), st.floats(0, 1e9))
def test_agrees_with_the_definition(got: float, expected: float, limit: float):
    if got == expected or abs(got - expected) <= limit:
        assert_within(got, expected, limit, "value")
    else:
        with pytest.raises(AssertionError):
            assert_within(got, expected, limit, "value")


def test_eps_is_that_of_the_dtype():
    assert (eps("float32"), eps("float16"), eps("bfloat16")) == (2.0**-23, 2.0**-10, 2.0**-7)


def test_the_scope_is_as_it_was():
    """The tests above put it back; another exercise's tests would see it otherwise."""
    assert replace(SCOPE.get()) == Scope()


# -- assert_same_bits


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_the_same_bits_are_the_same(dtype: torch.dtype):
    values = torch.tensor([[1, 2], [3, 4]]).to(dtype)
    assert_same_bits(values, values.clone(), "loss")


@pytest.mark.parametrize(
    ("got", "message"),
    [
        # Neighbours among float32 numbers: 7 digits would show them as equal.
        ([1.0, 1.0 + 2**-23], "loss at [1]: expected the bits of 1, got 1.00000012"),
        ([-0.0, 1.0], "loss at [0]: expected the bits of 0, got -0"),
        ([math.nan, 1.0], "loss at [0]: expected the bits of 0, got nan"),
    ],
)
def test_the_first_other_bits_are_named(got: list[float], message: str):
    expected = torch.tensor([1.0, 1.0] if got[0] == 1.0 else [0.0, 1.0])
    with pytest.raises(AssertionError) as caught:
        assert_same_bits(torch.tensor(got), expected, "loss")
    assert str(caught.value) == message


def test_nan_has_the_bits_of_nan():
    """A law on bits is silent on NaN: the step `correctness` has refused them before."""
    assert_same_bits(torch.tensor([math.nan]), torch.tensor([math.nan]), "loss")
