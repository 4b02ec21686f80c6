"""The lesson of 21_paged_gather and docs/gathers.md: what they say follows from the spec."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import torch

from grader.correctness.inputs import CaseDraw
from grader.course import catalog
from grader.grading.steps.traffic.allowance import SLACK
from grader.model.arguments import ITEMSIZE
from grader.model.cases import Case
from grader.speed.scored_case import scored_case, usually_needed

ROOT = Path(__file__).parents[2]
EXERCISE = catalog.find(ROOT, "21_paged_gather")
SPEC = EXERCISE.spec
LESSON = " ".join((EXERCISE.folder / "README.md").read_text(encoding="utf-8").split())
BLOCKS, PAGE_SIZE, WIDTH = SPEC.scored.extents
BYTES = ITEMSIZE[SPEC.scored.dtype]
PAGE = PAGE_SIZE * WIDTH  # elements


@pytest.mark.parametrize(
    "said",
    [
        f"**blocks** of {PAGE_SIZE} tokens, {PAGE:,} elements each in the scored case",
        f"An entry of the table has 4 bytes, next to the {PAGE * BYTES:,} bytes of a page",
        f": {4 / (PAGE * BYTES):.2%}. ".replace("%", " %"),
        f"A length serves {BLOCKS} blocks",
        f"one stretch of {PAGE * BYTES // 32} such pieces",
        f"A page of {PAGE:,} elements overflows {2**31 - 1:,} from page {2**31 // PAGE:,} on",
        f"a pool of {2**31 * BYTES / 1e9:.1f} GB in bfloat16",
        f"loads the whole page reads it {PAGE_SIZE} times",
        f"has three sequences of up to {math.prod(SPEC.counted.shape[1:3])} tokens",
    ],
)
def test_a_number_follows_from_the_scored_case(said: str):
    assert said in LESSON


@pytest.mark.slow
def test_about_eight_of_ten_elements_belong_to_a_token():
    assert "about eight of ten elements belong to a token" in LESSON
    size = scored_case(SPEC, 64).elements * BYTES
    sizes = {"pages": size, "table": 64 * BLOCKS * 4, "lengths": 64 * 4, "out": size}
    assert usually_needed(SPEC, sizes)["pages"] / size == pytest.approx(0.8, abs=0.05)


def test_the_longest_token_of_an_edge_is_named():
    told = re.search(r"pages of 1 to (\d+) tokens, tokens of 1 to ([\d,]+) elements", LESSON)
    assert told is not None
    assert int(told[1]) == max(case.shape[2] for case in SPEC.edges)
    assert int(told[2].replace(",", "")) == max(case.shape[3] for case in SPEC.edges)


# -- docs/gathers.md

PAGE_OF_GATHERS = (ROOT / "docs" / "gathers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rows", [[2, 0, 2, 3], [1]], ids=["some, one twice", "an empty one"])
def test_rows_of_gives_the_inputs_of_these_rows(rows: list[int]):
    """The page's function and the spec's: the reference of what they return has these rows."""
    code = re.search(r"```python\n(.*?)```", PAGE_OF_GATHERS, re.DOTALL)
    assert code is not None
    shown: dict = {}
    exec(code[1], shown)  # a function of ours
    case = Case((5, 3, 4, 7), "float32", pad=2)
    inputs = SPEC.inputs(case, CaseDraw(case))
    chosen = torch.tensor(rows)
    expected = SPEC.reference(inputs)["out"][chosen]
    for function in (SPEC.rows_of, shown["rows_of"]):
        known = function(inputs, chosen)
        assert torch.equal(SPEC.reference(known)["out"], expected)
        assert torch.equal(known["table"] == -1, inputs["table"][chosen] == -1)


def test_the_page_has_the_margin_of_the_traffic_step():
    assert f"margin of {SLACK - 1:.0%}".replace("%", " %") in " ".join(PAGE_OF_GATHERS.split())
