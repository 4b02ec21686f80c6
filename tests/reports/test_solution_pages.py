"""Pages of published solutions in a real browser: headless Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import publications
import pytest
from browsing import Opener, axe_faults, launched
from publications import counted, lines, result

from grader import cli

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

PAGES = (
    "index.html",
    "01_double/index.html",  # with all that can be told
    "02_row_sum/index.html",  # with nothing measured
    "p01_transpose/index.html",  # a puzzle, with counts
)


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A publication of the small course."""
    scratch = tmp_path_factory.mktemp("publication")
    root = publications.make(scratch)
    (scratch / "results.jsonl").write_text(lines(result(root), counted(root)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_COURSE", str(root))
        code = cli.main(
            [
                *("solutions", "publish", "--out", str(scratch / "out")),
                *("--results", str(scratch / "results.jsonl")),
            ]
        )
        assert code == 0
        soon = ["--out", str(scratch / "soon"), "--when", "after:2999-12-31"]
        assert cli.main(["solutions", "publish", *soon]) == 0
    return scratch / "out"


@pytest.fixture
def show(browser: playwright.Browser, folder: Path) -> Iterator:
    """Opens a page; at the end none may have complained, or asked for anything but a page."""
    opener = Opener(browser, folder)
    yield opener
    pages = opener.closed()
    assert [url for url in pages if not url.startswith(folder.parent.as_uri())] == []
    assert {Path(url).name for url in pages} == {"index.html"}, "a page ships what it shows"


@pytest.mark.parametrize(
    ("name", "scheme"),
    # One page of each kind in the dark: all have the same colours.
    [(name, "light") for name in (*PAGES, "../soon/index.html")] + [(n, "dark") for n in PAGES[:2]],
)
def test_axe_finds_no_fault(show, name: str, scheme: str):
    page = show(name, color_scheme=scheme, reduced_motion="reduce")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert axe_faults(page) == []


@pytest.mark.parametrize("name", [*PAGES, "../soon/index.html"])
def test_a_phone_shows_it_without_scrolling_sideways(show, name: str):
    page = show(name, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_index_leads_to_each_solution_and_back(show):
    page = show("index.html")
    assert page.locator(".list a").count() == 3
    for title in ("Double", "Row sum", "Transpose"):
        page.get_by_role("link", name=title).click()
        assert page.locator("h1").inner_text() == title
        page.get_by_role("link", name="all solutions").click()
        assert page.locator("h1").inner_text() == "Solutions"


def test_pages_lead_on_in_the_order_of_the_course(show):
    page = show("p01_transpose/index.html")
    titles = [page.locator("h1").inner_text()]
    while page.locator("[rel=next]").count():
        page.locator("[rel=next]").click()
        titles.append(page.locator("h1").inner_text())
    assert titles == ["Transpose", "Double", "Row sum"]
    page.locator("[rel=prev]").click()
    assert page.locator("h1").inner_text() == "Double"


def test_every_link_of_a_page_leads_to_a_file(folder: Path, show):
    for name in PAGES:
        page = show(name)
        links = page.locator("a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
        for link in links:
            if link.startswith("#"):
                assert page.locator(link).count() == 1
            elif not link.startswith("https://example.org/"):
                assert (folder / name).parent.joinpath(link).is_file(), link


def test_the_keyboard_reaches_parts_code_and_mistakes(show):
    page = show("01_double/index.html")
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(one => one.ariaLabel || one.innerText)(document.activeElement)")
        )
    assert reached[:6] == [
        "A small course: all solutions",
        *("Commentary", "Solution", "Figures", "Mistakes"),
        "the lesson",
    ]
    assert "Source of the solution" in reached
    mistake = next(n for n, text in enumerate(reached) if text.startswith("Leaves out the mask"))
    page = show("01_double/index.html")
    for _ in range(mistake + 1):
        page.keyboard.press("Tab")
    assert page.locator("ins").nth(1).is_hidden()
    page.keyboard.press("Enter")
    assert (
        page.locator(".diff ins").first.inner_text().strip() == "+    x = tl.load(x_ptr + offsets)"
    )
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == ("Differences in wrong_no_mask.py")


def test_pictures_are_shown_with_their_words(show):
    page = show("01_double/index.html")
    for picture in page.locator("figure img").all():
        assert picture.evaluate("one => one.complete && one.naturalWidth > 300")
        assert len(picture.get_attribute("alt")) > 40
    assert page.locator("figure").count() == 2
    assert show("p01_transpose/index.html").locator("figcaption").all_inner_texts() == [
        "Counted reads and writes",
        "Counts against their budgets",
    ]


def test_lines_are_numbered_and_those_to_be_written_are_marked(show):
    page = show("01_double/index.html")
    source = page.locator("#solution li").all_inner_texts()
    assert source[0] == '"""Twice a vector."""'
    marked = [text.strip() for text in page.locator("#solution li.asked").all_inner_texts()]
    assert len(marked) == 9
    assert marked[0].startswith("# BEGIN SOLUTION")
    assert "inside = offsets < n" in marked
    plain, tinted = (
        page.locator(f"#solution li{which}").first.evaluate(
            "one => getComputedStyle(one).backgroundColor"
        )
        for which in (":not(.asked)", ".asked")
    )
    assert plain != tinted


def test_before_the_day_a_page_says_when(show):
    page = show("../soon/index.html")
    assert "They come on 31 December 2999, at 0:00 UTC." in page.locator("body").inner_text()
    assert page.locator("a").count() == 0
