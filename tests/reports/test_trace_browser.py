"""The page of accesses in a real browser: headless Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import traces
from browsing import Opened, launched

from grader.model.trace import Trace
from grader.reports.trace_html import page as page_of

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with launched() as browser:
        yield browser


class Shown(Opened):
    """A page of accesses in the browser."""

    def cell(self, at: str) -> playwright.Locator:
        return self.page.locator(f'.cell[aria-label^="{at}:"]')

    def thread(self, name: str) -> playwright.Locator:
        return self.page.locator(f'.thread[aria-label^="{name}:"]')

    def said(self) -> list[str]:
        """The lines of the readout."""
        return [line for line in self("#readout").inner_text().split("\n") if line]

    def lit(self) -> list[str]:
        """What is lit up: elements and threads, by name."""
        labels = self(".lit").evaluate_all("all => all.map(one => one.ariaLabel)")
        return sorted(label.partition(":")[0] for label in labels)

    def lit_lines(self) -> list[str]:
        return [text.strip() for text in self(".lit-line").all_inner_texts()]


@pytest.fixture
def show(browser: playwright.Browser, tmp_path: Path) -> Iterator:
    """Opens a trace; at the end no page may have failed or asked for anything but itself."""
    opened: list[Shown] = []

    def open_(trace: Trace, **options: object) -> Shown:
        file = tmp_path / "trace.html"
        file.write_text(page_of(trace), encoding="utf-8")
        opened.append(Shown(browser, file, **options))
        return opened[-1]

    yield open_
    for one in opened:
        errors, requests = one.errors, one.requests
        one.context.close()
        assert errors == []
        assert requests == [(tmp_path / "trace.html").as_uri()]


def test_the_slider_moves_through_the_steps(show):
    shown = show(traces.two_steps())
    assert shown("#title").inner_text() == "Part 1 of 2, before the barrier"
    assert shown.cell("out[0]").get_attribute("aria-label") == "out[0]: not touched"
    shown("#time").focus()
    shown.page.keyboard.press("ArrowRight")
    assert shown("#title").inner_text() == "Part 2 of 2, after the barrier"
    assert shown.cell("out[0]").get_attribute("aria-label") == "out[0]: thread 0 of block 0 writes"
    assert shown.cell("a[0]").get_attribute("aria-label") == "a[0]: not touched"
    shown.page.keyboard.press("End")
    assert shown("#title").inner_text() == "All 2 parts together"
    assert shown("#time").get_attribute("aria-valuetext") == "All 2 parts together"
    assert shown("#forth").is_disabled()
    shown("#back").click()
    assert shown("#title").inner_text() == "Part 2 of 2, after the barrier"


def test_it_plays_to_the_end_and_stops_there(show):
    shown = show(traces.two_steps())
    shown.page.clock.install()
    shown("#play").click()
    assert shown("#play").inner_text().endswith("Pause")
    shown.page.clock.run_for(10_000)
    assert shown("#title").inner_text() == "All 2 parts together"
    assert shown("#play").inner_text().endswith("Play")


def test_hovering_an_element_names_thread_block_kind_and_line(show):
    shown = show(traces.two_steps())
    shown.cell("a[5]").hover()
    assert shown.said() == ["a[5]", "thread 1 of block 1 reads · line 9"]
    assert shown.lit() == ["a[5]", "thread 1 of block 1"]
    assert shown.lit_lines() == ["tile[i] = a[start + i]"]
    shown("h1").hover()
    assert shown.said()[0].startswith("Point at an element or a thread")
    assert shown.lit() == []
    assert shown.lit_lines() == []


def test_hovering_a_thread_lights_up_what_it_touches(show):
    shown = show(traces.two_steps())
    shown.page.locator("#time").press("End")
    shown.thread("thread 0 of block 1").hover()
    assert shown.said() == [
        "thread 0 of block 1",
        "reads a[4] · line 9",
        "writes tile[0] · line 9",
        "reads tile[3] · line 11",
        "writes out[4] · line 11",
    ]
    assert shown.lit() == ["a[4]", "out[4]", "thread 0 of block 1", "tile[0]", "tile[3]"]
    assert shown.lit_lines() == ["tile[i] = a[start + i]", "out[start + i] = tile[3 - i]"]
    # The tiles of both blocks have the same names.
    lit_in = "[aria-label='tile, shared memory of block {}'] .lit"
    for block, other in ((1, 0), (0, 1)):
        shown.thread(f"thread 0 of block {block}").hover()
        assert shown(lit_in.format(block)).count() == 2
        assert shown(lit_in.format(other)).count() == 0


def test_arrow_keys_move_among_elements_and_the_readout_follows(show):
    shown = show(traces.swapped())
    shown.cell("out[0, 0]").focus()
    shown.page.keyboard.press("ArrowRight")
    assert shown.said()[:2] == ["out[0, 1]", "is 3.0 and should be 1.0"]
    shown.page.keyboard.press("ArrowDown")
    assert shown.said()[0].startswith("out[1, 1]")
    shown.page.keyboard.press("End")
    assert shown.said()[:2] == ["out[1, 2]", "never written"]
    shown.page.keyboard.press("ArrowUp")
    assert shown.said()[0].startswith("out[0, 2]")
    # One stop for the Tab key in each array.
    assert shown('.array .cell[tabindex="0"]').count() == 2


def test_a_click_keeps_an_element_and_escape_lets_it_go(show):
    shown = show(traces.two_steps())
    shown.cell("a[0]").click()
    shown("h1").hover()
    shown("#time").focus()
    assert shown.said()[0].startswith("a[0]")
    shown.page.keyboard.press("ArrowRight")
    assert shown.said() == ["a[0]", "no thread touches it here"]
    shown.page.keyboard.press("Escape")
    assert shown.said()[0].startswith("Point at")


def test_what_went_wrong_is_marked_listed_and_leads_to_its_place(show):
    shown = show(traces.missing_barrier())
    assert shown('.badge:text-is("!")').count() == 4
    assert shown('.badge:text-is("?")').count() == 4
    problem = shown(".problem").first
    assert problem.inner_text() == (
        "thread 2 of block 0 reads tile[1], which thread 1 of block 0 writes in line 9; "
        "no barrier lies between them: line 10"
    )
    problem.click()
    assert shown.said() == [
        "tile[1] of block 0",
        "a race: two threads touch this element and nothing orders them",
        "thread 1 of block 0 writes · line 9",
        "thread 2 of block 0 reads · line 10",
    ]
    assert shown("#time").is_hidden()


def test_a_page_begins_at_the_step_that_went_wrong(show):
    one = traces.two_steps()
    late = one.accesses[-1]
    faulty = late.model_copy(update={"element": None, "index": (8,), "fault": "out_of_bounds"})
    shown = show(one.model_copy(update={"accesses": (*one.accesses[:-1], faulty)}))
    assert shown("#title").inner_text() == "Part 2 of 2, after the barrier"
    ghost = shown.cell("out[8]")
    assert ghost.inner_text().split("\n")[-1] == "»"
    shown("#back").click()
    assert ghost.is_hidden()


@pytest.mark.parametrize("name", ["missing_guard", "outside_a_table"])
def test_what_lies_outside_of_an_array_stands_beside_it(show, name: str):
    shown = show(traces.ALL[name]())
    outside = [each for each in traces.ALL[name]().accesses if each.element is None]
    assert shown(".ghost:visible").count() == len(outside)
    shown(".ghost").first.hover()
    assert shown.said()[1] == "outside the array"


def test_missing_and_wrong_elements_are_marked(show):
    shown = show(traces.swapped())
    assert [
        shown.cell(f"out[{at}]").locator(".badge").inner_text() for at in ("0, 1", "1, 0", "0, 2")
    ] == ["✘", "✘", "○"]
    assert shown.cell("out[0, 0]").locator(".badge").count() == 0


def in_a_box(*threads: dict) -> Trace:
    """A trace in which these touch a[0]."""
    one = traces.good_map()
    first = one.accesses[0]
    accesses = tuple(first.model_copy(update=each) for each in threads)
    return one.model_copy(update={"accesses": accesses})


def test_two_threads_of_one_element_are_both_named(show):
    shown = show(in_a_box({"thread": 3}, {"thread": 0}))
    assert shown.cell("a[0]").inner_text().split() == ["R", "0", "&", "3", "0"], "and the value"
    assert shown(".legend :text('and others')").count() == 0


def test_of_more_threads_the_one_at_fault_is_named(show):
    shown = show(in_a_box({"thread": 0}, {"thread": 3}, {"thread": 2, "fault": "race"}))
    assert shown.cell("a[0]").inner_text().split() == ["R", "2", "…", "0", "!"]
    assert shown(".legend li").all_inner_texts()[2].endswith("thread 3 and others")


def test_two_launches_have_their_own_threads(show):
    shown = show(traces.many())
    assert shown(".block").count() == 3
    shown("#forth").click()
    assert shown("#about").inner_text() == "Launch 2 of 2: sum_kernel, 2 blocks of 4 threads"
    assert shown(".block").count() == 2
    shown.cell("total[0]").hover()
    assert len(shown.lit()) == 1 + 8


def test_kinds_differ_in_shape_and_letter_and_not_in_colour_only(show):
    shown = show(traces.many())
    style = "one => (s => [s.borderRadius, s.borderStyle])(getComputedStyle(one))"
    read, write = (shown.cell(at) for at in ("a[0]", "out[0, 0]"))
    looks = [each.evaluate(style) for each in (read, write)]
    letters = [each.locator("i").inner_text() for each in (read, write)]
    shown("#forth").click()
    update = shown.cell("total[0]")
    looks.append(update.evaluate(style))
    letters.append(update.locator("i").inner_text())
    assert letters == ["R", "W", "U"]
    assert len({tuple(look) for look in looks}) == 3


def test_a_hostile_kernel_runs_nothing(show):
    shown = show(traces.hostile())
    assert shown("img").count() == 0
    assert traces.hostile().source[0] in shown("#source").inner_text()
    shown(".cell").nth(-1).hover()
    shown(".thread").hover()
    assert "onerror" in "".join(shown.said())


@pytest.mark.parametrize("name", traces.ALL)
def test_a_phone_shows_it_without_scrolling_sideways(show, name: str):
    shown = show(
        traces.ALL[name](), viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_finger_on_an_element_names_the_thread(show):
    shown = show(
        traces.two_steps(), viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    shown.cell("a[2]").tap()
    assert shown.said() == ["a[2]", "thread 2 of block 0 reads · line 9"]
    assert shown("#readout").is_visible()


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("two_steps", "light"),
        ("missing_barrier", "light"),
        ("missing_barrier", "dark"),
        ("outside_a_table", "dark"),
    ],
)
def test_axe_finds_no_fault(show, name: str, scheme: str):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    # Not while a box grows, which is when its colours are in between.
    shown = show(traces.ALL[name](), color_scheme=scheme, reduced_motion="reduce")
    found = axe.Axe().run(shown.page).response["violations"]
    assert [
        (each["id"], each["impact"], each["nodes"][0]["html"][:200], each["nodes"][0].get("any"))
        for each in found
    ] == []


def test_the_slider_moves_through_programs_and_turns_of_their_loops(show):
    shown = show(traces.loop_over_blocks())
    assert shown("#title").inner_text() == "2 programs together", "out[1] is wrong at the end"
    shown("#time").focus()
    shown.page.keyboard.press("Home")
    assert shown("#title").inner_text() == "Program 0, turn 1 of 2 of the loop in line 9"
    assert shown.cell("x[0, 0]").get_attribute("aria-label") == (
        "x[0, 0]: lane 0 of program 0 reads"
    )
    shown.page.keyboard.press("ArrowRight")
    assert shown("#title").inner_text() == "Program 0, turn 2 of 2 of the loop in line 9"
    assert shown.cell("x[0, 0]").get_attribute("aria-label") == "x[0, 0]: not touched"
    assert "2 of 4 lanes are masked off: they get -inf" in shown("#threads").inner_text()
    assert "gives 0.25" in shown("#threads").inner_text()


def test_a_lane_leads_to_its_element_its_value_and_the_line_of_the_kernel(show):
    shown = show(traces.programs())
    shown.thread("lane 1 of program 0").first.hover()
    assert shown.said() == ["lane 1 of program 0", "reads x[1]: 1.5 · line 8"]
    assert shown.lit() == ["lane 1 of program 0", "x[1]"]
    assert shown.lit_lines() == ["x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)"]
    shown.cell("out[2]").hover()
    assert shown.said() == ["out[2]", "lane 2 of program 0 writes: 12.5 · line 9"]
    assert shown.lit_lines() == ["tl.store(out_ptr + offsets, x + 10, mask=offsets < n)"]


def test_a_masked_lane_touches_nothing(show):
    shown = show(traces.programs())
    shown("#time").focus()
    for _ in range(2):
        shown.page.keyboard.press("ArrowRight")
    shown.thread("lane 2 of program 2").first.hover()
    assert shown.said() == ["lane 2 of program 2", "masked off: it touches nothing"]
    assert len(shown.lit_lines()) == 1, "the line of the operation"


def test_what_an_error_kept_from_running_is_marked(show):
    shown = show(traces.missing_mask())
    assert shown("#title").inner_text() == "Program 2"
    assert shown(".act.never").all_inner_texts() == [
        "9  tl.store(out_ptr + offsets, x + 10, mask=offsets < n)\n\n⊘ never ran"
    ]
    threads = show(traces.missing_guard())
    never = threads(".thread.never").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert never == [f"thread {n} of block 2: never ran" for n in range(3)]
