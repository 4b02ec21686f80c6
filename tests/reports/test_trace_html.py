"""The page of accesses as text: whole in itself, safe from what a kernel says, readable colours.

What it does in a browser is in test_trace_browser.py.
"""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from itertools import combinations

import pytest
import traces

from grader.reports import trace_html
from grader.reports.trace_html import page

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", IEEE TVCG 15 (2009), table of the complete deficiencies (severity 1.0): to be
# multiplied with linear RGB.
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


class Elements(HTMLParser):
    """The start tags of a page with their attributes, and the text in its elements by tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.tags[-1][0] if self.tags else "", data))


@pytest.mark.parametrize("name", [*traces.ALL, "hostile"])
def test_a_page_names_nothing_outside_of_itself(name: str):
    text = page(getattr(traces, name)())
    for tag, attributes in Elements(text).tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "a"}
        assert not {"src", "href", "srcset", "action", "style"} & set(attributes)
        assert not [each for each in attributes if each.startswith("on")]
    assert not re.search(r"url\(|@import|https?:|\bfetch\(|XMLHttpRequest|\bimport\(", text)


def test_only_the_scripts_of_the_page_itself_may_run():
    tags = Elements(page(traces.hostile())).tags
    policy = next(a["content"] for tag, a in tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert [a.get("type") for tag, a in tags if tag == "script"] == ["application/json", None]


def test_markup_in_a_kernel_is_text():
    one = traces.hostile()
    elements = Elements(page(one))
    texts = "".join(text for _, text in elements.texts)
    assert one.source[0] in texts
    assert one.exercise in texts
    assert one.case in texts
    data = next(text for tag, text in elements.texts if tag == "script")
    assert not set("<>&'") & set(data)
    assert json.loads(data)["arrays"][0]["name"] == one.arrays[0].name


def test_what_stands_between_backticks_is_code():
    assert "Threads race for <code>tile</code>." in page(traces.missing_barrier())


def view(name: str) -> dict:
    elements = Elements(page(traces.ALL[name]()))
    return json.loads(next(text for tag, text in elements.texts if tag == "script"))


def test_the_frames_are_the_steps_and_then_all_of_them():
    assert [frame["title"] for frame in view("two_steps")["frames"]] == [
        "Part 1 of 2, before the barrier",
        "Part 2 of 2, after the barrier",
        "All 2 parts together",
    ]
    assert [frame["about"] for frame in view("many")["frames"]] == [
        "Launch 1 of 2: stride_kernel, 3 blocks of 4 threads",
        "Launch 2 of 2: sum_kernel, 2 blocks of 4 threads",
    ]


def test_the_arrays_stand_as_the_data_flows():
    seen = view("two_steps")
    assert [seen["arrays"][number]["name"] for number in seen["order"]] == ["a", "tile", "out"]
    one = traces.two_steps()
    backwards = one.model_copy(update={"accesses": one.accesses[::-1]})
    data = next(t for tag, t in Elements(page(backwards)).texts if tag == "script")
    seen = json.loads(data)
    assert [seen["arrays"][number]["name"] for number in seen["order"]] == ["a", "tile", "out"]


def test_a_wrong_element_names_the_access_that_wrote_it_last():
    one = traces.swapped()
    wrong = view("swapped")["arrays"][1]["wrong"]
    assert {element: one.accesses[each["by"]].element for element, each in wrong.items()} == {
        "1": 1,
        "3": 3,
    }


def test_of_a_large_array_a_part_is_drawn_and_what_is_wrong_is_in_it():
    one = traces.many()
    large = one.arrays[0].model_copy(update={"shape": (10_000,)})
    table = one.arrays[1].model_copy(update={"shape": (500, 400)})
    changed = one.model_copy(
        update={
            "arrays": (large, table, one.arrays[2]),
            "unwritten": {"a": (9_000,), "out": (499 * 400 + 399,)},
        }
    )
    data = next(t for tag, t in Elements(page(changed)).texts if tag == "script")
    first, second, _ = json.loads(data)["arrays"]
    assert len(first["cells"]) == trace_html.MOST_CELLS
    assert {"element": 9_000, "at": "a[9000]"} in first["cells"]
    assert len(second["cells"]) == trace_html.MOST_ROWS * trace_html.MOST_COLUMNS
    assert {"element": 499 * 400 + 399, "at": "out[499, 399]"} in second["cells"]


def test_of_many_blocks_those_with_a_fault_are_among_the_drawn():
    one = traces.missing_guard()
    launch = one.launches[0].model_copy(update={"grid": (10_000, 1, 1)})
    late = one.accesses[-1].model_copy(update={"block": 9_000})
    changed = one.model_copy(update={"launches": (launch,), "accesses": (late,)})
    data = next(t for tag, t in Elements(page(changed)).texts if tag == "script")
    drawn = json.loads(data)["launches"][0]
    assert 9_000 in drawn["drawn"]
    assert len(drawn["drawn"]) * 3 <= trace_html.MOST_THREADS
    assert drawn["leftOut"] == 10_000 - len(drawn["drawn"])


def linear(colour: str) -> list[float]:
    """sRGB such as `#56B4E9` to linear RGB, by IEC 61966-2-1."""
    values = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def seen_as(colour: str, vision: str) -> list[float]:
    rgb = linear(colour)
    return [
        min(max(sum(m * v for m, v in zip(row, rgb, strict=True)), 0), 1) for row in VISIONS[vision]
    ]


def lab(rgb: list[float]) -> tuple[float, float, float]:
    """Linear RGB to CIE L*a*b* with the white of D65."""
    to_xyz = (
        (0.4124, 0.3576, 0.1805),
        (0.2126, 0.7152, 0.0722),
        (0.0193, 0.1192, 0.9505),
    )
    white = (0.9505, 1.0, 1.089)
    x, y, z = (
        (lambda t: t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29)(
            sum(m * v for m, v in zip(row, rgb, strict=True)) / most
        )
        for row, most in zip(to_xyz, white, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", VISIONS)
def test_the_blocks_can_be_told_apart_with_any_colour_vision(vision: str):
    for (one, _), (other, _) in combinations(trace_html.BLOCKS, 2):
        apart = math.dist(lab(seen_as(one, vision)), lab(seen_as(other, vision)))
        # Some 2.3 can just be noticed between patches that touch; this is several times that.
        assert apart >= 15, f"{one} and {other} with {vision}: {apart:.1f}"


@pytest.mark.parametrize(("block", "ink"), trace_html.BLOCKS)
def test_the_number_on_a_block_can_be_read(block: str, ink: str):
    """The contrast that WCAG 2.2 asks of text, criterion 1.4.3."""

    def luminance(colour: str) -> float:
        return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))

    dark, light = sorted([luminance(block), luminance(ink)])
    assert (light + 0.05) / (dark + 0.05) >= 4.5
