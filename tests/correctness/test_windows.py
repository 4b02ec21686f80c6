"""Windows of a failing case: they have the first wrong element, and stay small."""

from __future__ import annotations

import math
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.correctness import CaseDraw, expect, numbers_of, output_dtype, small_inputs
from grader.course import catalog
from grader.model.arguments import Inputs, reads, writes
from grader.model.cases import Case
from grader.model.exercise import Spec
from grader.model.numbers import MOST_VALUES, MOST_WHOLE, Compared, Numbers, Values

ROOT = Path(__file__).parents[2]
SPECS = {e.name: e.spec for e in catalog.parts(ROOT)}
SOFTMAX, CROSS_ENTROPY = SPECS["04_online_softmax"], SPECS["06_cross_entropy"]
EXERCISES = pytest.mark.parametrize("name", SPECS)


def drawn(spec: Spec, case: Case) -> tuple[dict[str, Tensor | float], dict[str, Tensor]]:
    """The inputs of a case, and the outputs that are right."""
    inputs = dict(spec.inputs(case, CaseDraw(case)))
    expected = expect(spec, case, inputs).outputs
    kinds = {a.name: output_dtype(a, inputs) for a in spec.arguments if a.filled}
    return inputs, {name: expected[name].to(kinds[name], copy=True) for name in expected}


def numbers(
    spec: Spec, case: Case, inputs: Inputs, outputs: dict[str, Tensor], **unwritten: Tensor
) -> Numbers:
    return numbers_of(spec, inputs, expect(spec, case, inputs), outputs, unwritten)


def window(values: Values, whole: Tensor) -> Tensor:
    """The part of a whole argument that a window shows."""
    spans = zip(values.start, values.window, strict=True)
    return whole[tuple(slice(start, start + length) for start, length in spans)]


def of(numbers: Numbers, name: str) -> Compared:
    return next(each for each in numbers.outputs if each.argument == name)


@st.composite
def marked(draw: st.DrawFn) -> tuple[Case, Tensor]:
    """A case of a softmax, and marks on some of its elements."""
    case = Case(draw(st.tuples(st.integers(1, 40), st.integers(1, 300))), "float32", seed=1)
    places = st.tuples(*(st.integers(0, extent - 1) for extent in case.shape))
    marks = torch.zeros(case.shape, dtype=torch.bool)
    for place in draw(st.lists(places, min_size=1, max_size=20)):
        marks[place] = True
    return case, marks


@pytest.mark.slow
@settings(max_examples=150)
@given(marked())
def test_a_window_has_the_first_wrong_element_and_marks_all_that_it_shows(
    chosen: tuple[Case, Tensor],
):
    case, marks = chosen
    inputs, outputs = drawn(SOFTMAX, case)
    outputs["out"][marks] = 7.0
    shown = numbers(SOFTMAX, case, inputs, outputs, out=torch.zeros_like(marks))
    out, (x,) = of(shown, "out"), shown.inputs
    first = tuple(marks.nonzero()[0].tolist())
    assert shown.first == first
    spans = zip(out.start, out.window, first, strict=True)
    assert all(start <= place < start + length for start, length, place in spans)
    assert list(out.wrong) == window(out, marks).flatten().tolist()
    assert out.wrong_count == marks.sum()
    assert len(out.values) <= MOST_VALUES
    assert len(out.values) == case.elements or case.elements > MOST_WHOLE
    # The input is shown at the same place.
    assert (x.start, x.window, x.axes) == (out.start, out.window, (0, 1))
    assert list(x.values) == window(x, inputs["x"]).flatten().tolist()
    assert Numbers.model_validate_json(shown.model_dump_json()) == shown


@pytest.mark.slow
@EXERCISES
@settings(max_examples=8)
@given(st.data())
def test_numbers_of_each_exercise_stay_small_and_fit_their_arguments(
    name: str, data: st.DataObject
):
    spec = SPECS[name]
    # Far more elements than a window has, and not the millions of four long axes.
    longest = 60 if len(spec.largest) < 3 else 15
    shape = data.draw(st.tuples(*(st.integers(1, min(most, longest)) for most in spec.largest)))
    case = Case(shape, spec.dtypes[0], draw=spec.draws[0], seed=2)
    inputs, outputs = drawn(spec, case)
    outputs = {name: torch.full_like(value, 77) for name, value in outputs.items()}
    shown = numbers(spec, case, inputs, outputs)
    assert [each.argument for each in shown.inputs] == list(inputs)
    for each in (*shown.inputs, *shown.outputs):
        assert len(each.values) == prod(each.window) <= MOST_VALUES
        assert len(each.values) == prod(each.shape) or prod(each.shape) > MOST_WHOLE
    assert len(shown.model_dump_json()) < 6000


def test_an_element_that_was_never_written_is_shown_rather_than_a_wrong_one():
    """The message names such an element, and its gap is the cause of the other's fault."""
    case = Case((1, 33), "float32", draw="counting")
    inputs, outputs = drawn(SOFTMAX, case)
    outputs["out"] *= 1.01
    outputs["out"][0, 32] = math.nan
    gaps = outputs["out"].isnan()
    shown = numbers(SOFTMAX, case, inputs, outputs, out=gaps)
    assert shown.first == (0, 32)
    assert of(shown, "out").values[-1] is None
    assert all(of(shown, "out").wrong)


def test_a_target_is_shown_with_the_row_that_it_belongs_to():
    case = Case((300, 1025), "float32", seed=3)
    inputs, outputs = drawn(CROSS_ENTROPY, case)
    inputs["target"][200] = -100
    outputs["logits"][200, 900:] += 1
    shown = numbers(CROSS_ENTROPY, case, inputs, outputs)
    logits, target, scale = shown.inputs
    assert (logits.axes, target.axes, scale.shape) == ((0, 1), (0,), ())
    assert target.values[200 - target.start[0]] == -100
    assert (logits.start[0], logits.window[0]) == (target.start[0], target.window[0])
    assert of(shown, "loss").start == target.start


def test_an_output_that_is_wrong_by_itself_leads_to_the_row_of_the_other():
    case = Case((300, 50), "float32", seed=3)
    inputs, outputs = drawn(CROSS_ENTROPY, case)
    outputs["loss"][200] = -1.0
    shown = numbers(CROSS_ENTROPY, case, inputs, outputs)
    assert (shown.output, shown.first) == ("logits", (200, 0))
    assert (of(shown, "loss").wrong_count, of(shown, "logits").wrong_count) == (1, 0)


@pytest.mark.parametrize(
    ("name", "case", "axes"),
    [
        ("p05_broadcast", "2x2,float32", {"a": (0,), "b": (1,), "out": (0, 1)}),
        ("p18_transpose", "2x2,float32", {"x": (1, 0), "out": (0, 1)}),
        ("p19_matmul", "2x2x2,float32", {"a": (0, None), "b": (None, 1), "out": (0, 1)}),
        ("p15_axis_sum", "2x2,float32", {"a": (0, None), "out": (0,)}),
    ],
)
def test_axes_of_equal_length_are_not_mixed_up(name: str, case: str, axes: dict[str, object]):
    inputs, outputs = drawn(SPECS[name], Case.parse(case))
    shown = numbers(SPECS[name], Case.parse(case), inputs, outputs)
    assert {each.argument: each.axes for each in (*shown.inputs, *shown.outputs)} == axes


def test_a_spec_that_cannot_draw_another_case_leaves_the_lengths():
    def inputs(case: Case, draw: CaseDraw) -> Inputs:
        assert case.shape == (4, 2)
        return SOFTMAX.inputs(case, draw)

    case = Case((4, 2), "float32")
    spec = replace(SOFTMAX, inputs=inputs)
    shown = numbers(spec, case, *drawn(spec, case))
    assert shown.inputs[0].axes == (0, 1)


def test_what_json_has_no_number_for_is_a_text_or_null():
    case = Case((1, 5), "float32")
    inputs, outputs = drawn(SOFTMAX, case)
    outputs["out"][0] = torch.tensor([math.nan, math.inf, -math.inf, 0.5, math.nan])
    gaps = torch.tensor([[False, False, False, False, True]])
    out = of(numbers(SOFTMAX, case, inputs, outputs, out=gaps), "out")
    assert out.values == ("nan", "inf", "-inf", 0.5, None)
    assert out.wrong == (True,) * 5
    assert out.largest_at == (0, 3)


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float8_e5m2"])
def test_numbers_keep_their_type(dtype: str):
    spec = replace(
        SPECS["01_vector_add"],
        arguments=(reads("x"), writes("out", like="x")),
        inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
        reference=lambda inputs: {"out": inputs["x"]},
        dtypes=(dtype,),
    )
    case = Case((3,), dtype, draw="extremes", seed=1)
    inputs, outputs = drawn(spec, case)
    outputs["out"].view(torch.int64 if dtype == "int64" else torch.uint8)[0] += 2
    shown = numbers(spec, case, inputs, outputs)
    (x,), (out,) = shown.inputs, shown.outputs
    assert x.dtype == out.dtype == dtype
    assert out.wrong == (True, False, False)
    kind = {"bool": bool, "int64": int, "uint8": int}.get(dtype, float)
    assert {type(value) for value in (*x.values, *out.values[1:], *out.expected)} == {kind}
    if dtype == "bool":  # a byte that is none stays a number
        assert out.values[0] == int(x.values[0]) + 2


def test_inputs_of_a_failed_call_are_shown_where_an_index_may_come_from_them():
    case = Case((2, 2), "float32")
    inputs, _ = drawn(CROSS_ENTROPY, case)
    shown = small_inputs(CROSS_ENTROPY, inputs)
    assert [each.argument for each in shown.inputs] == ["logits", "target", "grad_scale"]
    assert (shown.outputs, shown.first) == ((), None)
    large, _ = drawn(CROSS_ENTROPY, Case((3, 3), "float32"))
    assert small_inputs(CROSS_ENTROPY, large) is None
    assert small_inputs(SOFTMAX, drawn(SOFTMAX, case)[0]) is None
