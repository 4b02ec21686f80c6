"""A learner's pages in a real browser: headless Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Opener, axe_faults, launched
from learners_results import WRONG, complete
from traces import missing_mask

from grader import cli
from grader.course import history, progress

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SMALL = Path(__file__).parents[1] / "courses" / "small"
PAGES = ("index.html", "01_double.html", "02_row_sum.html")  # all figures, and a picture


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a course in which one exercise passed and another failed."""
    root = Path(shutil.copytree(SMALL, tmp_path_factory.mktemp("learner") / "course"))
    first = WRONG.model_copy(update={"exercise": "01_double", "title": "Double"})
    for result in (first, complete(), WRONG):
        progress.record(root, result)
    picture = missing_mask().model_copy(update={"exercise": WRONG.exercise})
    history.keep_picture(root / progress.STATE, picture)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_COURSE", str(root))
        assert cli.main(["report"]) == 0
    return root / progress.STATE / "report"


@pytest.fixture
def show(browser: playwright.Browser, folder: Path) -> Iterator:
    """Opens a page; at the end none may have complained, or asked for anything but a page."""
    opener = Opener(browser, folder)
    yield opener
    asked = opener.closed()
    assert [url for url in asked if not url.startswith(folder.as_uri())] == []
    assert {Path(url).suffix for url in asked} == {".html"}, "a page holds what it shows"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_fault(show, name: str, scheme: str):
    assert axe_faults(show(name, color_scheme=scheme)) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_it_without_scrolling_sideways(show, name: str):
    page = show(name, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_course_leads_to_each_page_and_back(show):
    page = show("index.html")
    assert page.locator(".list a").count() == 2
    for title in ("Double", "Row sum"):
        page.get_by_role("link", name=title).click()
        assert page.locator("h1").inner_text() == title
        page.get_by_role("link", name="where you stand").click()
        assert page.locator("h1").inner_text() == "Where you stand"


def test_pictures_are_drawn(show):
    page = show("01_double.html")
    titles = page.locator("figcaption").all_inner_texts()
    assert {"Roofline", "Share over sizes", "Memory beyond the arguments"} <= set(titles)
    assert "Memory over one call, 8 elements of float32" in titles
    assert "Points of each check" in titles
    for picture in page.locator("figure img").all():
        assert picture.evaluate("one => one.complete && one.naturalWidth > 300")


def test_the_failing_case_is_drawn_with_what_is_wrong_in_a_colour_of_its_own(show):
    page = show("02_row_sum.html")
    drawing = page.get_by_role("region", name="Drawing of the failing case")
    wrong, plain = (
        drawing.locator(which).first.evaluate("one => getComputedStyle(one).color")
        for which in (".bad", "pre")
    )
    assert wrong != plain
