"""The numbers in the lesson of 22_dropout_residual: they follow from its spec and from a GPU."""

from __future__ import annotations

import math
import re
from pathlib import Path

from grader.course import catalog
from grader.model import Case

ROOT = Path(__file__).parents[2]
EXERCISE = catalog.find(ROOT, "22_dropout_residual")
LESSON = (EXERCISE.folder / "README.md").read_text(encoding="utf-8")
WORDS = " ".join(LESSON.split())
STARTED = 128  # instructions a cycle, of a multiprocessor
H100, H200 = 12, 16  # bytes that memory moves for it meanwhile, as in 14_layernorm_gelu


def table(head: str) -> dict[str, list[str]]:
    """Return the cells of the table whose first line begins with these words, by their row."""
    lines = LESSON[LESSON.index(f"| {head}") :].split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: values for name, *values in cells}


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.replace("−", "-").replace("–", "0")) for cell in cells]


def least_bytes() -> int:
    """Return the bytes of an element that the spec's arguments move at least."""
    itemsize = {"bfloat16": 2}[EXERCISE.spec.scored.dtype]
    return itemsize * sum(a.reads + a.writes for a in EXERCISE.spec.arguments)


def test_the_bytes_are_those_of_the_spec_and_add_up():
    rows = {name: numbers(cells) for name, cells in list(table("term | mask").items())[2:]}
    forward, both = rows.pop("forward together"), rows.pop("both passes")
    parts = list(rows.values())
    assert forward == [sum(column) for column in zip(*parts[:4], strict=True)]
    assert both == [sum(column) for column in zip(*parts, strict=True)]
    assert forward[0] == least_bytes()
    assert "6 / 11 = 55 %" in WORDS
    assert forward[::2] == [6, 11]
    assert round(6 / 11, 2) == 0.55 < EXERCISE.spec.gates.passing
    assert 4096 * 8192 == 32 << 20


def test_the_budget_of_an_element_follows_from_its_bytes():
    budgets = [STARTED * least_bytes() / moved for moved in (H100, H200)]
    assert budgets == [64, 48]
    assert "128 / (12 / 6) = 64" in WORDS
    assert "128 / (16 / 6) = 48" in WORDS
    with_rand = numbers(table("kernel | instructions")["`tl.rand` for each element"])[0]
    assert with_rand == budgets[0]
    assert "48 / 64 = 75 %" in WORDS
    assert budgets[1] / with_rand == 0.75 < EXERCISE.spec.gates.great


def test_the_outputs_on_paper_are_right():
    rows = {name: cells for name, cells in table("| 0 | 1 | 2 | 3 | 4").items() if name}
    p = 0.2
    x, residual, number, out = (numbers(rows[name]) for name in ("x", "residual", "number", "out"))
    below = [one < p for one in number]
    assert [cell == "yes" for cell in rows["below p"]] == below
    expected = [
        r if drop else r + one / (1 - p) for one, r, drop in zip(x, residual, below, strict=True)
    ]
    assert [round(value, 9) for value in expected] == out
    assert sum(below) == 3
    counters = table("| first | second")
    assert numbers(counters["counter 0"]) + numbers(counters["counter 1"]) == number
    first, second, third, fourth = (
        list(column) for column in zip(*(counters[f"counter {i}"] for i in (0, 1)), strict=True)
    )
    for one, other in ((first, third), (second, fourth)):
        woven = ", ".join(v for pair in zip(one, other, strict=True) for v in pair)
        assert f"gives {woven}." in WORDS


def test_the_draws_that_are_tested_are_the_spec_s():
    case = EXERCISE.spec.random.case
    assert isinstance(case, Case)
    assert f"calls with {case.elements:,} elements" in WORDS
    total = 4 * case.elements
    told = re.search(r"Of ([\d,]+) elements, about ([\d,]+) should be dropped", WORDS)
    assert told is not None
    assert [int(text.replace(",", "")) for text in told.groups()] == [total, round(0.2 * total)]
    deviation = math.sqrt(total * 0.2 * 0.8)
    assert f"= {deviation:.0f}, a share of {deviation / total:.4f}" in WORDS
