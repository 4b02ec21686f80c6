"""The numbers in the lesson of 19_roofline: they follow from its spec and from two roofs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from grader.course import catalog
from grader.model import Case

ROOT = Path(__file__).parents[2]
EXERCISE = catalog.find(ROOT, "19_roofline")
LESSON = (EXERCISE.folder / "README.md").read_text(encoding="utf-8")
BANDWIDTH = 3.0  # TB/s: docs/arithmetic.md
BYTES = 8  # an element: x is read, out is written


def table(head: str) -> list[list[str]]:
    """Return the cells of the table whose first line begins with these words."""
    lines = LESSON[LESSON.index(f"| {head}") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def peak() -> float:
    """Return the TFLOP/s of torch's float32 product on the H100 that the lesson names."""
    recorded = ROOT / "bench" / "results" / "accuracy_bounds_h100.json"
    rows = json.loads(recorded.read_text(encoding="utf-8"))["bounds"]["rows"]
    (rate,) = (row["reference_rate"] for row in rows if row["exercise"] == "01_polynomial")
    return round(rate)


def test_the_table_of_degrees_follows_from_the_spec():
    """Operations are those that the judge counts, and the lower of two roofs is allowed."""
    rows = table("degree | operations a byte")
    for degree, intensity, memory, allowed, limit in rows:
        flops = EXERCISE.spec.flops(Case((1000, int(number(degree))), "float32"))
        assert number(intensity) == flops / (1000 * BYTES)
        assert number(memory) == number(intensity) * BANDWIDTH
        assert number(allowed) == min(number(memory), peak())
        assert limit.startswith("memory" if number(memory) < peak() else "arithmetic")
    scored = {one.columns for one in (EXERCISE.spec.scored, *EXERCISE.spec.also_scored)}
    assert scored <= {int(number(degree)) for degree, *_ in rows}


def test_the_ridge_is_where_the_roofs_meet():
    told = re.search(
        r"the ridge is at (\d+) / (\d+) = ([\d.]+) operations a byte, which is degree (\d+)",
        " ".join(LESSON.split()),
    )
    assert told is not None
    roof, bandwidth, intensity, degree = map(float, told.groups())
    assert (roof, bandwidth) == (peak(), BANDWIDTH)
    assert intensity == pytest.approx(roof / bandwidth, abs=0.05)
    assert degree == round(4 * roof / bandwidth)


def test_the_gates_of_each_degree_are_the_spec_s():
    spec = EXERCISE.spec
    gates = [spec.gates, *(one.gates for one in spec.also_scored)]
    passing, great = table("gate | share of the roofline")
    assert [number(cell) for cell in passing[1:]] == [one.passing for one in gates]
    assert [number(cell) for cell in great[1:]] == [one.great for one in gates]
    head = LESSON[LESSON.index("| gate | share of the roofline") :].splitlines()[0]
    degrees = [number(each) for each in re.findall(r"at degree ([\d,]+)", head)]
    assert degrees == [one.columns for one in spec.also_scored]
