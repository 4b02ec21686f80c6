"""From a case to tensors: values, layout, and that the same case gives the same tensors."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from drawn import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.correctness.acceptance import expect, first_mismatch, output_dtype
from grader.correctness.distributions import DISTRIBUTIONS
from grader.correctness.dtypes import DTYPES, is_whole, rounded
from grader.correctness.error_limits import limits
from grader.correctness.inputs import (
    SPIKES,
    CaseDraw,
    LargeDraw,
    NumberDraw,
    reseeded,
    with_layout,
)
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading.plan import with_step
from grader.grading.steps.correctness.explained import LARGE
from grader.model.arguments import LARGEST, MOST_SEED
from grader.model.cases import Case
from grader.model.exercise import Spec
from grader.speed.scored_case import scored_case

ROOT = Path(__file__).parents[2]
SOFTMAX = catalog.find(ROOT, "04_online_softmax").spec
SPECS = {exercise.name: exercise.spec for exercise in catalog.parts(ROOT)}
FLOATS = ("float32", "float16", "bfloat16")

CASES = st.builds(
    Case,
    shape=st.lists(st.integers(1, 40), min_size=1, max_size=3).map(tuple),
    dtype=st.sampled_from(FLOATS),
    draw=st.sampled_from(list(DISTRIBUTIONS)),
    pad=st.integers(0, 9),
    offset=st.integers(0, 9),
    seed=st.integers(0, 2**31),
)


@pytest.mark.slow
@settings(max_examples=200)
@given(CASES)
def test_every_distribution_gives_finite_values_of_the_case_s_form(case: Case):
    drawn = CaseDraw(case).tensor(case.shape)
    assert drawn.dtype == DTYPES[case.dtype]
    assert drawn.shape == case.shape
    assert bool(drawn.isfinite().all())
    columns = case.shape[-1]
    stride = columns + (case.pad if len(case.shape) > 1 else 0)
    for index in range(len(case.shape)):
        # The place of an element is that of its row, counted through all leading axes.
        rows = math.prod(case.shape[index + 1 : -1])
        assert drawn.stride(index) == (1 if index == len(case.shape) - 1 else rows * stride)
    assert drawn.storage_offset() == case.offset


@settings(max_examples=100)
@given(CASES, st.floats(1e-3, 1e3))
def test_values_stay_within_the_extreme_that_a_spec_asks_for(case: Case, extreme: float):
    drawn = CaseDraw(replace(case, draw="extremes")).tensor(case.shape, extreme=extreme)
    # Beside the extremes there are normal numbers, of which none is beyond 8.
    rounding = 1 + torch.finfo(drawn.dtype).eps
    assert drawn.double().abs().max() <= max(extreme * rounding, 8.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("offset", [0, 1, 3, 8])
def test_offsets_miss_a_16_byte_boundary(dtype: str, offset: int):
    drawn = CaseDraw(Case((3, 5), dtype, offset=offset)).tensor((3, 5))
    assert drawn.data_ptr() % 16 == offset * drawn.element_size() % 16


@settings(max_examples=100)
@given(CASES)
def test_nan_lies_between_rows_and_before_the_first(case: Case):
    drawn = CaseDraw(case).tensor(case.shape)
    home = drawn.as_strided((drawn.untyped_storage().nbytes() // drawn.element_size(),), (1,), 0)
    outside = torch.ones(len(home), dtype=torch.bool)
    outside.as_strided(drawn.shape, drawn.stride(), drawn.storage_offset()).fill_(False)
    assert bool(home[outside].isnan().all())
    assert int(outside.sum()) == len(home) - drawn.numel()


def test_a_vector_has_no_padding():
    assert with_layout(torch.zeros(5), pad=3, offset=2).stride() == (1,)


def test_each_distribution_is_what_its_name_says():
    def drawn(draw: str, dtype: str = "float32", **options: float) -> torch.Tensor:
        return CaseDraw(Case((8, 4096), dtype, draw=draw)).tensor((8, 4096), **options).double()

    assert all(len(row.unique()) == 4 for row in drawn("ties"))
    assert all(len(row.unique()) == 1 for row in drawn("constant"))
    assert drawn("constant")[:, 0].unique().numel() == 8
    assert drawn("integers").unique().tolist() == [-1, 0, 1]
    assert drawn("extremes").abs().max() > LARGEST["float32"] / 2
    assert 50 < drawn("extremes", extreme=100.0).abs().max() <= 100
    assert (drawn("spikes") == 120).nonzero().tolist() == [
        [row, 4095 - 512 * row] for row in range(8)
    ]
    for dtype in FLOATS:
        sunken = drawn("sunken", dtype)
        assert sunken.isfinite().all()
        assert sunken.max() <= -min(1e3, LARGEST[dtype] / 10) * 0.9
        top = sunken.amax(-1, keepdim=True)
        assert bool(((sunken == top).sum(-1) > 1000).all())
        if LARGEST[dtype] > 1e4:
            assert bool((top < -1e4).any())
            assert bool(((sunken == top) | (sunken < top - 128)).all())
    square = CaseDraw(Case((7, 7), "float32", draw="spikes")).tensor((7, 7))
    assert torch.equal((square == 120).double(), torch.eye(7).flip(0).double())
    for dtype in FLOATS:
        tiny = drawn("denormals", dtype).abs()
        normal = torch.finfo(DTYPES[dtype]).smallest_normal
        kinds = [(tiny == 0), (tiny > 0) & (tiny < normal), tiny >= normal]
        # A third each, give or take what rounds to zero; the dtype is not flushed when drawn.
        assert all(0.3 < kind.double().mean() < 0.37 for kind in kinds), dtype


def test_rows_differ_in_scale_and_in_shift():
    drawn = CaseDraw(Case((200, 512), "float32")).tensor((200, 512)).double()
    middle, spread = drawn.median(-1).values, drawn.std(-1)
    assert spread.min() < 0.1
    assert spread.max() > 15
    assert middle[spread < 1].min() < -6
    assert middle[spread < 1].max() > 6


@pytest.mark.parametrize("shape", [(4, 1025), (2, 20_011)], ids=str)
def test_no_row_lets_a_guess_pass_for_a_softmax(shape: tuple[int, int]):
    """exp(x) / (V · exp(0.5)), right on average for N(0, 1), is wrong in each row by itself."""
    for seed in range(20):
        case = Case(shape, "float32", seed=seed)
        inputs = SOFTMAX.inputs(case, CaseDraw(case))
        expected = expect(SOFTMAX, case, inputs)
        answer = expected.outputs["out"]
        guess = inputs["x"].double().exp() / (shape[1] * math.exp(0.5))
        limit, _ = limits(
            torch.float32,
            answer,
            expected.in_float32["out"],
            expected.magnitude["out"],
            expected.terms,
        )
        assert bool(((guess - answer).abs() > limit).any(-1).all()), case


def test_an_unknown_distribution_names_those_that_exist():
    with pytest.raises(ValueError, match="'gaussian' is not a distribution: use rows, ties, const"):
        CaseDraw(Case((3,), "float32", draw="gaussian")).tensor((3,))


# -- the same case, the same tensors


GOLDEN = Case((3, 1025), "bfloat16", pad=3, offset=1, seed=7)


def checksum(case: Case) -> str:
    draw = CaseDraw(case)
    parts = [
        draw.tensor(case.shape).contiguous().view(torch.int16),
        draw.indices(50, below=9, ignored=-100),
        torch.tensor(draw.number(0.5, 2.0), dtype=torch.float64),
    ]
    return hashlib.sha256(b"".join(p.numpy().tobytes() for p in parts)).hexdigest()[:16]


def test_a_replayed_case_is_the_case_that_failed():
    """Another process and another day draw the same; what is written down here shows that."""
    assert checksum(GOLDEN) == "468345b129bc5ad7"


@pytest.mark.slow
def test_another_process_draws_the_same():
    code = (
        "from grader.correctness.inputs import CaseDraw; from grader.spec import Case;"
        "x = CaseDraw(Case.parse('2x5,float32,seed=11')).tensor((2, 5));"
        "print(x.double().flatten().tolist())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout
    here = CaseDraw(Case((2, 5), "float32", seed=11)).tensor((2, 5))
    assert said.strip() == str(here.double().flatten().tolist())


@pytest.mark.parametrize(
    "change",
    [{"seed": 8}, {"pad": 4}, {"offset": 2}, {"draw": "ties"}, {"shape": (3, 1026)}],
    ids=str,
)
def test_whatever_differs_between_cases_changes_the_values(change: dict[str, object]):
    other = replace(GOLDEN, **change)
    first = CaseDraw(GOLDEN).tensor((3, 1025))
    assert not torch.equal(first, CaseDraw(other).tensor((3, 1025)))


def test_two_tensors_of_one_case_differ():
    draw = CaseDraw(GOLDEN)
    assert not torch.equal(draw.tensor((3, 9)), draw.tensor((3, 9)))


def test_a_case_gets_the_run_s_seed_unless_its_author_gave_one():
    open_seed, fixed = Case((3,), "float32"), Case((3,), "float32", seed=5)
    assert reseeded(fixed, 1) == fixed
    assert reseeded(open_seed, 1) == reseeded(open_seed, 1)
    assert reseeded(open_seed, 1).seed != reseeded(open_seed, 2).seed
    assert reseeded(open_seed, 1).seed != reseeded(Case((4,), "float32"), 1).seed
    assert 0 <= reseeded(open_seed, 2**40).seed < 2**31


# -- indices and numbers


@settings(max_examples=100)
@given(st.integers(0, 2**31), st.integers(1, 50), st.sampled_from([None, -100]))
def test_indices_are_in_range_or_ignored(seed: int, below: int, ignored: int | None):
    drawn = CaseDraw(Case((1,), "float32", seed=seed)).indices(30, below, ignored)
    assert (drawn.dtype, drawn.shape) == (torch.int64, (30,))
    allowed = (drawn >= 0) & (drawn < below)
    assert bool((allowed if ignored is None else allowed | (drawn == ignored)).all())


def test_about_one_index_in_five_is_ignored():
    drawn = CaseDraw(Case((1,), "float32")).indices(5000, 100, ignored=-100)
    assert 0.17 < (drawn == -100).double().mean() < 0.23


@settings(max_examples=100)
@given(st.integers(0, 2**31))
def test_a_number_is_in_its_range_and_a_float32(seed: int):
    number = CaseDraw(Case((1,), "float32", seed=seed)).number(1 / 64, 4.0)
    assert 1 / 64 <= number <= 4.0
    assert torch.tensor(number, dtype=torch.float32).item() == number


def test_a_factor_is_drawn_over_all_that_the_contract_allows():
    most = LARGEST["float16"] / 8
    factors = [CaseDraw(Case((1,), "float16", seed=seed)).factor(most) for seed in range(200)]
    assert all(abs(factor) <= most for factor in factors)
    assert all(torch.tensor(f, dtype=torch.float32).item() == f for f in factors)
    sizes = [abs(factor) for factor in factors]
    assert 0.0 in factors
    assert min(size for size in sizes if size) < 2.0**-60
    assert max(sizes) > 1000
    for sign in (1, -1):
        assert any(1 / 64 <= sign * factor <= 4 for factor in factors)


# -- the scored case, here drawn on the CPU


def with_small_matrices(spec: Spec) -> Spec:
    """The spec with at most 1,024 for each extent where there are several, not 67 million elements.

    One distribution draws the elements of both.
    """
    columns = spec.scored.columns
    if not isinstance(columns, tuple):
        return spec
    return replace(
        spec, scored=replace(spec.scored, columns=tuple(min(each, 1024) for each in columns))
    )


@pytest.mark.slow
@pytest.mark.parametrize("exercise", with_step(catalog.parts(ROOT), "speed"), ids=lambda e: e.name)
def test_the_scored_case_is_drawn_in_place_and_finite(exercise: Exercise):
    case = scored_case(with_small_matrices(exercise.spec), 3)
    drawn = exercise.spec.inputs(case, LargeDraw(case, "cpu", seed=1))
    again = exercise.spec.inputs(case, LargeDraw(case, "cpu", seed=1))
    other = exercise.spec.inputs(case, LargeDraw(case, "cpu", seed=2))
    for name, value in drawn.items():
        if isinstance(value, torch.Tensor):
            assert bool(value.isfinite().all())
            assert torch.equal(value, again[name])
            assert not torch.equal(value, other[name])
            assert value.is_contiguous()
            # What there is once a row, such as an inverse root, may have more bits.
            if value.is_floating_point() and value.shape == case.shape:
                assert value.dtype == DTYPES[exercise.spec.scored.dtype]
        else:
            assert value == again[name]
            assert value != other[name]


def test_rows_of_the_scored_case_differ_in_scale_and_in_shift():
    case = Case((300, 400), "float32")
    drawn = LargeDraw(case, "cpu", seed=1).tensor(case.shape)
    # Without the spikes: of a normal distribution, 68 % lie within a deviation of the middle.
    low, middle, high = drawn.quantile(torch.tensor([0.16, 0.5, 0.84]), -1)
    assert ((high - low) / 2).min() < 0.1
    assert ((high - low) / 2).max() > 15
    assert middle.min() < -6
    assert middle.max() > 6


def test_a_part_of_a_large_dot_product_does_not_stand_for_all_of_it():
    spec = catalog.find(ROOT, "02_dot_reduction").spec
    length, missed = 1_000_000, 0
    for seed in range(20):
        case = scored_case(spec, length)
        inputs = spec.inputs(case, LargeDraw(case, "cpu", seed))
        expected = expect(spec, case, inputs)
        own, magnitude = expected.in_float32["out"].double(), expected.magnitude["out"]
        limit, _ = limits(torch.float32, expected.outputs["out"], own, magnitude, expected.terms)
        read = length * 9 // 10
        part = inputs["a"][:read].double().dot(inputs["b"][:read].double())
        missed += abs(part * length / read - expected.outputs["out"]).item() > limit.item()
    assert missed >= 18


@pytest.mark.slow
def test_half_of_a_row_of_the_scored_case_does_not_stand_for_all_of_it():
    spec = catalog.find(ROOT, "06_cross_entropy").spec
    case = scored_case(spec, 40)
    inputs = spec.inputs(case, LargeDraw(case, "cpu", seed=1))
    expected = expect(spec, case, inputs)
    answer, own = expected.outputs["loss"], expected.in_float32["loss"].double()
    limit, _ = limits(torch.float32, answer, own, expected.magnitude["loss"], expected.terms)
    logits, target = inputs["logits"].double(), inputs["target"]
    half = logits[:, : case.shape[-1] // 2].logsumexp(-1) + math.log(2)
    loss = half - logits.gather(-1, target.clamp(min=0)[:, None]).squeeze(-1)
    assert ((loss - answer).abs() <= limit)[target >= 0].sum() == 0


def test_no_index_of_the_scored_case_is_ignored():
    # The least traffic counts every row.
    drawn = LargeDraw(Case((1,), "float32"), "cpu", seed=1).indices(1000, 7, ignored=-100)
    assert drawn.unique().tolist() == list(range(7))


@pytest.mark.parametrize("seed", [1, 2])
def test_numbers_are_known_before_the_tensors_that_they_come_with(seed: int):
    spec = catalog.find(ROOT, "06_cross_entropy").spec
    case = scored_case(spec, 3)
    early = spec.inputs(case, NumberDraw(case, seed))
    drawn = spec.inputs(case, LargeDraw(case, "cpu", seed))
    assert early["grad_scale"] == drawn["grad_scale"]
    assert early["logits"].is_meta
    assert (early["logits"].shape, early["logits"].dtype) == (
        drawn["logits"].shape,
        drawn["logits"].dtype,
    )


def test_numbers_of_the_scored_case_are_in_range():
    draw = LargeDraw(Case((1,), "float32"), "cpu", seed=1)
    numbers = [draw.number(1 / 64, 4.0) for _ in range(50)]
    numbers += [draw.factor(LARGEST["float32"]) for _ in range(50)]
    assert all(1 / 64 <= n <= 4.0 for n in numbers)
    assert min(numbers) < 0.1
    assert max(numbers) > 1.0


def test_nobody_knows_how_many_spikes_make_up_the_sum_of_a_large_vector():
    """Who did could stop reading where the last of them was found."""
    case, counts = Case((100_000,), "float32"), set()
    for seed in range(20):
        size = LargeDraw(case, "cpu", seed).tensor(case.shape).abs()
        counts.add(int((size > 1000 * size.median()).sum()))
    assert len(counts) > 5
    # One may fall on another's place, or on a value so small that it does not stand out.
    assert min(counts) >= SPIKES - 2
    assert max(counts) <= 2 * SPIKES


# -- numbers that a person follows


@pytest.mark.parametrize(
    ("draw", "first", "second"),
    [
        ("counting", [[1, 2, 3], [4, 5, 6]], [[10, 20, 30], [40, 50, 60]]),
        ("signs", [[1, -2, 3], [-4, 5, -6]], [[10, -20, 30], [-40, 50, -60]]),
        ("hundreds", [[200, 400, 600], [800, 1000, 1200]], [[200, 400, 600], [800, 1000, 1200]]),
    ],
)
@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_plain_numbers_count(draw: str, first: list, second: list, dtype: str):
    drawn = CaseDraw(Case((2, 3), dtype, draw=draw))
    assert drawn.tensor((2, 3)).tolist() == first
    assert drawn.tensor((2, 3)).tolist() == second


def test_plain_scalars_change_a_product_and_stay_in_range():
    drawn = CaseDraw(Case((1,), "float32", draw="counting"))
    assert (drawn.number(1e-3, 4.0), drawn.factor(100.0), drawn.factor(0.5)) == (2.0, 2.0, 0.5)
    assert 1e-6 <= drawn.number(1e-6, 1e-3) <= 1e-3


@given(CASES, st.floats(0.01, 1e4), st.sampled_from(["counting", "signs", "hundreds", "depths"]))
def test_plain_numbers_stay_within_the_extreme(case: Case, extreme: float, draw: str):
    drawn = CaseDraw(replace(case, draw=draw))
    for _ in range(2):
        largest = drawn.tensor(case.shape, extreme=extreme).double().abs().max()
        assert largest <= extreme * (1 + torch.finfo(DTYPES[case.dtype]).eps)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_what_is_right_is_right_for_plain_numbers(name: str):
    """Plain numbers explain a failure, so the reference must hold for them."""
    spec = SPECS[name]
    draws = ["counting", "signs"]
    draws += ["hundreds", "depths"] * bool(LARGE & set(spec.draws))
    small = [case for case in spec.edges if case.elements < 2000]
    for case in (replace(case, draw=draw) for case in small for draw in draws):
        inputs = dict(spec.inputs(case, CaseDraw(case)))
        expected = expect(spec, case, inputs)
        kinds = {a.name: output_dtype(a, inputs) for a in spec.arguments if a.filled}
        choices = expected.choices or (expected,)
        own = drawn(
            [
                {
                    name: one.to(kinds[name])
                    if is_whole(kinds[name])
                    else rounded(one, kinds[name])
                    for name, one in choice.in_float32.items()
                }
                for choice in choices
            ],
            [choice.probability for choice in choices],
        )
        assert first_mismatch(expected, own, {}) is None, case


def test_each_case_has_a_seed_of_its_own():
    seeds = {CaseDraw(Case((4,), "float32", seed=number)).seed() for number in range(50)}
    assert len(seeds) == 50
    assert all(0 <= seed <= MOST_SEED for seed in seeds)
    assert max(seeds) > MOST_SEED // 2
    assert CaseDraw(Case((4,), "float32", seed=7)).seed() in seeds
