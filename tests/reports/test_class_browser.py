"""The pages of a graded class in a real browser: feedback, overview, alike kernels."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import class_runs
import pytest
from browsing import Opener, axe_faults, launched

from grader import cli

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SMALL = Path(__file__).parents[1] / "courses" / "small"
HONEST = Path(__file__).parents[1] / "redteam" / "honest"
PAGES = (
    "feedback/ada.html",
    "feedback/eve.html",
    "overview/index.html",
    "overview/students/ada.html",
    "alike/index.html",
    "alike/pair-1.html",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages of a class of four, of whom two handed in the same kernel under other names."""
    root = tmp_path_factory.mktemp("class")
    course = Path(shutil.copytree(SMALL, root / "small"))
    results = class_runs.results(root / "results", class_runs.a_class())
    kernel = (HONEST / "01_vector_add" / "block_pointers.py").read_text()
    renamed = kernel.replace("x_ptr", "first").replace("offset", "at")
    for student, text in (("ada", kernel), ("bob", renamed)):
        place = root / "submissions" / student / "exercises" / "01_double"
        place.mkdir(parents=True)
        (place / "kernel.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_COURSE", str(course))
        for command in ("feedback", "overview"):
            assert cli.main([command, str(results), "--out", str(root / command)]) == 0
        alike = ["similarity", str(root / "submissions"), "--out", str(root / "alike")]
        assert cli.main(alike) == 0
    return root


@pytest.fixture
def show(browser: playwright.Browser, folder: Path) -> Iterator[Opener]:
    """Opens a page; at the end none may have complained, or asked for anything but a page."""
    opener = Opener(browser, folder)
    yield opener
    assert {Path(url).suffix for url in opener.closed()} == {".html"}, "a page holds what it shows"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_fault(show, name: str, scheme: str):
    assert axe_faults(show(name, color_scheme=scheme)) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_it_without_scrolling_sideways(show, name: str):
    page = show(name, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_class_leads_to_each_student_and_back(show):
    page = show("overview/index.html")
    page.get_by_role("link", name="ada", exact=True).click()
    assert page.locator("h1").inner_text() == "Ada Lovelace"
    page.get_by_role("link", name="The class").click()
    assert page.locator("h1").inner_text() == "The class"


def test_a_pair_is_shown_side_by_side_with_the_shared_lines_marked(show):
    page = show("alike/index.html")
    page.get_by_role("link", name="the same but for names").click()
    left, right = page.locator(".sides section").all()
    assert left.bounding_box()["y"] == right.bounding_box()["y"]
    assert left.locator("li.asked").count() == right.locator("li.asked").count() > 0
