"""The acceptance rule: what honest arithmetic loses passes, what a shortcut loses does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from drawn import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from grader.correctness.acceptance import compare, expect, first_mismatch, shares_right
from grader.correctness.error_limits import eps as spacing_at_one
from grader.correctness.error_limits import limits, rms, surely_within, ulp
from grader.correctness.expected import Expected
from grader.correctness.inputs import DTYPES, CaseDraw
from grader.correctness.mismatch import Mismatch
from grader.correctness.properties import cases
from grader.course import catalog
from grader.grading.plan import with_step
from grader.model.arguments import Inputs, reads, writes
from grader.model.cases import Case
from grader.model.errors import BrokenExercise
from grader.model.exercise import Spec, Tolerance

# The tests keep all cores busy as it is, and threads that wait for each other make them slower.
torch.set_num_threads(1)

ROOT = Path(__file__).parents[2]
SPECS = {exercise.name: exercise.spec for exercise in with_step(catalog.parts(ROOT), "speed")}
ADD, DOT, SOFTMAX = (
    SPECS[name] for name in ("01_vector_add", "02_dot_reduction", "04_online_softmax")
)
SWIGLU, CROSS_ENTROPY = SPECS["05_swiglu"], SPECS["06_cross_entropy"]
FLOATS = ("float32", "float16", "bfloat16")
SMALLEST_NORMAL = 2.0**-126  # of float32, and of bfloat16

Outputs = Mapping[str, Tensor]
Answer = Callable[[Spec, Case, Inputs, Expected], Outputs]


def verdicts(spec: Spec, case: Case, *answers: Answer) -> list[Mismatch | None]:
    """Return the verdict on each answer to the same inputs: what is expected takes the time."""
    inputs = spec.inputs(case, CaseDraw(case))
    expected = expect(spec, case, inputs)
    return [first_mismatch(expected, one(spec, case, inputs, expected), {}) for one in answers]


def verdict(spec: Spec, case: Case, answer: Answer) -> Mismatch | None:
    (found,) = verdicts(spec, case, answer)
    return found


def rounded(spec: Spec, case: Case, answers: Outputs) -> Outputs:
    """Each output in the dtype that the spec gives it."""
    dtypes = {a.name: a.dtype or case.dtype for a in spec.arguments if a.filled}
    return {name: value.to(DTYPES[dtypes[name]]) for name, value in answers.items()}


def picked(expected: Expected, of: Callable[[Expected], Outputs]) -> Outputs:
    """Return some outputs; of random ones, each element takes one of its choices."""
    choices = expected.choices
    if not choices:
        return of(expected)
    return drawn([of(each) for each in choices], [each.probability for each in choices])


def correctly_rounded(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
    return rounded(spec, case, picked(expected, lambda one: one.outputs))


def torch_in_float32(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
    return rounded(spec, case, picked(expected, lambda one: one.in_float32))


# -- honest


HONEST = (correctly_rounded, torch_in_float32)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_honest_answers_pass_on_drawn_cases(name: str):
    @settings(max_examples=25)
    @given(cases(SPECS[name]))
    def holds(case: Case):
        assert verdicts(SPECS[name], case, *HONEST) == [None, None]

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_honest_answers_pass_on_every_edge(name: str):
    for case in SPECS[name].edges:
        assert verdicts(SPECS[name], case, *HONEST) == [None, None], case


def sequential(terms: np.ndarray, lanes: int = 1) -> np.ndarray:
    """float32 sums over the last axis, in `lanes` accumulators that a tree joins."""
    rows, columns = terms.shape
    padded = np.zeros((rows, -(-columns // lanes) * lanes), np.float32)
    padded[:, :columns] = terms
    chains = np.cumsum(padded.reshape(rows, -1, lanes), axis=1, dtype=np.float32)
    return chains[:, -1].sum(-1, keepdims=True, dtype=np.float32)


def sequential_dot(lanes: int) -> Answer:
    def answer(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        products = (inputs["a"] * inputs["b"]).numpy()[None]
        return {"out": torch.from_numpy(sequential(products, lanes))[0]}

    return answer


def sequential_softmax(lanes: int) -> Answer:
    def answer(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        x = inputs["x"].float().numpy()
        terms = np.exp(x - x.max(-1, keepdims=True))
        return rounded(spec, case, {"out": torch.from_numpy(terms / sequential(terms, lanes))})

    return answer


# One accumulator up to 8192 terms, and the fewest that a longer row may have.
CHAINS = [(1000, 1), (2099, 1), (8192, 1), (20_011, 16), (131_072, 16)]


@pytest.mark.parametrize(("length", "lanes"), CHAINS)
@pytest.mark.parametrize("draw", DOT.draws)
def test_a_sequential_float32_dot_passes(draw: str, length: int, lanes: int):
    # Constant terms are the worst: every addition rounds to the same side.
    for seed in range(3):
        case = Case((length,), "float32", draw=draw, seed=seed)
        if draw != "integers":
            assert verdict(DOT, case, sequential_dot(lanes)) is None, case


@pytest.mark.parametrize(("length", "lanes"), CHAINS)
@pytest.mark.parametrize("draw", SOFTMAX.draws)
def test_a_sequential_float32_softmax_passes(draw: str, length: int, lanes: int):
    for dtype in SOFTMAX.dtypes:
        case = Case((2, length), dtype, draw=draw)
        assert verdict(SOFTMAX, case, sequential_softmax(lanes)) is None, case


@pytest.mark.parametrize("parts", range(1, 65, 7))
def test_equal_terms_lose_at_most_three_eighths_of_the_chain(parts: int):
    """The worst case in acceptance.py's derivation, over a binade of term sizes."""
    length = 8192
    term = np.float32(1 + parts / 64)
    total = np.cumsum(np.full(length, term, np.float32), dtype=np.float32)[-1]
    exact = float(term) * length
    assert abs(float(total) - exact) <= 0.375 * length * 2.0**-24 * exact


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rounding_an_intermediate_to_a_16_bit_output_passes(dtype: str):
    """silu in the output's dtype before the multiplication, as torch's own operators do."""

    def two_roundings(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        silu = torch.nn.functional.silu(inputs["gate"].float()).to(DTYPES[dtype])
        return rounded(spec, case, {"out": silu.float() * inputs["up"].float()})

    for draw in ("rows", "ties", "constant"):
        case = Case((7, 4099), dtype, draw=draw)
        inputs = SWIGLU.inputs(case, CaseDraw(case))
        # float16 would round a silu below 2**-14 to fewer digits than a product has.
        inputs["gate"].clamp_(min=-6)
        expected = expect(SWIGLU, case, inputs)
        assert first_mismatch(expected, two_roundings(SWIGLU, case, inputs, expected), {}) is None


def flushed(value: Tensor) -> Tensor:
    return torch.where(value.abs() < SMALLEST_NORMAL, 0.0, value)


def flushing_softmax(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
    x = inputs["x"].float()
    terms = flushed((x - x.amax(-1, keepdim=True)).exp())
    return rounded(spec, case, {"out": flushed(terms / terms.sum(-1, keepdim=True))})


def flushing_swiglu(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
    gate, up = inputs["gate"].float(), inputs["up"].float()
    silu = flushed(gate * flushed(1 / (1 + flushed((-gate).exp()))))
    return rounded(spec, case, {"out": flushed(silu * up)})


def flushing_cross_entropy(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
    logits, target = inputs["logits"].float(), inputs["target"].unsqueeze(-1)
    terms = flushed((logits - logits.amax(-1, keepdim=True)).exp())
    probability = flushed(terms / terms.sum(-1, keepdim=True))
    one_hot = torch.zeros_like(logits).scatter_(-1, target.clamp(min=0), 1.0)
    gradient = flushed(inputs["grad_scale"] * probability) - inputs["grad_scale"] * one_hot
    answer = {**expected.outputs, "logits": gradient.masked_fill(target == -100, 0.0)}
    return rounded(spec, case, answer)


FLUSHING = {
    "04_online_softmax": flushing_softmax,
    "05_swiglu": flushing_swiglu,
    "06_cross_entropy": flushing_cross_entropy,
}


def product_stored_in(narrow: torch.dtype) -> Answer:
    """The sum of each row of squares, where the squares are stored in another dtype."""

    def answer(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        return {"out": inputs["x"].double().square().to(narrow).double().sum(-1).float()}

    return answer


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_in_between_may_be_stored_in_the_16_bits_that_the_spec_names(dtype: str):
    """A factor of a product of matrices has 16 bits. It may lose so much, and no more; where the
    arguments are float32, or the spec does not say so, nothing."""
    unit = spacing_at_one(dtype) / 2
    says = replace(
        ADD,
        arguments=(reads("x"), writes("out", shape=lambda i: i["x"].shape[:1], dtype="float32")),
        inputs=lambda case, draw: {"x": draw.tensor(case.shape, extreme=100.0)},
        reference=lambda inputs: {"out": inputs["x"].square().sum(-1)},
        tolerance=Tolerance(
            terms=lambda case: case.shape[1],
            intermediate=lambda case, inputs, expected: (
                {} if case.dtype == "float32" else {"out": unit * expected["out"]}
            ),
        ),
    )
    silent = replace(says, tolerance=replace(says.tolerance, intermediate=None))
    case = Case((5, 300), dtype)
    stored = product_stored_in(DTYPES[dtype])
    assert verdict(says, case, stored) is None
    assert verdict(silent, case, stored) is not None
    assert verdict(says, replace(case, dtype="float32"), stored) is not None
    coarser = product_stored_in(torch.float8_e5m2)
    assert verdict(says, case, coarser) is not None


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in FLUSHING for dtype in FLOATS],
)
def test_a_gpu_may_flush_subnormal_numbers_on_the_way(name: str, dtype: str):
    """Also where what follows makes a larger number of them, as grad_scale does with seed 5."""
    for seed in (5, 8):
        case = Case((6, 5003), dtype, seed=seed)
        assert verdict(SPECS[name], case, FLUSHING[name]) is None, case


# -- dishonest


def zeros(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
    return {k: v * 0 for k, v in correctly_rounded(spec, case, inputs, expected).items()}


def nan(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
    answers = correctly_rounded(spec, case, inputs, expected)
    return {k: v + math.nan if v.is_floating_point() else v for k, v in answers.items()}


def shape_of(spec: Spec, columns: int) -> tuple[int, ...]:
    """Four rows of so many columns, with 5 for each extent between; of a vector, its length.

    No more columns than an exercise draws: the scores of 20,011 tokens take minutes.
    """
    columns = min(columns, spec.largest[-1])
    _, *others = spec.largest
    return (4, *(5 for _ in others[1:]), columns) if others else (columns,)


SIZES = [(4, 2), (4, 127), (4, 1025), (4, 20_011)]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [shape[1] for shape in SIZES])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SPECS)
def test_zeros_and_nan_are_rejected(name: str, dtype: str, columns: int):
    spec = SPECS[name]
    if dtype not in spec.dtypes:
        dtype = "float32"
    shape = shape_of(spec, columns)
    for draw in ("rows", "ties", "constant"):
        # Zeros may be right: relu makes them of negative numbers, and gelu of one below -5 nearly.
        cases = [Case(shape, dtype, draw=draw, seed=seed) for seed in range(5)]
        of_zeros, of_nan = verdicts(spec, cases[0], zeros, nan)
        others = (verdict(spec, case, zeros) for case in cases[1:])
        found = of_zeros or next(filter(None, others), None)
        assert found is not None, draw
        assert found.kind == "value", draw
        assert of_nan is not None, draw
        assert of_nan.kind == "not_finite", draw


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_one_wrong_element_is_found_and_named(dtype: str, shape: tuple[int, int]):
    case = Case(shape, dtype, draw="ties", seed=2)
    likeliest = SOFTMAX.inputs(case, CaseDraw(case))["x"][2].argmax().item()
    place = (2, likeliest)

    def one_wrong(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        out = expected.outputs["out"].clone()
        out[place] *= 1.02 + 4 * spacing_at_one(dtype)
        return rounded(spec, case, {"out": out})

    found = verdict(SOFTMAX, case, one_wrong)
    assert found is not None
    assert (found.kind, found.index, found.wrong) == ("value", place, 1)
    assert found.where == f"column {likeliest} of row 2"


# Not constant rows of 16 bits: their one answer may have two roundings of more than 1 %.
@pytest.mark.parametrize("shape", [*SIZES[1:], (2, 131_072)], ids=str)
@pytest.mark.parametrize(
    ("draw", "dtype"),
    [*((draw, dtype) for draw in ("rows", "ties") for dtype in FLOATS), ("constant", "float32")],
)
def test_a_sum_short_of_one_percent_is_rejected(draw: str, dtype: str, shape: tuple[int, int]):
    def short(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        return rounded(spec, case, {"out": expected.outputs["out"] / 0.99})

    assert verdict(SOFTMAX, Case(shape, dtype, draw=draw), short) is not None


# Not with ties, of which the last percent may happen to cancel.
@pytest.mark.parametrize("length", [128, 2099, 20_011, 1_000_003])
@pytest.mark.parametrize("draw", ["rows", "constant"])
def test_a_dot_without_the_last_percent_is_rejected(draw: str, length: int):
    def short(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        kept = length - length // 100
        products = inputs["a"].double() * inputs["b"].double()
        return {"out": products[:kept].sum().reshape(1).float()}

    assert verdict(DOT, Case((length,), "float32", draw=draw), short) is not None


@pytest.mark.parametrize("shape", [*SIZES[1:], (4, 131_072)], ids=str)
@pytest.mark.parametrize("coarse", [torch.float16, torch.bfloat16])
def test_a_float32_softmax_with_16_bit_exponentials_is_rejected(
    coarse: torch.dtype, shape: tuple[int, int]
):
    def cheap(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        x = inputs["x"]
        terms = (x - x.amax(-1, keepdim=True)).exp().to(coarse).float()
        return {"out": terms / terms.sum(-1, keepdim=True)}

    for draw in ("rows", "extremes", "denormals"):
        case = Case(shape, "float32", draw=draw, seed=3)
        if draw != "extremes":  # whose exponentials are 0 and 1
            assert verdict(SOFTMAX, case, cheap) is not None, case


@pytest.mark.parametrize("length", [128, 1025, 20_011])
def test_a_float16_sum_is_rejected(length: int):
    def cheap(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        products = (inputs["a"] * inputs["b"]).numpy()
        with np.errstate(over="ignore"):
            return {"out": torch.from_numpy(np.cumsum(products, dtype=np.float16)[-1:]).float()}

    for draw in ("rows", "ties", "constant"):
        assert verdict(DOT, Case((length,), "float32", draw=draw), cheap) is not None


@pytest.mark.slow
@pytest.mark.parametrize("columns", [3, 127, 1025, 20_011])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", SPECS)
def test_answers_rounded_through_bfloat16_are_rejected(name: str, dtype: str, columns: int):
    spec = SPECS[name]
    if dtype not in spec.dtypes:
        dtype = "float32"

    def coarse(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        return rounded(spec, case, {k: v.bfloat16() for k, v in expected.outputs.items()})

    if spec.tolerance.intermediate is not None:
        dtype = "float32"  # of 16 bits, numbers in between may be as coarse
    shape = shape_of(spec, columns)
    # A single number may happen to lie where bfloat16 has one.
    assert any(verdict(spec, Case(shape, dtype, seed=seed), coarse) for seed in range(5))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_three_roundings_of_a_16_bit_output_are_rejected(dtype: str):
    low = DTYPES[dtype]

    def three(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        gate, up = inputs["gate"].double(), inputs["up"].double()
        sigmoid = gate.sigmoid().to(low).double()
        return {"out": ((gate * sigmoid).to(low).double() * up).to(low)}

    assert verdict(SWIGLU, Case((64, 4099), dtype), three) is not None


@pytest.mark.parametrize("columns", [127, 1025, 20_011])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_softmax_all_in_16_bits_is_rejected(dtype: str, columns: int):
    low = DTYPES[dtype]

    def all_low(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        x = inputs["x"]
        terms = (x - x.amax(-1, keepdim=True)).exp()
        return {"out": terms / terms.double().sum(-1, keepdim=True).to(low)}

    # Of 20 draws in float16, 7 to 17 show it.
    cases = [Case((4, columns), dtype, seed=seed) for seed in range(10)]
    assert any(verdict(SOFTMAX, case, all_low) for case in cases)


# -- guesses that skip the reduction, on twenty seeds each: every one is rejected


@pytest.mark.parametrize("shape", [(4, 1025), (2, 20_011)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_softmax_with_a_constant_denominator_is_rejected(dtype: str, shape: tuple[int, int]):
    def guess(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        # E[exp(x)] = exp(0.5) for a normal x
        out = inputs["x"].double().exp() / (case.shape[-1] * math.exp(0.5))
        return rounded(spec, case, {"out": out})

    for seed in range(20):
        assert verdict(SOFTMAX, Case(shape, dtype, seed=seed), guess) is not None


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_cross_entropy_with_a_guessed_loss_is_rejected(dtype: str):
    def guess(spec: Spec, case: Case, inputs: Inputs, expected: Expected) -> Outputs:
        logits, target = inputs["logits"].double(), inputs["target"]
        chosen = logits.gather(-1, target.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        loss = math.log(case.shape[-1]) + 0.5 - chosen
        answer = {**expected.outputs, "loss": loss.masked_fill(target == -100, 0.0)}
        return rounded(spec, case, answer)

    for seed in range(20):
        found = verdict(CROSS_ENTROPY, Case((3, 4097), dtype, seed=seed), guess)
        assert found is not None
        assert found.argument == "loss"


# -- one element at a time


def judged(
    got: list[float], answer: list[float], dtype: str = "float32", **options: object
) -> Mismatch | None:
    """Compare outputs whose magnitude is their own size and which sum over one term."""
    exact = torch.tensor(answer, dtype=torch.float64)
    values = torch.tensor(got, dtype=torch.float64).to(DTYPES[dtype])
    size = exact.abs().nan_to_num()
    return compare("out", values, exact, own=exact, magnitude=size, terms=1, **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("strange", [math.inf, -math.inf, math.nan])
def test_infinity_and_nan_where_a_number_is_expected(strange: float, dtype: str):
    found = judged([1, 2, strange], [1, 2, 3], dtype)
    assert found is not None
    assert (found.kind, found.index, found.where) == ("not_finite", (2,), "element 2")


def test_infinity_and_nan_where_they_are_expected():
    assert judged([math.inf, math.nan, -math.inf], [math.inf, math.nan, -math.inf]) is None
    assert judged([math.inf], [-math.inf]) is not None
    assert judged([1.0], [math.nan]) is not None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_subnormal_answers_may_be_flushed_to_zero_and_no_others(dtype: str):
    one = SMALLEST_NORMAL
    assert judged([0, 0, 0], [0.99 * one, -0.99 * one, 0.5 * one], dtype) is None
    assert judged([0.0], [0.99 * one], dtype) is None
    for answer in (1.01 * one, 1.9 * one, 2.5 * one):
        # Beside a 1, so that the limit is the element's own and not that of the row.
        found = judged([0.0, 1.0], [answer, 1.0], dtype)
        assert found is not None
        assert found.index == (0,)
    assert judged([1.5 * one, 1.0], [0.0, 1.0], dtype) is not None


def test_float16_subnormals_are_ordinary_numbers():
    assert judged([2.0**-24], [1.4 * 2.0**-24], "float16") is None
    assert judged([0.0], [0.4 * 2.0**-24], "float16") is None
    assert judged([0.0], [2.0**-20], "float16") is not None


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_accepts_no_error_at_all(dtype: str):
    one_off = 3 + 2 * spacing_at_one(dtype)
    assert judged([1, 2, 3], [1, 2, 3], dtype, exact=True) is None
    assert judged([1, 2, one_off], [1, 2, 3], dtype) is None
    found = judged([1, 2, one_off], [1, 2, 3], dtype, exact=True)
    assert found is not None
    assert (found.kind, found.index, found.limit) == ("value", (2,), 0.0)
    assert found.expected_text == "3"


def shares(got: list[float], answer: list[float], **options: object) -> dict[str, float]:
    exact = torch.tensor(answer, dtype=torch.float64)
    expected = Expected({"out": exact}, {"out": exact}, {"out": exact.abs()}, 1, exact=False)
    unwritten = {"out": torch.tensor(options.get("unwritten", [False] * len(got)))}
    inputs = {"out": torch.tensor(options["before"])} if "before" in options else {}
    return dict(shares_right(expected, {"out": torch.tensor(got)}, unwritten, inputs))


def test_the_share_of_right_elements():
    assert shares([1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4]) == {"out": 1.0}
    assert shares([1.0, 2.0, 3.1, math.nan], [1, 2, 3, 4]) == {"out": 0.5}
    assert shares([1.0, 2.0], [1, 2], unwritten=[True, False]) == {"out": 0.5}


def test_elements_that_take_no_work_are_left_out_of_the_share():
    assert shares([0.0, 0.0, 3.0], [0, 0, 3]) == {"out": 1.0}
    assert shares([0.0, 0.0, 3.1], [0, 0, 3]) == {"out": 0.0}
    assert shares([0.0, 0.0], [0, 0]) == {"out": 0.0}
    assert shares([7.0, 8.0, 1.0], [7, 9, 1], before=[7.0, 8.0, 2.0]) == {"out": 0.5}


def test_zeros_of_both_signs_are_equal():
    assert judged([-0.0, 0.0], [0.0, -0.0], exact=True) is None


def test_many_small_errors_are_too_large_as_a_whole(snapshot: SnapshotAssertion):
    # Each 0.9 of a spacing from the answer: within the limit of one, beyond the rms of 0.6.
    answer = [1 + 0.1 * 2.0**-23 for _ in range(100)]
    found = judged([1 + 2.0**-23] * 100, answer)
    assert found is None  # 8 * 2**-24 of the magnitude is permitted in any case
    size = torch.full((100,), 1e-6, dtype=torch.float64)
    exact = torch.tensor(answer, dtype=torch.float64)
    got = torch.full((100,), 1 + 2.0**-23, dtype=torch.float32)
    found = compare("out", got, exact, own=exact, magnitude=size, terms=1)
    assert found is not None
    assert found.kind == "rms"
    assert text_of(found) == snapshot
    assert found.where == "every element"


def test_an_element_that_was_never_written(snapshot: SnapshotAssertion):
    # The pattern left there may even look right: what counts is that it is still there.
    left = torch.tensor([False, False, True])
    found = judged([1, 2, 3], [1, 2, 3], unwritten=left)
    assert found is not None
    assert (found.kind, found.index, found.wrong) == ("never_written", (2,), 1)
    assert text_of(found) == snapshot
    assert found.got_text == "what was there before the call"
    assert judged([1, 2, 3], [1, 2, 3], unwritten=torch.zeros(3, dtype=torch.bool)) is None


def test_a_wrong_value_reads_like_this(snapshot: SnapshotAssertion):
    found = judged([1, 2, 3.5], [1, 2, 3])
    assert found is not None
    assert text_of(found) == snapshot
    assert found.expected_text == "3 ± 1.7e-06"
    assert found.got_text == "3.5"
    assert (found.wrong, found.total, found.where) == (1, 3, "element 2")


def test_the_worst_element_is_named_and_not_the_first():
    found = judged([1.1, 20.0, 3.1], [1, 2, 3])
    assert found is not None
    assert (found.index, found.wrong, found.where) == ((1,), 3, "every element")


def test_torch_overflowing_does_not_loosen_the_limit():
    answer = torch.tensor([1.0, 2.0], dtype=torch.float64)
    own = torch.tensor([math.inf, 2.0], dtype=torch.float64)
    got = torch.tensor([1.1, 2.0])
    assert compare("out", got, answer, own=own, magnitude=answer, terms=1) is not None


SUMS = torch.tensor([1.0, -3.7, 0.1, 4097.3, 6.1e-5], dtype=torch.float64) * (1 + 2.0**-13)


def one_rounding(got: Tensor, answer: Tensor = SUMS) -> Mismatch | None:
    return compare(
        "out",
        got,
        answer,
        own=answer.float().double(),
        magnitude=answer.abs(),
        terms=1,
        rounded_once=True,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_one_rounding_accepts_the_nearest_number_alone(dtype: torch.dtype):
    nearest = SUMS.to(dtype)
    assert one_rounding(nearest) is None
    for towards in (-math.inf, math.inf):
        # In the bits of a number that is not 0 the next one away from 0 follows.
        beside = nearest.clone()
        word = {2: torch.int16, 4: torch.int32}[dtype.itemsize]
        beside.view(word)[0] += 1 if towards > 0 else -1
        found = one_rounding(beside)
        assert found is not None
        assert (found.kind, found.index, found.wrong) == ("rounding", (0,), 1)


def test_a_truncated_value_reads_like_this(snapshot: SnapshotAssertion):
    truncated = SUMS.to(torch.float16)
    truncated.view(torch.int16)[1] -= 1
    found = one_rounding(truncated)
    assert found is not None
    assert text_of(found) == snapshot


def test_one_rounding_may_pass_through_float32():
    # Halfway between two float16 numbers but for a part that float32 loses: ties go to even.
    halfway = torch.tensor([1 + 2.0**-11 + 2.0**-40], dtype=torch.float64)
    for got in (halfway.to(torch.float16), halfway.float().to(torch.float16)):
        assert one_rounding(got, halfway) is None


def test_one_rounding_may_flush_what_a_gpu_flushes():
    tiny = torch.tensor([1e-40], dtype=torch.float64)
    assert one_rounding(torch.zeros(1, dtype=torch.float32), tiny) is None
    in_float16 = torch.tensor([3 * 2.0**-24], dtype=torch.float64)  # subnormal, and kept
    assert one_rounding(torch.zeros(1, dtype=torch.float16), in_float16) is not None


def test_an_integer_output_is_compared_exactly():
    answer = torch.tensor([3, 4])
    same, other = torch.tensor([3, 4]), torch.tensor([3, 5])
    options = {"own": answer.double(), "magnitude": answer, "terms": 100}
    assert compare("count", same, answer, **options) is None
    found = compare("count", other, answer, **options)
    assert found is not None
    assert (found.index, found.expected_text, found.got_text) == ((1,), "4", "5")


def rounding(error: float) -> Spec:
    """n is x, rounded; both neighbours are right where x lies within `error` of a tie."""

    def second(inputs: Inputs, expected: Outputs) -> Outputs:
        near = (inputs["x"] - inputs["x"].floor() - 0.5).abs() <= error
        return {"n": (2 * inputs["x"].floor() + 1 - expected["n"]).where(near, expected["n"])}

    return replace(
        SOFTMAX,
        arguments=(reads("x"), writes("n", like="x", dtype="int8")),
        inputs=lambda case, draw: {"x": torch.tensor([[1.4999, -1.5, 2.4, 3.5001]])},
        reference=lambda inputs: {"n": inputs["x"].round()},
        tolerance=Tolerance(terms=lambda case: 1, also_right=second),
    )


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [
        ([1, -2, 2, 4], None),
        ([2, -1, 2, 3], None),  # the other neighbours, near ties
        ([1, -2, 3, 4], 2),  # 2.4 is near no tie
        ([1, -2, 2, 5], 3),  # a step beyond both neighbours
        ([1, -3, 2, 4], 1),
        ([0, -2, 2, 4], 0),
    ],
)
def test_near_a_tie_the_integers_on_both_sides_are_right(numbers: list[int], wrong: int | None):
    spec, case = rounding(0.001), Case((1, 4), "float32")
    inputs = spec.inputs(case, CaseDraw(case))
    expected, got = expect(spec, case, inputs), {"n": torch.tensor([numbers], dtype=torch.int8)}
    found = first_mismatch(expected, got, {})
    assert (found and found.index) == (None if wrong is None else (0, wrong))
    (share,) = (share for _, share in shares_right(expected, got, {}, inputs))
    assert (share == 1.0) == (wrong is None)


def test_without_a_range_near_ties_one_integer_is_right():
    """Otherwise a range of 0 would accept both neighbours of each number."""
    spec, case = rounding(-1.0), Case((1, 4), "float32")
    expected = expect(spec, case, spec.inputs(case, CaseDraw(case)))
    for numbers, right in (([1, -2, 2, 4], True), ([2, -2, 2, 4], False)):
        got = {"n": torch.tensor([numbers], dtype=torch.int8)}
        assert (first_mismatch(expected, got, {}) is None) is right


# -- the spacing of numbers


@settings(max_examples=300)
@given(st.floats(-(2.0**127), 2.0**127, width=32))
def test_ulp_is_the_spacing_of_float32(value: float):
    expected = float(np.spacing(np.abs(np.float32(value))))
    assert ulp(torch.tensor([value], dtype=torch.float64), torch.float32).item() == expected


@settings(max_examples=300)
@given(st.floats(-(2.0**15), 2.0**15, width=16))
def test_ulp_is_the_spacing_of_float16(value: float):
    expected = float(np.spacing(np.abs(np.float16(value))))
    assert ulp(torch.tensor([value], dtype=torch.float64), torch.float16).item() == expected


@settings(max_examples=300)
@given(st.integers(0, 0x7F7F))  # the bits of a positive finite bfloat16
def test_ulp_is_the_distance_to_the_next_bfloat16(bits: int):
    below, above = torch.tensor([bits, bits + 1], dtype=torch.int16).view(torch.bfloat16).double()
    if math.isinf(above):
        above = 2 * below - torch.tensor(bits - 1, dtype=torch.int16).view(torch.bfloat16).double()
    assert ulp(below.reshape(1), torch.bfloat16).item() == (above - below).item()
    assert ulp(-below.reshape(1), torch.bfloat16).item() == (above - below).item()


@pytest.mark.parametrize("dtype", FLOATS)
def test_eps_is_the_spacing_at_one(dtype: str):
    one = torch.ones((), dtype=DTYPES[dtype])
    # A bfloat16 is the upper half of a float32, so that the next one has the next bits.
    bits = one.view(torch.int32 if dtype == "float32" else torch.int16) + 1
    assert spacing_at_one(dtype) == (bits.view(DTYPES[dtype]).double() - 1).item()


@given(
    dtype=st.sampled_from(["float32", "float16", "bfloat16"]),
    terms=st.sampled_from([1, 2, 1000, 131_072]),
    part=st.floats(0.01, 4.0),
    size=st.sampled_from([1e-44, 1e-6, 1.0, 3e4]),
    special=st.sampled_from([0.0, math.inf, -math.inf, math.nan]),
    seed=st.integers(0, 10_000),
)
def test_the_quick_look_at_errors_accepts_nothing_that_the_limits_reject(
    dtype: str, terms: int, part: float, size: float, special: float, seed: int
):
    """It spares most of a comparison's time, and must decide nothing by itself."""
    random = torch.Generator().manual_seed(seed)
    answer = torch.randn((4, 33), generator=random, dtype=torch.float64) * size
    magnitude = answer.abs() * (1 + torch.rand((4, 33), generator=random, dtype=torch.float64))
    own = answer.float().double()
    limit, rms_limit = limits(DTYPES[dtype], answer, own, magnitude, terms)
    error = part * limit * torch.rand((4, 33), generator=random, dtype=torch.float64)
    error[:, :3] = part * limit[:, :3]
    if special:
        error[0, 0] = abs(special)
    if surely_within(error, DTYPES[dtype], answer, magnitude, terms):
        assert not special
        assert bool((error <= limit).all())
        assert bool((rms(error) <= rms_limit).all())
    elif not special:
        assert part > 0.1 or size < 1e-3, "it recognises what is far below the limits"


@pytest.mark.parametrize("wrong", [math.inf, math.nan, 2.0])
def test_no_quick_look_passes_an_element_that_is_not_finite_or_was_not_written(wrong: float):
    answer = torch.ones((2, 8), dtype=torch.float64)
    got = answer.float()
    huge = torch.full_like(answer, math.inf)
    fine = compare("out", got, answer, own=answer, magnitude=huge, terms=1)
    unwritten = torch.zeros((2, 8), dtype=torch.bool)
    unwritten[1, 3] = True
    missing = compare(
        "out", got, answer, own=answer, magnitude=answer, terms=1, unwritten=unwritten
    )
    got[1, 2] = wrong
    found = compare("out", got, answer, own=answer, magnitude=answer, terms=1)
    assert fine is None
    assert missing is not None
    assert missing.kind == "never_written"
    assert found is not None


# -- an exercise that nothing can be compared with


def _tolerance(**parts: object) -> Spec:
    return replace(ADD, tolerance=replace(ADD.tolerance, **parts))


def _of_out(value: float) -> Callable[..., Outputs]:
    return lambda *given: {"out": torch.full_like(given[-1]["out"], value)}


def _writes_to_its_input(inputs: Inputs) -> Outputs:
    return {"out": inputs["x"].add_(inputs["y"])}


@pytest.mark.parametrize(
    "spec",
    [
        _tolerance(magnitude=_of_out(math.nan)),
        _tolerance(magnitude=_of_out(math.inf)),
        _tolerance(magnitude=_of_out(-1.0)),
        _tolerance(magnitude=lambda inputs, outputs: {"output": outputs["out"].abs()}),
        _tolerance(intermediate=_of_out(math.nan)),
        _tolerance(terms=lambda case: 0),
        _tolerance(terms=lambda case: math.nan),
        replace(ADD, reference=_writes_to_its_input),
        replace(ADD, reference=lambda inputs: {"out": (inputs["x"] + inputs["y"])[None]}),
    ],
    ids=[
        *("no number", "infinite", "negative", "of another name", "on the way", "no terms"),
        *("terms that are no number", "changes its input", "another shape"),
    ],
)
def test_what_makes_a_comparison_worthless_breaks_the_exercise(
    spec: Spec, snapshot: SnapshotAssertion
):
    """No error is larger than NaN, so a kernel that wrote 12345 everywhere was right."""
    case = Case((3,), "float32")
    inputs = spec.inputs(case, CaseDraw(case))
    got = {"out": torch.full((3,), 12345.0)}
    with pytest.raises(BrokenExercise) as caught:
        first_mismatch(expect(spec, case, inputs), got, {})
    assert text_of(caught.value) == snapshot


def test_where_the_output_is_infinite_its_magnitude_may_be():
    spec = replace(
        _tolerance(magnitude=lambda inputs, outputs: {"out": outputs["out"].abs()}),
        reference=lambda inputs: {"out": inputs["x"] / 0.0},
    )
    case = Case((3,), "float32", draw="constant")
    assert expect(spec, case, {"x": torch.ones(3), "y": torch.ones(3)}).outputs["out"].isinf().all()
