"""The numbers of a failing case as lines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from grader.model.numbers import Compared, Number, Numbers, Values
from grader.model.results import Failure
from grader.reports.layout import PLAIN
from grader.reports.number_texts import number_text
from grader.reports.numbers import MOST_LINES, number_lines, number_rows

WIDTH = 80 - 6


def values(name: str, rows: list[list[Number]], start=(0, 0), shape=None, **changes) -> Values:
    """A window of a matrix."""
    window = (len(rows), len(rows[0]))
    fields = {
        "argument": name,
        "dtype": "float32",
        "shape": window if shape is None else shape,
        "axes": (0, 1),
        "start": start,
        "window": window,
        "values": tuple(value for row in rows for value in row),
    }
    return Values(**fields | changes)


def vector(name: str, row: list[Number], axis: int | None = 0, **changes) -> Values:
    fields = {"axes": (axis,), "start": (0,), "window": (len(row),), "shape": (len(row),)}
    return values(name, [row], **fields | changes)


def scalar(name: str, value: Number) -> Values:
    return vector(name, [value], axes=(), start=(), window=(), shape=())


def compared(of: Values, expected: list[Number], **changes) -> Compared:
    wrong = tuple(a != b for a, b in zip(of.values, expected, strict=True))
    fields = {
        "expected": tuple(expected),
        "wrong": wrong,
        "wrong_count": sum(wrong),
        "where": "row 1",
        "largest_error": 4.0,
        "largest_at": of.start,
    }
    return Compared(**dict(of) | fields | changes)


def around(inputs: list[Values], *outputs: Compared, first=None) -> Numbers:
    base = outputs[0]
    place = base.start if first is None else first
    return Numbers(
        output=base.argument,
        shape=base.shape,
        first=place,
        inputs=tuple(inputs),
        outputs=outputs,
    )


VECTORS = around(
    [vector("x", [1.0, 2.0, 3.0]), vector("y", [10.0, 20.0, 30.0])],
    compared(vector("out", [11.0, 21.5, None]), [11.0, 22.0, 33.0]),
)
FORGOTTEN = around(
    [
        values("logits", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        vector("target", [2, -100], dtype="int64"),
        scalar("grad_scale", 2.0),
    ],
    compared(
        values("logits", [[0.18, 0.49, -0.67], [0.18, 0.49, 1.33]]),
        [0.18, 0.49, -0.67, 0.0, 0.0, 0.0],
    ),
    compared(vector("loss", [0.4076, 140.07]), [0.4076, 0.0]),
    first=(1, 0),
)
TALL = around(
    [values("x", [[1.0], [2.0], [3.0], [4.0]]), vector("b", [True], axis=1, dtype="bool")],
    compared(values("out", [[1.0], [2.0], ["nan"], ["-inf"]]), [1.0, 2.0, 3.0, 4.0]),
)
LARGE = around(
    [values("x", [[1.5, 2.5], [3.5, 4.5]], (7, 900), (300, 1025))],
    compared(
        values("out", [[1.0, 2.0], [3.0, 5.0]], (7, 900), (300, 1025)),
        [1.0, 2.0, 3.0, 4.0],
        wrong_count=12_345,
        where="columns 901 to 1024 of rows 8 to 299",
    ),
    first=(8, 901),
)
REDUCED = around(
    [
        values("a", [[1.0, 2.0, 3.0]], axes=(None, None), shape=(1, 9)),
        vector("data", [3], None, dtype="int64"),
    ],
    compared(vector("out", [5.0]), [45.0]),
)
NEARLY = around(
    [vector("x", [0.1, 1234567.0, 1e-9, 3e38])],
    compared(vector("out", [0.10000001, 0.5, 0.25, 0.125]), [0.1, 0.5, 0.25, 0.125]),
)


@pytest.mark.parametrize(
    "numbers",
    [VECTORS, FORGOTTEN, TALL, LARGE, REDUCED, NEARLY],
    ids=["vectors", "forgotten", "tall", "large", "reduced", "nearly"],
)
def test_numbers_are_written_like_this(numbers: Numbers, snapshot: SnapshotAssertion):
    assert "\n".join(number_lines(numbers, WIDTH)) == snapshot


def test_the_marks_are_characters_with_and_without_colour():
    rows = number_rows(VECTORS, 80)
    assert "»21.5«" in rows.plain
    assert {span.style for span in rows.spans} == {"red"}
    assert ">21.5<" in rows.plain.translate(PLAIN)
    assert rows.plain.translate(PLAIN).isascii()


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (None, "float32", "unset"),
        ("nan", "float16", "nan"),
        (True, "bool", "True"),
        (3, "bool", "byte 3"),
        (-(2**63), "int64", "-9223372036854775808"),
        (12345.0, "float32", "12345"),
        (0.0999755859375, "float16", "0.09998"),
    ],
)
def test_a_number_is_written_as_short_as_it_is_clear(value: Number, dtype: str, text: str):
    assert number_text(value, dtype) == text


NUMBERS = st.one_of(
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.integers(-9, 9).map(float),
    st.sampled_from(["nan", "inf", "-inf"]),
)


@st.composite
def failing(draw: st.DrawFn) -> Numbers:
    """Numbers of a matrix, or of a part of it, with some that are wrong."""
    rows, columns = draw(st.sampled_from([(1, 8), (2, 4), (4, 2), (8, 1), (3, 10), (3, 8)]))
    shape = draw(st.sampled_from([(rows, columns), (rows + 40, columns + 700)]))
    start = (20, 350) if shape[0] > rows else (0, 0)
    count = rows * columns
    parts = [draw(st.lists(NUMBERS, min_size=count, max_size=count)) for _ in range(3)]
    x, got, expected = ([p[i * columns : (i + 1) * columns] for i in range(rows)] for p in parts)
    place = (
        start[0] + draw(st.integers(0, rows - 1)),
        start[1] + draw(st.integers(0, columns - 1)),
    )
    return around(
        [values("x", x, start, shape), values("y", x, start, shape), scalar("scale", 0.125)],
        compared(values("out", got, start, shape), [v for row in expected for v in row]),
        first=place,
    )


@pytest.mark.slow
@settings(max_examples=100)  # each has up to 90 numbers
@given(failing())
def test_lines_fit_a_terminal_and_show_the_first_wrong_element(numbers: Numbers):
    lines = number_lines(numbers, WIDTH)
    (out,) = numbers.outputs
    summaries = [line for line in lines if line.startswith("out: ")]
    tables = len(lines) - len(summaries)
    assert tables <= MOST_LINES + 1  # with the line that says what is left out
    assert all(len(line) <= WIDTH for line in lines if line not in summaries)
    row, column = (at - start for at, start in zip(numbers.first, out.start, strict=True))
    at = row * out.window[1] + column
    if out.wrong[at]:
        text = "\n".join(lines)
        written = [number_text(out.values[at], "float32", digits) for digits in range(4, 10)]
        assert any(f"»{shown}«" in text for shown in written)


def test_a_hostile_record_is_refused_or_written_in_a_line():
    record = VECTORS.model_dump()
    for changes in (
        {"first": (0, 0, 0)},
        {"shape": ()},
        {"inputs": [record["inputs"][0] | {"window": (2**40,)}]},
        {"inputs": [record["inputs"][0] | {"start": (1,)}]},
        {"inputs": [record["inputs"][0] | {"values": (1.0,) * 1000}]},
        {"outputs": [record["outputs"][0] | {"wrong": ()}]},
    ):
        with pytest.raises(ValueError, match="validation error"):
            Numbers.model_validate(record | changes)
    forged = vector("x\nPASS 10/10", [1.0])
    lines = number_lines(around([forged], *VECTORS.outputs), WIDTH)
    assert not any("\n" in line for line in lines)


def test_a_failure_keeps_its_numbers_when_it_is_read_again():
    failure = Failure(kind="value", message="wrong", numbers=FORGOTTEN)
    assert Failure.model_validate_json(failure.model_dump_json()) == failure
