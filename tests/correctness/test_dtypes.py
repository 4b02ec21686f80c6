"""Every dtype: its bits, its numbers in a wide dtype, and what is drawn and compared in it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.correctness.acceptance import compare, expect, is_nearest, shares_right
from grader.correctness.distributions import DISTRIBUTIONS
from grader.correctness.dtypes import DTYPES, bits, is_whole, rounded, smallest, widened
from grader.correctness.error_limits import limits, ulp
from grader.correctness.inputs import CaseDraw, LargeDraw, NumberDraw
from grader.correctness.mismatch import number_text
from grader.course.backend_fit import misfit
from grader.model.arguments import ITEMSIZE, LARGEST, Inputs, reads, updates, writes
from grader.model.cases import Case
from grader.model.errors import BrokenExercise
from grader.model.exercise import Spec, Tolerance
from grader.model.scored import Gates, Scored

WHOLE = tuple(name for name, dtype in DTYPES.items() if is_whole(dtype))
EIGHT_BITS = ("float8_e4m3fn", "float8_e5m2")
ALL = st.sampled_from(tuple(DTYPES))


def spec_of(dtype: str, reference, **changes: object) -> Spec:
    """An exercise that fills `out` like x, of one dtype."""
    fields = {
        "title": "Any",
        "summary": "Any.",
        "backend": "triton",
        "entry": "any",
        "arguments": (reads("x"), writes("out", like="x")),
        "dtypes": (dtype,),
        "draws": ("rows",),
        "edges": (Case((3,), dtype),),
        "largest": (9,),
        "most_elements": 9,
        "inputs": lambda case, draw: {"x": draw.tensor(case.shape)},
        "reference": reference,
        "tolerance": Tolerance(terms=lambda case: 1),
        "counted": Case((9,), dtype),
        "scored": Scored(dtype=dtype),
        "gates": Gates(passing=0.5, great=0.9),
        "hints": ("a", "b", "c"),
    }
    return Spec(**fields | changes)


def expected(dtype: str, answer: torch.Tensor, x: torch.Tensor | None = None):
    x = torch.zeros(answer.shape, dtype=DTYPES[dtype]) if x is None else x
    return expect(spec_of(dtype, lambda inputs: {"out": answer}), Case((3,), dtype), {"x": x})


# -- bits and numbers


@pytest.mark.parametrize("name", DTYPES)
def test_sizes_and_largest_numbers_are_torchs(name: str):
    dtype = DTYPES[name]
    assert ITEMSIZE[name] == dtype.itemsize
    largest = 1 if name == "bool" else (torch.iinfo if is_whole(dtype) else torch.finfo)(dtype).max
    assert 0.99 * largest <= LARGEST[name] <= largest
    assert not is_whole(dtype) or LARGEST[name] == largest


@given(name=ALL, shape=st.tuples(st.integers(1, 5), st.integers(1, 5)), seed=st.integers(0, 2**31))
def test_bits_are_the_same_memory_and_numbers_survive_the_wide_dtype(
    name: str, shape: tuple[int, int], seed: int
):
    dtype = DTYPES[name]
    random = torch.Generator().manual_seed(seed)
    size = shape[0] * (shape[1] + 2)
    memory = torch.randint(256, (size * dtype.itemsize,), dtype=torch.uint8, generator=random)
    if name == "bool":
        memory %= 2
    values = memory.view(dtype).as_strided(shape, (shape[1] + 2, 1))
    assert bits(values).data_ptr() == values.data_ptr()
    assert bits(values).stride() == values.stride()
    again = widened(values).to(dtype)
    same = (bits(again) == bits(values)) | widened(values).isnan()
    assert bool(same.all())


def test_whole_numbers_of_64_bits_are_not_rounded():
    values = torch.tensor([2**53 + 1, -(2**63), 2**63 - 1])
    assert widened(values).tolist() == values.tolist()


def test_a_byte_that_is_no_bool_keeps_its_value():
    values = torch.tensor([0, 1, 2, 255], dtype=torch.uint8).view(torch.bool)
    assert widened(values).tolist() == [0, 1, 2, 255]


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_rounding_to_8_bits_stays_finite(name: str):
    largest = LARGEST[name]
    values = torch.tensor([1e9, -1e9, largest, 0.3, math.pi], dtype=torch.float64)
    found = rounded(values, DTYPES[name]).double().tolist()
    assert found[:3] == [largest, -largest, largest]
    assert found[3] == pytest.approx(0.3, rel=0.13)


# -- inputs


@given(
    name=ALL,
    draw=st.sampled_from(tuple(DISTRIBUTIONS)),
    pad=st.integers(0, 3),
    offset=st.integers(0, 3),
    seed=st.integers(0, 2**31),
)
def test_what_is_drawn_has_the_dtype_the_layout_and_no_nan(
    name: str, draw: str, pad: int, offset: int, seed: int
):
    case = Case((4, 7), name, draw=draw, pad=pad, offset=offset, seed=seed)
    drawn = CaseDraw(case).tensor(case.shape)
    assert (drawn.dtype, drawn.shape) == (DTYPES[name], case.shape)
    assert (drawn.stride(), drawn.storage_offset()) == ((7 + pad, 1), offset)
    values = widened(drawn)
    assert bool(values.isfinite().all())
    assert torch.equal(bits(drawn), bits(CaseDraw(case).tensor(case.shape)))
    large = LargeDraw(case, "cpu", seed).tensor(case.shape)
    assert large.dtype == DTYPES[name]
    assert bool(widened(large).isfinite().all())


@pytest.mark.parametrize("name", WHOLE)
def test_whole_extremes_reach_both_ends_of_the_dtype(name: str):
    case = Case((4, 200), name, draw="extremes")
    values = widened(CaseDraw(case).tensor(case.shape))
    assert (values.min(), values.max()) == (smallest(DTYPES[name]), LARGEST[name])
    if name != "bool":
        assert len(values.unique()) > 30


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "bool"])
@pytest.mark.parametrize("draw", ["extremes", "rows", "spikes"])
def test_an_extreme_bounds_whole_numbers(name: str, draw: str):
    case = Case((4, 200), name, draw=draw)
    for drawn in (CaseDraw(case), LargeDraw(case, "cpu", 1)):
        values = widened(drawn.tensor(case.shape, extreme=5))
        assert values.max() == 5
        assert values.min() == (0 if name == "uint8" else -5) or draw == "spikes"


def test_rows_and_constants_of_whole_numbers_are_what_their_names_say():
    rows = widened(CaseDraw(Case((40, 500), "int32")).tensor((40, 500))).double()
    assert rows.std(-1).max() > 4 * rows.std(-1).min()
    assert rows.mean(-1).max() - rows.mean(-1).min() > 8
    constant = CaseDraw(Case((9, 50), "int16", draw="constant")).tensor((9, 50))
    assert bool((constant == constant[:, :1]).all())
    assert len(constant.unique()) > 4
    ties = CaseDraw(Case((9, 50), "uint8", draw="ties")).tensor((9, 50))
    assert max(len(row.unique()) for row in ties) <= 4
    spikes = CaseDraw(Case((9, 9), "int8", draw="spikes")).tensor((9, 9))
    assert torch.equal((spikes == 120).sum(0), torch.ones(9, dtype=torch.int64))
    marked = CaseDraw(Case((9, 9), "bool", draw="spikes")).tensor((9, 9))
    assert int(marked.sum()) == 9


def test_scalars_of_each_type_are_the_same_for_a_slot_and_its_call():
    case = Case((8,), "int32")
    for draw in (CaseDraw(case), LargeDraw(case, "cpu", 7), NumberDraw(case, 7)):
        values = draw.integer(-3, 900), draw.truth(), draw.number(1.0, 2.0)
        assert list(map(type, values)) == [int, bool, float]
        assert -3 <= values[0] <= 900
    large, numbers = LargeDraw(case, "cpu", 7), NumberDraw(case, 7)
    large.tensor((8,))
    for _ in range(20):
        assert large.integer(0, 10**9) == numbers.integer(0, 10**9)
        assert large.truth() == numbers.truth()
    truths = {CaseDraw(Case((8,), "int32", seed=seed)).truth() for seed in range(20)}
    assert truths == {True, False}
    ends = {CaseDraw(Case((8,), "int32", seed=seed)).integer(4, 5) for seed in range(20)}
    assert ends == {4, 5}


# -- acceptance


def judged(got: torch.Tensor, answer: torch.Tensor, **options: object):
    size = answer.double().abs()
    return compare("out", got, answer, own=answer, magnitude=size, terms=1, **options)


@given(name=st.sampled_from(WHOLE), seed=st.integers(0, 2**31), place=st.integers(0, 19))
def test_whole_numbers_accept_their_answer_and_no_other(name: str, seed: int, place: int):
    case = Case((20,), name, draw="extremes", seed=seed)
    right = CaseDraw(case).tensor(case.shape)
    answer = widened(right)
    assert judged(right, answer) is None
    wrong = right.clone()
    bits(wrong)[place] ^= 1
    found = judged(wrong, answer)
    assert found is not None
    assert (found.kind, found.index, found.wrong) == ("value", (place,), 1)
    assert (found.expected, found.got) == (answer[place].item(), widened(wrong)[place].item())


def test_numbers_that_are_one_float64_are_two_of_64_bits():
    found = judged(torch.tensor([5, 2**53 + 1]), torch.tensor([5, 2**53]))
    assert found is not None
    assert (found.message, found.expected_text, found.got_text) == (
        *("out[1] is wrong", "9007199254740992", "9007199254740993"),
    )


def test_bools_are_named_and_other_bytes_are_none():
    assert [number_text(value, torch.bool) for value in (0, 1, 7)] == [
        *("False", "True", "a byte of 7, no bool"),
    ]
    byte = torch.tensor([1, 255], dtype=torch.uint8).view(torch.bool)
    found = judged(byte, torch.tensor([1, 1]))
    assert found is not None
    assert (found.expected_text, found.got_text) == ("True", "a byte of 255, no bool")


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_floats_of_8_bits_may_miss_by_the_last_place_and_no_more(name: str):
    codes = torch.arange(1, 0x7B, dtype=torch.uint8)
    right = codes.view(DTYPES[name])
    answer = right.double()
    assert judged(right, answer) is None
    for by, wrong in ((1, False), (3, True)):
        off = right.clone()
        bits(off)[40] += by
        assert (judged(off, answer) is not None) == wrong
    # And as a whole they may be no coarser than their own rounding makes them.
    assert judged((codes + codes % 2).view(DTYPES[name]), answer) is not None
    limit, _ = limits(DTYPES[name], answer, answer, answer.abs(), 1)
    assert bool((limit >= ulp(answer, DTYPES[name])).all())
    assert judged(torch.zeros_like(right), answer) is not None


@pytest.mark.parametrize("name", [*WHOLE, *EIGHT_BITS])
def test_a_pattern_that_a_kernel_may_write_by_right_counts_only_where_it_is_wrong(name: str):
    answer = torch.tensor([1, 0, 1, 0])
    if not is_whole(DTYPES[name]):
        answer = answer.double()
    got = torch.tensor([1, 0, 0, 0]).to(DTYPES[name])
    marked = torch.tensor([True, False, True, True])
    found = judged(got, answer, unwritten=marked)
    assert found is not None
    assert (found.kind, found.index, found.wrong) == ("never_written", (2,), 1)


@pytest.mark.parametrize("name", WHOLE)
def test_a_wrong_number_may_be_the_pattern_by_chance(name: str):
    got, answer = torch.tensor([0, 0, 0]).to(DTYPES[name]), torch.tensor([1, 1, 1])
    found = judged(got, answer, unwritten=torch.tensor([True, False, False]))
    assert found is not None
    assert (found.kind, found.wrong) == ("value", 3)


@pytest.mark.parametrize(
    ("dtype", "answer", "given"),
    [
        ("int8", torch.tensor([1, 300, -5]), "300"),
        ("uint8", torch.tensor([1, -1, 5]), "-1"),
        ("int32", torch.tensor([1.0, 2.5, 3.0]), "2.5"),
        ("int64", torch.tensor([1.0, math.nan, 3.0]), "nan"),
        ("int64", torch.tensor([2.0**63, 1.0, 3.0], dtype=torch.float64), "9.2"),
        ("bool", torch.tensor([0, 1, 2]), "2"),
    ],
)
def test_an_answer_that_the_dtype_cannot_hold_is_the_exercises_fault(
    dtype: str, answer: torch.Tensor, given: str
):
    with pytest.raises(BrokenExercise, match=f"the reference writes {given}.* to out.*{dtype}"):
        expected(dtype, answer)


def test_answers_are_compared_in_the_outputs_own_kind_of_number():
    assert expected("int16", torch.tensor([1.0, -2.0, 3.0])).outputs["out"].dtype == torch.int64
    assert expected("bool", torch.tensor([True, False, True])).outputs["out"].tolist() == [1, 0, 1]
    assert expected("float32", torch.tensor([1, 2, 3])).outputs["out"].dtype == torch.float64


def test_whole_numbers_reach_the_reference_in_their_own_dtype_and_wrap_around():
    spec = spec_of("int8", lambda inputs: {"out": inputs["x"] + inputs["x"]})
    inputs: Inputs = {"x": torch.tensor([100, -100, 3], dtype=torch.int8)}
    assert expect(spec, Case((3,), "int8"), inputs).outputs["out"].tolist() == [-56, 56, 6]


@pytest.mark.parametrize("dtype", ["bool", "int64", "float8_e5m2"])
def test_shares_leave_out_zeros_and_what_holds_the_pattern(dtype: str):
    one = expected(dtype, torch.tensor([1, 0, 1, 1, 1]).to(DTYPES[dtype]))
    got = torch.tensor([1, 0, 1, 0, 1]).to(DTYPES[dtype])
    assert dict(shares_right(one, {"out": got}, {}, {})) == {"out": 0.75}
    held = torch.tensor([False, False, True, False, True])
    assert dict(shares_right(one, {"out": got}, {"out": held}, {})) == {"out": 0.25}


@pytest.mark.parametrize("dtype", ["bool", "int32"])
def test_shares_leave_out_what_came_in(dtype: str):
    came_in = torch.tensor([1, 0, 1, 0]).to(DTYPES[dtype])
    answer = torch.tensor([1, 1, 1, 1]).to(DTYPES[dtype])
    spec = spec_of(dtype, lambda inputs: {"x": answer}, arguments=(updates("x"),))
    one = expect(spec, Case((4,), dtype), {"x": came_in})
    assert dict(shares_right(one, {"x": came_in}, {}, {"x": came_in})) == {"x": 0.0}
    assert dict(shares_right(one, {"x": answer}, {}, {"x": came_in})) == {"x": 1.0}


@pytest.mark.parametrize("dtype", ["bool", "int64", "float8_e4m3fn", "float16"])
def test_the_nearest_number_is_the_best_that_an_output_can_hold(dtype: str):
    answer = torch.tensor([1.0, 0.0, 1.0])
    one = expected(dtype, answer.to(DTYPES[dtype]))
    assert is_nearest(one, "out", answer.to(DTYPES[dtype]))
    assert not is_nearest(one, "out", (1 - answer).to(DTYPES[dtype]))


# -- what a backend takes


@pytest.mark.parametrize(
    ("backend", "changes", "fault"),
    [
        ("numba", {"dtypes": ("float8_e5m2",)}, "numba CUDA takes no float8_e5m2: its dtypes are"),
        ("numba", {"dtypes": ("bfloat16",)}, "numba CUDA takes no bfloat16: its dtypes are"),
        ("triton", {"dtypes": ("uint16",)}, "Triton takes no uint16: its dtypes are"),
    ],
)
def test_a_dtype_that_the_backend_does_not_take_is_refused_when_the_spec_loads(
    backend: str, changes: dict[str, object], fault: str
):
    found = misfit(spec_of("int8", lambda inputs: {"out": inputs["x"]}, backend=backend, **changes))
    assert found is not None
    assert found.startswith(fault)


def test_a_case_of_an_unknown_dtype_names_those_that_there_are():
    with pytest.raises(ValueError, match=r"'int4' is not a dtype: use one of float32, .*, bool"):
        Case.parse("3,int4")
    for name in DTYPES:
        assert str(Case.parse(f"3,{name},seed=1")) == f"3,{name},seed=1"
