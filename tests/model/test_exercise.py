"""Specs and cases: what they refuse, and that a case survives its own text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog
from grader.model.arguments import reads, scalar, updates, writes
from grader.model.cases import Case
from grader.model.errors import BrokenExercise, UsageError
from grader.model.exercise import Mistake, Tolerance
from grader.model.instructions import Instructions
from grader.model.randomness import Choice, Randomness
from grader.model.scored import Gates, Scored

SMALL = Path(__file__).parents[1] / "courses" / "small"
SPEC = catalog.find(SMALL, "01_double").spec
ROW_SUM = catalog.find(SMALL, "02_row_sum").spec

OUT = writes("out", like="x")

CASES = st.builds(
    Case,
    shape=st.lists(st.integers(1, 10**6), min_size=1, max_size=3).map(tuple),
    dtype=st.sampled_from(["float32", "float16", "bfloat16"]),
    draw=st.sampled_from(["rows", "ties", "extremes"]),
    pad=st.integers(0, 64),
    offset=st.integers(0, 16),
    seed=st.integers(0, 2**31),
)


@given(CASES)
def test_a_case_survives_its_own_text(case: Case):
    assert Case.parse(str(case)) == case


@pytest.mark.parametrize(
    ("case", "text", "headline"),
    [
        (Case((1, 1025), "float16"), "1x1025,float16", "1 × 1,025 in float16"),
        (Case((1,), "int8"), "1,int8", "1 element of int8"),
        (Case((65_536,), "float32"), "65536,float32", "65,536 elements of float32"),
        (Case((7,), "float32", seed=3), "7,float32,seed=3", "7 elements of float32"),
        (
            Case((2, 3), "bfloat16", draw="ties", pad=5, offset=1, seed=9),
            "2x3,bfloat16,draw=ties,pad=5,offset=1,seed=9",
            "2 × 3 in bfloat16 (ties, row padding 5, offset 1)",
        ),
    ],
)
def test_a_case_reads_like_this(case: Case, text: str, headline: str):
    assert str(case) == text
    assert case.headline == headline
    assert Case.of_headline(headline) == Case(case.shape, case.dtype)


@pytest.mark.parametrize(
    ("headline", "case"),
    [
        ("65536×8192 float32", Case((65_536, 8_192), "float32")),
        ("2×32771 float32 (row padding 3)", Case((2, 32_771), "float32")),
        ("7 float32", Case((7,), "float32")),
    ],
)
def test_headlines_of_older_results_are_read(headline: str, case: Case):
    assert Case.of_headline(headline) == case


@pytest.mark.parametrize("headline", ["", "?", "what is this", "7 of float32", "7 elements of x"])
def test_what_is_no_headline_is_refused(headline: str):
    with pytest.raises(ValueError, match=r"."):
        Case.of_headline(headline)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "''"),
        ("nonsense", "'nonsense'"),
        ("0x3,float32", "'0x3'"),
        ("2x,float32", "'2x'"),
        ("-1,float32", "'-1'"),
        ("2x3", "''"),
        ("2x3,float64", "'float64'"),
        ("2x3,float32,pad=-1", "'pad=-1'"),
        ("2x3,float32,pad", "'pad'"),
        ("2x3,float32,color=red", "'color=red'"),
        ("2x3,float32,draw=no/path", "'draw=no/path'"),
        ("2x3,float32,shape=4", "'shape=4'"),
    ],
)
def test_a_case_that_is_not_understood_names_the_part(text: str, named: str):
    with pytest.raises(ValueError, match=named):
        Case.parse(text)


def test_elements_are_the_product_of_the_extents():
    assert Case((3, 4, 5), "float32").elements == 60


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry": "not a name"}, "not a Python name"),
        ({"arguments": ()}, "arguments is empty"),
        ({"arguments": (reads("x"),)}, "no argument is written"),
        ({"arguments": (reads("x"), reads("x"), OUT)}, "two arguments are called x"),
        ({"arguments": (reads("y"), OUT)}, "out is like 'x', and not one of the inputs: y"),
        ({"arguments": (scalar("x"), OUT)}, "not one of the inputs: there are none"),
        ({"arguments": (reads("x"), writes("out"))}, "out needs `like`, or `shape` and `dtype`"),
        ({"arguments": (reads("x"), writes("out", shape=(3,)))}, "out needs `like`, or"),
        ({"arguments": (reads("x"), writes("out", dtype="int8"))}, "out needs `like`, or"),
        ({"arguments": (reads("x", at_most=-1), OUT)}, "x is moved at most .* and not -1"),
        ({"arguments": (reads("x", at_most=1.5), OUT)}, "x is moved at most .* and not 1.5"),
        ({"arguments": (reads("x", at_most="3"), OUT)}, "x is moved at most .* and not '3'"),
        ({"arguments": (reads("x", bytes=40), OUT)}, "`bytes` of x is a function .* not 40"),
        ({"edges": ()}, "edges is empty"),
        ({"dtypes": ()}, "dtypes and draws"),
        ({"draws": ()}, "dtypes and draws"),
        ({"hints": ("one", "two")}, "fewer than three"),
        ({"gates": Gates(passing=0.9, great=0.8)}, "0 < passing <= great <= 1"),
        ({"gates": Gates(passing=0.0, great=0.8)}, "0 < passing <= great <= 1"),
        ({"gates": Gates(passing=0.9, great=1.2)}, "0 < passing <= great <= 1"),
        ({"gates": Gates(passing="0.5", great=0.8)}, "0 < passing <= great <= 1"),
        ({"gates": Gates(passing=0.5, great=None)}, "0 < passing <= great <= 1"),
        ({"scored": Scored(dtype="float32", columns=4096.5)}, "rows and columns .* whole numbers"),
        ({"scored": Scored(dtype="float32", columns="4096")}, "rows and columns .* whole numbers"),
        ({"scored": Scored(dtype="float32", columns=[4, 5])}, "rows and columns .* whole numbers"),
        ({"scored": Scored(dtype="float32", rows=1.5)}, "rows and columns .* whole numbers"),
        ({"scored": Scored(dtype="float32", bound=None)}, "bound of a scored case is a name"),
        ({"scored": Scored(dtype="float32", against="eager.py")}, "against .* is a Path"),
        ({"scored": Scored(dtype="float32", capability="90")}, "capability .* such as 90"),
        ({"scored": Scored(dtype="float32", capability=9.0)}, "capability .* such as 90"),
        ({"scored": Scored(dtype="float32", capability=9)}, "capability .* such as 90"),
    ],
)
def test_a_spec_that_cannot_be_graded_is_refused(change: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        replace(SPEC, **change)


@pytest.mark.parametrize("field", ["edges", "counted", "launched", "pictured", "memory_counted"])
@pytest.mark.parametrize(
    ("case", "fault"),
    [
        (Case((0,), "float32"), "shape is a tuple of whole numbers"),
        (Case((-3,), "float32"), "shape is a tuple of whole numbers"),
        (Case((3.0,), "float32"), "shape is a tuple of whole numbers"),
        (Case((True,), "float32"), "shape is a tuple of whole numbers"),
        (Case((), "float32"), "shape is a tuple of whole numbers"),
        (Case(5, "float32"), "shape is a tuple of whole numbers"),
        (Case((5,), "float32", draw="nope"), "draw may be rows, .* and not 'nope'"),
        (Case((5,), "float32", pad=-1), "pad is a whole number, 0 or more, and not -1"),
        (Case((5,), "float32", offset=0.5), "offset is a whole number, 0 or more, and not 0.5"),
    ],
)
def test_a_case_that_cannot_be_drawn_is_refused(field: str, case: Case, fault: str):
    with pytest.raises(ValueError, match=rf"{field} .*{fault}"):
        replace(SPEC, **{field: (case,) if field == "edges" else case})


@pytest.mark.parametrize(
    "change",
    [{"largest": (0,)}, {"largest": ()}, {"largest": (2.5,)}, {"most_elements": 0}],
)
def test_limits_of_drawn_cases_are_whole_numbers(change: dict[str, object]):
    with pytest.raises(ValueError, match=rf"{next(iter(change))} is a .*whole number.*, 1 or more"):
        replace(SPEC, **change)


@pytest.mark.parametrize("name", ["edges", "dtypes", "hints", "needs", "also", "also_scored"])
@pytest.mark.parametrize("entry", [SPEC, "float32, float16", ["rows"]])
def test_a_tuple_without_its_comma_is_refused(name: str, entry: object):
    """`dtypes=("float32")` is a string, whose letters would be taken for dtypes."""
    with pytest.raises(ValueError, match=rf"{name} is a tuple, not .*, as in \(entry,\)"):
        replace(SPEC, **{name: entry})


@pytest.mark.parametrize(
    "build",
    [
        lambda: Mistake(cause="mean", hint="Add up.", only=lambda inputs: {}, near=r"tl\.sum"),
        lambda: Instructions(most=2.0, best=1.0, hint="Add up.", near=r"tl\.sum"),
        lambda: Tolerance(terms=lambda case: 1, exact="integers"),
        lambda: Randomness(choices=Choice, case=Case((1,), "float32")),
    ],
    ids=["Mistake", "Instructions", "Tolerance", "Randomness"],
)
def test_a_part_of_a_spec_refuses_a_tuple_without_its_comma(build: Callable[[], object]):
    """Each letter of `near` would be a regular expression, and the first line have one of them."""
    with pytest.raises(ValueError, match=r"is a tuple, not .*, as in \(entry,\)"):
        build()


def test_a_signature_lists_the_arguments_in_order():
    assert ROW_SUM.signature == "row_sum(x, count, out, scale)"


def test_least_bytes_count_reads_and_writes_of_tensors():
    # x is read, out written, count both; the float scale moves no bytes.
    sizes = {"x": 100, "count": 8, "out": 4}
    assert ROW_SUM.least_bytes(sizes) == (108, 12)


@pytest.mark.parametrize("returned", ["12", 12.5, None])
def test_bytes_that_are_no_whole_number_break_the_exercise(returned: object):
    """A text of digits was taken for the number, and a fraction was cut off."""
    spec = replace(SPEC, arguments=(reads("x", bytes=lambda inputs: returned), OUT))
    with pytest.raises(BrokenExercise, match=r"`bytes` of x fails: TypeError: .* integer"):
        spec.needed_bytes({}, {"x": 100, "out": 100})


@pytest.mark.parametrize(
    ("columns", "shape"),
    [
        (None, (65_536,)),
        (131_072, (1, 131_072)),
        ((1_024, 32_768), (1, 1_024, 1_024)),
        (4, (16_384, 4)),  # of a vector and a degree: one element would be a kernel of its own
    ],
)
def test_a_sample_case_is_small(columns: int | tuple[int, ...] | None, shape: tuple[int, ...]):
    """`grader show` and the step compile draw it: one row beside a matrix of weights took more
    than the arena has. The largest extent is halved, so it is divisible by as much as before."""
    spec = replace(SPEC, scored=Scored(dtype="float32", columns=columns))
    assert spec.sample_case.shape == shape


def test_a_sample_case_takes_few_operations():
    """A row of attention has 4,096 x 4,096 scores: simulated in three dtypes they took a minute."""
    scored = Scored(dtype="float32", columns=(128, 4_096))
    spec = replace(SPEC, scored=scored, flops=lambda case: 2 * case.elements * case.shape[-1])
    assert spec.sample_case.shape == (1, 128, 1_024)
    hopeless = replace(spec, flops=lambda case: 2**29)
    assert hopeless.sample_case.shape == (1, 1, 1)


def test_an_exercise_without_a_scored_case_is_not_timed(snapshot: SnapshotAssertion):
    with pytest.raises(UsageError) as caught:
        _ = replace(SPEC, scored=None, gates=None).timed
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize("points", [{"speed": -1}, {"speed": 1.5}, {"speed": True}])
def test_points_are_whole_numbers(points: dict[str, int]):
    with pytest.raises(ValueError, match="points must be whole numbers"):
        replace(SPEC, points=points)


def test_arguments_say_how_often_they_may_move():
    assert (reads("x").most_reads, reads("x").most_writes) == (1, 0)
    assert reads("x", at_most=3).most_reads == 3
    assert (writes("out").most_reads, writes("out").most_writes) == (None, 1)
    assert writes("out", at_most=None).most_writes is None
    assert (updates("x").most_reads, updates("x").most_writes) == (1, 1)
    assert updates("x", reads_at_most=2).most_reads == 2
