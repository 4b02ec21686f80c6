"""The leaderboard's pages in a real browser: headless Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import sites
from browsing import Opened, launched

from grader.classroom.board import rank
from grader.classroom.board.rank import Span
from grader.reports.board import pages

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
KINDS = ("index", "exercise", "student")
PEOPLE = ".board:not(.tasks)"


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with launched() as browser:
        yield browser


@cache
def made(name: str) -> dict[str, str]:
    return pages(sites.ALL[name]())


def file_of(name: str, kind: str) -> str:
    """The file of a page: of the class, its first exercise, its first student."""
    folder = {"exercise": "exercises/", "student": "students/"}.get(kind, kind)
    return next(file for file in made(name) if file.startswith(folder))


class Shown(Opened):
    """A page of a leaderboard in the browser."""

    def names(self, table: str = PEOPLE) -> list[str]:
        """Of the rows that are shown, in their order."""
        return self.column("who", table)

    def column(self, cell: str, table: str = PEOPLE) -> list[str]:
        # Not the inner text, of which rows that are out of sight have none.
        texts = self(f"{table} tbody tr:not([hidden]) .{cell}").all_text_contents()
        return [" ".join(text.split()) for text in texts]

    def keys(self, cell: str, table: str = PEOPLE) -> list[float]:
        """What a column is sorted by, without the rows that have nothing in it."""
        texts = self(f"{table} tbody tr:not([hidden]) .{cell}").evaluate_all(
            "all => all.map(one => one.dataset.v)"
        )
        assert None not in texts[: sum(text is not None for text in texts)], "gaps lie at the end"
        return [float(text) for text in texts if text is not None]

    def head(self, name: str, table: str = PEOPLE) -> playwright.Locator:
        return self(f"{table} thead").get_by_role("button", name=name, exact=True)

    def sorted_by(self, table: str = PEOPLE) -> list[tuple[str, str]]:
        return [
            (" ".join(head.inner_text().split()), head.get_attribute("aria-sort"))
            for head in self(f"{table} thead [aria-sort]").all()
        ]

    def said(self) -> str:
        return self("#status").inner_text()

    def write(self, text: str) -> None:
        self.page.get_by_label("Find by name").fill(text)

    def choose(self, gpu: str) -> None:
        self.page.get_by_label("GPU").select_option(gpu)


@pytest.fixture
def show(browser: playwright.Browser, tmp_path: Path) -> Iterator:
    """Opens a page; at the end none may have failed or asked for anything but itself."""
    opened: list[tuple[Shown, Path]] = []

    def open_(name: str, kind: str = "index", **options: object) -> Shown:
        for file, text in made(name).items():
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(text, encoding="utf-8")
        file = tmp_path / file_of(name, kind)
        opened.append((Shown(browser, file, **(DESKTOP | options)), file))
        return opened[-1][0]

    yield open_
    for shown, file in opened:
        errors, requests = shown.errors, shown.requests
        shown.context.close()
        assert errors == []
        assert set(requests) == {file.as_uri()}


# -- sorting


@pytest.mark.parametrize(
    ("name", "cell", "first"),
    [
        ("Share", "share", "descending"),
        ("Bandwidth, GB/s", "rate", "descending"),
        ("Time, ms", "time", "ascending"),
        ("Who", "who", "ascending"),
        ("Attempts", "tries", "ascending"),
        ("Handed in", "when", "descending"),
        ("GPU", "gpu", "ascending"),
    ],
)
def test_a_click_sorts_and_another_turns_it_round(show, name: str, cell: str, first: str):
    shown = show("class_of_40", "exercise")
    before = sorted(shown.names(".exercise"))
    assert shown.sorted_by(".exercise") == [("Rank", "ascending")]
    other = "ascending" if first == "descending" else "descending"
    for direction in (first, other, first):
        shown.head(name, ".exercise").click()
        assert shown.sorted_by(".exercise") == [(name, direction)]
        keys = shown.keys(cell, ".exercise")
        assert keys == sorted(keys, reverse=direction == "descending")
        assert len(set(keys)) > 1
        assert shown.said().startswith(f"Sorted by {name}, {direction}.")
    assert sorted(shown.names(".exercise")) == before


def test_sorting_by_rank_brings_back_the_order_of_the_page(show):
    shown = show("class_of_40", "exercise")
    before = shown.names(".exercise")
    shown.head("Who", ".exercise").click()
    assert shown.names(".exercise") != before
    shown.head("Rank", ".exercise").click()
    assert shown.names(".exercise") == before


def test_each_exercise_of_the_overall_board_sorts(show):
    shown = show("class_of_40")
    shown.head("01 Vector add").click()
    assert shown.sorted_by() == [("01 Vector add", "descending")]
    assert shown.said() == "Sorted by 01 Vector add, descending. 40 rows."
    figures = shown(".overall tbody tr td:nth-of-type(4)").all_text_contents()
    known = [int(figure) for figure in figures if figure != "–"]
    assert known == sorted(known, reverse=True)
    assert figures[len(known) :] == ["–"]


def test_the_keyboard_reaches_everything_and_sorts(show):
    shown = show("class_of_40", "exercise")
    press = shown.page.keyboard.press
    focused = "document.activeElement.textContent.trim() || document.activeElement.id"
    press("Tab")
    assert shown.page.evaluate(focused) == "Skip to the content"
    assert shown(".skip").bounding_box()["y"] >= 0
    press("Enter")
    assert shown.page.evaluate(focused) != "Skip to the content"
    seen = []
    for _ in range(14):
        press("Tab")
        seen.append(shown.page.evaluate(focused))
    assert [name for name in seen if name in ("find", "baselines", "Rank", "Who", "Share")] == [
        *("find", "baselines", "Rank", "Who", "Share")
    ]
    shown.head("Share", ".exercise").focus()
    press("Enter")
    assert shown.sorted_by(".exercise") == [("Share", "descending")]
    press("Space")
    assert shown.sorted_by(".exercise") == [("Share", "ascending")]
    assert shown.page.evaluate(focused) == "Share"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert shown.page.evaluate(outline) == "solid"


# -- narrowing down


def test_a_gpu_leaves_its_rows_and_shows_their_places_beside_the_ranks(show):
    shown = show("class_of_40", "exercise")
    every = shown("tbody tr").count()
    ranks = dict(zip(shown.names(".exercise"), shown.column("rank", ".exercise"), strict=True))
    assert shown("th.place").is_hidden()
    shown.page.get_by_label("GPU").focus()
    shown.page.keyboard.type("H2")  # a native list goes to what is typed
    assert shown.page.get_by_label("GPU").input_value() != ""
    baselines = shown(".exercise tbody tr.baseline:not([hidden])").count()
    assert baselines == shown(".exercise tbody tr.baseline").count(), "they are of all GPUs"
    assert set(shown.column("gpu", ".exercise")) == {"H200", "–"}
    students = shown(".exercise tbody tr[data-low]:not([hidden])")
    assert shown("th.place").is_visible()
    spans = students.evaluate_all("all => all.map(one => [one.dataset.low, one.dataset.high])")
    spans = [Span(float(low), float(low), float(high)) for low, high in spans]
    told = [f"{place}{' ≈' if close else ''}" for place, close in rank.places(spans)]
    assert students.locator(".place").all_text_contents() == told
    assert {mark.endswith("≈") for mark in told} == {True, False}
    for name, text in zip(shown.names(".exercise"), shown.column("rank", ".exercise"), strict=True):
        assert text == ranks[name]
    count = len(shown.names(".exercise")) + len(shown.names(".others"))
    assert shown.said() == f"{count} of {every} rows."
    shown.choose("All GPUs")
    assert shown("th.place").is_hidden()
    assert shown.said() == f"{every} rows."


def test_the_overall_board_is_filtered_by_the_gpus_that_a_student_used(show):
    shown = show("class_of_40")
    site = sites.class_of_40()
    shown.choose("H200")
    assert shown.names() == [one.who for one in site.standings if "NVIDIA H200" in one.gpus]
    assert shown.column("place")[0].startswith("1")


def test_a_name_is_found_without_regard_to_case_and_marks(show):
    shown = show("hostile")
    shown.write("NAIVE")
    assert shown.names() == [" ".join(sites.HOSTILE[7].split())]
    assert shown.said() == "1 of 12 rows."
    shown.write("שלום")
    assert len(shown.names()) == 1
    shown.write("<script>")
    assert shown.names() == ["<script>alert(1)</script>"]
    shown.write("nobody at all")
    assert shown.names() == []
    assert shown.said() == "No row fits."
    shown.write("")
    assert len(shown.names()) == 12


def test_the_exercises_sort_and_stay_whatever_is_searched(show):
    shown = show("without_gpu")
    tasks = shown(".tasks tbody tr").count()
    shown.write("nobody at all")
    assert shown(".tasks tbody tr:not([hidden])").count() == tasks
    assert shown.said() == "No row fits."
    shown.head("Solved", ".tasks").click()
    assert shown.sorted_by(".tasks") == [("Solved", "descending")]
    solved = shown.keys("share", ".tasks")
    assert solved == sorted(solved, reverse=True)


def test_name_and_gpu_narrow_down_together_and_enter_leaves_the_page_as_it_is(show):
    shown = show("class_of_40", "exercise")
    shown.choose("H200")
    both = [name for name in shown.names(".exercise") if "calm" in name]
    shown.write("calm")
    assert shown.names(".exercise") == both
    shown.page.keyboard.press("Enter")
    assert shown.names(".exercise") == both
    shown.head("Share", ".exercise").click()
    assert sorted(shown.names(".exercise")) == sorted(both)


def test_baselines_can_be_left_out(show):
    shown = show("small", "exercise")
    assert "torch eager" in shown.names(".exercise")
    shown.page.get_by_label("Baselines").uncheck()
    assert not {"torch eager", "model solution"} & set(shown.names(".exercise"))
    assert shown.names(".exercise")
    shown.page.get_by_label("Baselines").check()
    assert "torch eager" in shown.names(".exercise")


def test_a_student_s_attempts_are_filtered_by_exercise(show):
    shown = show("small", "student")
    every = len(shown.names())
    shown.page.get_by_label("Exercise").select_option("Dot product")
    assert set(shown.names()) == {"Dot product"}
    assert shown.said() == f"{len(shown.names())} of {every} rows."
    shown.head("Share").click()
    assert shown.keys("share") == sorted(shown.keys("share"), reverse=True)


# -- the plot


def test_a_point_names_its_row_and_a_row_lights_its_point(show):
    shown = show("class_of_40", "exercise")
    row = shown(".exercise tbody tr[data-low]").first
    name = row.locator("th").inner_text()
    number = row.get_attribute("id")[1:]
    shown(f'.plot [data-row="{number}"]').hover()
    share = row.locator(".share b").inner_text()
    assert shown("#readout").inner_text().startswith(f"{name}: {share} (")
    assert "lit" in row.get_attribute("class")
    shown("h1").hover()
    assert shown("#readout").inner_text().strip() == ""
    row.locator("a").focus()
    assert "lit" in shown(f'.plot [data-row="{number}"]').get_attribute("class")


def test_what_a_filter_hides_is_dim_in_the_plot(show):
    shown = show("class_of_40", "exercise")
    shown.choose("H200")
    hidden = shown(".exercise tbody tr[data-low][hidden]").count()
    assert shown(".plot g.dim").count() == hidden > 0
    assert shown(".plot .baseline:not(.dim)").count() == 3
    shown.choose("All GPUs")
    assert shown(".plot .dim").count() == 0


# -- the theme


def paper(shown: Shown) -> str:
    return shown.page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_theme_follows_the_system_until_a_reader_chooses_one(show):
    shown = show("small", color_scheme="dark")
    button = shown("#theme")
    dark = paper(shown)
    assert button.get_attribute("aria-pressed") == "true"
    shown.page.emulate_media(color_scheme="light")
    playwright.expect(button).to_have_attribute("aria-pressed", "false")
    light = paper(shown)
    assert light != dark
    button.click()
    assert (paper(shown), button.get_attribute("aria-pressed")) == (dark, "true")
    # A busy Chromium hands what a page keeps to its next process a moment later.
    for _ in range(20):
        shown.page.reload()
        if button.get_attribute("aria-pressed") == "true":
            break
        shown.page.wait_for_timeout(250)
    assert (paper(shown), button.get_attribute("aria-pressed")) == (dark, "true")
    button.click()
    assert paper(shown) == light


def test_a_browser_that_keeps_nothing_still_turns_dark(show):
    shown = show("small")
    shown.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused') } })"
    )
    shown.page.reload()
    light = paper(shown)
    shown("#theme").click()
    assert paper(shown) != light


# -- without what is usual


@pytest.mark.parametrize("kind", KINDS)
def test_without_javascript_the_tables_stand_there_sorted(show, kind: str):
    shown = show("class_of_40", kind, java_script_enabled=False)
    assert shown("table").first.is_visible()
    assert shown(".controls").count() == 0 or shown(".controls").first.is_hidden()
    assert shown("#theme").is_hidden()
    assert shown("thead button").count() == 0
    if kind == "index":
        assert shown.names() == [one.who for one in sites.class_of_40().standings]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["nothing", "no_boards", "alone", "without_gpu", "small", "hostile"]
)
@pytest.mark.parametrize("width", [360, 800])
def test_no_page_scrolls_sideways(show, name: str, kind: str, width: int):
    if kind not in "".join(made(name)):
        pytest.skip("this class has no such page")
    phone = {"viewport": {"width": width, "height": 740}, "is_mobile": True, "has_touch": True}
    shown = show(name, kind, **phone)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width


def test_cards_of_a_phone_are_still_a_table_that_sorts(show):
    shown = show("class_of_40", "exercise", **PHONE)
    rows = shown.page.get_by_role("table").first.get_by_role("row")
    assert rows.count() == shown(".exercise tr").count()
    assert rows.nth(1).get_by_role("rowheader").count() == 1
    # Said in so many words, for browsers that take a box for no row.
    parts = ["table", "tbody", "tbody tr", "tbody th", "tbody td", "thead th"]
    roles = [shown(f".exercise {part}".replace(".exercise table", ".exercise")) for part in parts]
    assert [role.first.get_attribute("role") for role in roles] == [
        *("table", "rowgroup", "row", "rowheader", "cell", "columnheader")
    ]
    shown.head("Time, ms", ".exercise").tap()
    keys = shown.keys("time", ".exercise")
    assert keys == sorted(keys)
    text = rows.nth(1).inner_text()
    assert "GB/s" not in text  # which the style adds, so that copied figures stay figures


def test_who_wants_less_motion_gets_none(show):
    moves = "getComputedStyle(document.querySelector('.plot g')).transitionDuration"
    assert show("small", "exercise", reduced_motion="reduce").page.evaluate(moves) == "0s"


def test_on_paper_the_controls_are_gone_and_the_table_is_dark_on_light(show):
    shown = show("class_of_40", color_scheme="dark")
    shown.page.emulate_media(media="print")
    assert shown(".controls").is_hidden()
    assert shown("#theme").is_hidden()
    assert shown("table.overall").is_visible()
    assert paper(shown) == "rgb(251, 251, 249)"


def test_hostile_text_runs_nothing(show):
    for kind in KINDS:
        shown = show("hostile", kind)
        assert shown("img").count() == 0
        assert shown("script").count() == 1
    shown = show("hostile")
    shown.head("Who").click()
    shown.write("alert")
    assert "<script>alert(1)</script>" in shown.names()


@pytest.mark.parametrize(
    ("scheme", "device"), [("light", DESKTOP), ("dark", PHONE)], ids=["desktop", "phone"]
)
@pytest.mark.parametrize(
    ("name", "kind"), [("class_of_40", "index"), ("small", "exercise"), ("small", "student")]
)
def test_axe_finds_no_fault(show, name: str, kind: str, scheme: str, device: dict):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    shown = show(name, kind, color_scheme=scheme, reduced_motion="reduce", **device)
    found = axe.Axe().run(shown.page).response["violations"]
    assert [
        (each["id"], each["impact"], each["nodes"][0]["html"][:200], each["nodes"][0].get("any"))
        for each in found
    ] == []
