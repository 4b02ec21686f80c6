"""The numbers in the lesson of 20_quantize_int8: they follow from its spec."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from grader.course import catalog
from grader.model import ITEMSIZE, Case

ROOT = Path(__file__).parents[2]
EXERCISE = catalog.find(ROOT, "20_quantize_int8")
LESSON = (EXERCISE.folder / "README.md").read_text(encoding="utf-8")
QUANTIZE, UNPACK = EXERCISE.whole_spec.entries


def table(head: str) -> list[list[str]]:
    """Return the cells of the table whose first line begins with these words."""
    lines = LESSON[LESSON.index(f"| {head}") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def numbers(text: str) -> list[float]:
    return [float(each.replace("−", "-")) for each in text.split(", ")]


def test_the_bytes_are_those_of_the_scored_cases():
    size = ITEMSIZE[QUANTIZE.scored.dtype]
    assert UNPACK.scored.dtype == QUANTIZE.scored.dtype
    read, written, together = table("term | `quantize`")
    assert read[1:] == [f"{size}", "1"]
    assert written[1:] == ["1", f"{2 * size}"]
    assert together[1:] == [f"{size + 1}", f"{1 + 2 * size}"]
    text = " ".join(LESSON.split())
    twice = f"moves {2 * size + 1} bytes where {size + 1} would do, so it reaches at most 60 %"
    assert twice in text
    assert f"1 + 2 + 2 + 4 = 9 bytes where {1 + 2 * size} would do, 56 %" in text
    assert (round(100 * 3 / 5), round(100 * 5 / 9)) == (60, 56)


def test_the_row_on_paper_is_quantized_by_the_spec():
    rows = table("x | x / scale")
    x = torch.tensor([[numbers(row[0])[0] for row in rows]], dtype=torch.float64)
    outputs = QUANTIZE.reference({"x": x})
    scale, q = outputs["scale"].item(), outputs["q"][0]
    assert f"= {scale:.5f}, and half a step is {scale / 2:.4f}" in LESSON
    for row, one, number in zip(rows, x[0].tolist(), q.tolist(), strict=True):
        assert numbers(row[1]) == pytest.approx([one / scale], abs=0.051)
        assert numbers(row[2]) == [number]
        assert numbers(row[3]) == pytest.approx([number * scale], abs=0.000051)
        assert numbers(row[4]) == pytest.approx([abs(number * scale - one)], abs=0.000051)


def test_the_bytes_on_paper_are_unpacked_by_the_spec():
    rows = table("byte | bits")
    packed = torch.tensor([[int(row[0]) for row in rows]], dtype=torch.uint8)
    inputs = {"packed": packed, "scale": torch.tensor([0.5], dtype=torch.float64)}
    out = UNPACK.reference(inputs)["out"][0].view(-1, 2).tolist()
    for row, byte, two in zip(rows, packed[0].tolist(), out, strict=True):
        assert int(row[1].replace(" ", ""), 2) == byte
        assert numbers(row[2]) == [byte % 16, byte // 16]
        assert numbers(row[3]) == [2 * one for one in two]
        assert numbers(row[4]) == two
    for row in table("bits | as `uint8`"):
        byte = torch.tensor([int(row[0].replace(" ", ""), 2)], dtype=torch.uint8)
        assert numbers(row[1]) == [byte.item()]
        assert numbers(row[2]) == [byte.view(torch.int8).item()]


def test_shifts_are_those_of_the_types():
    for row in table("| `uint8` | `int8`"):
        byte = torch.tensor([int(row[0][:9].replace(" ", ""), 2)], dtype=torch.uint8)
        for cell, one in zip(row[1:], (byte, byte.view(torch.int8)), strict=True):
            bits, _, number = cell.partition(" = ")
            shifted = one >> 4
            assert numbers(number) == [shifted.item()]
            assert int(bits.replace(" ", ""), 2) == shifted.item() % 256


def test_lengths_and_the_least_row_are_the_spec_s():
    assert f"| columns | {QUANTIZE.largest[1]:,} at most" in LESSON
    assert f"uint8, at most {UNPACK.largest[1]:,} columns" in LESSON
    case = Case((2, 1), "float32")
    for power, kept in ((-99, True), (-100, True), (-101, False)):
        drawn = Drawn(torch.tensor([[2.0**power], [1.0]]))
        assert bool(QUANTIZE.inputs(case, drawn)["x"][0] != 0) is kept
    assert "or at least 2⁻¹⁰⁰" in LESSON


class Drawn:
    """A draw of one tensor that is known beforehand."""

    def __init__(self, values: torch.Tensor) -> None:
        self._values = values

    def tensor(self, shape: tuple[int, ...], **_: object) -> torch.Tensor:
        return self._values


@pytest.mark.parametrize(("away", "both"), [(0.9, True), (1.1, False)])
def test_the_range_near_a_tie_is_that_of_the_lesson(away: float, both: bool):
    """2.5 steps and a little more, in a row whose largest x is 127 steps of 1."""
    assert "within 2⁻²⁰ · (1 + |x / scale|) of a tie" in re.sub(r"\s+", " ", LESSON)
    steps = 2.5 + away * 2.0**-20 * 3.5
    inputs = {"x": torch.tensor([[127.0, steps, -steps]], dtype=torch.float64)}
    expected = QUANTIZE.reference(inputs)
    other = QUANTIZE.tolerance.also_right(inputs, expected)["q"]
    assert expected["q"].tolist() == [[127, 3, -3]]
    assert other.tolist() == [[127, 2, -2] if both else [127, 3, -3]]
