"""The documentation site: each page is there, each link leads on, and no browser asks the network.

It is built once, as `make docs` does, and its pages are read as files and in headless Chromium.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import browsing
import pytest

from grader.course import catalog, course_map
from grader.course.exercise import Exercise

axe_of = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
for needed in ("sphinx", "furo", "myst_parser"):
    pytest.importorskip(needed, reason=f"{needed} is not installed: the extra `site` brings it")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXERCISES = catalog.exercises(ROOT)
SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}
BAD = ("serious", "critical")


def build(source: Path, to: Path) -> subprocess.CompletedProcess[str]:
    strict = ("--quiet", "--fail-on-warning", "--keep-going")
    command = ["-m", "sphinx", *strict, "-c", ROOT / "docs" / "site", source, to]
    return subprocess.run([sys.executable, *command], capture_output=True, text=True)


@dataclass
class Read(HTMLParser):
    """The parts of a page that tests look at."""

    links: list[str] = field(default_factory=list)
    spine: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    folded: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        has = dict(attributes)
        self.ids |= {has["id"] or ""} if "id" in has else set()
        self.links += [has[name] or "" for name in ("href", "src") if name in has]
        if tag == "a" and "reference internal" in (has.get("class") or ""):
            self.spine.append(has["href"] or "")
        self.folded += tag == "details" and "open" not in has


def read(page: Path) -> Read:
    found = Read()
    found.feed(page.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Read]:
    return {page: read(page) for page in site.rglob("*.html")}


# -- pages and links


def test_each_lesson_and_each_page_of_the_docs_is_in_the_contents(
    pages: dict[Path, Read], site: Path
):
    listed = set(pages[site / "README.html"].spine)
    ours = [each.folder / "README.md" for each in EXERCISES]
    ours += [*ROOT.glob("docs/*.md"), *ROOT.glob("puzzles/*.md"), *ROOT.glob("classroom/*.md")]
    assert {str(path.relative_to(ROOT).with_suffix(".html")) for path in ours} <= listed


def test_the_contents_have_the_order_of_the_course(pages: dict[Path, Read], site: Path):
    links = pages[site / "README.html"].spine
    lessons = list(dict.fromkeys(link for link in links if re.search(r"/\w+/README", link)))
    places = course_map(EXERCISES)
    assert lessons == [f"{p.exercise.shelf}/{p.exercise.name}/README.html" for p in places]


def test_each_link_leads_to_a_page_and_a_place_on_it(pages: dict[Path, Read], site: Path):
    # As texts: the contents beside each page make 20,000 links, and to ask the disk takes long.
    files = {str(path) for path in site.rglob("*") if path.is_file()}
    ids = {str(page): here.ids for page, here in pages.items()}
    lost = []
    for page, here in pages.items():
        for link in (each for each in set(here.links) if not re.match(r"\w+:", each)):
            path, _, place = link.partition("#")
            to = os.path.join(page.parent, unquote(path.partition("?")[0])) if path else page
            target = os.path.normpath(to)
            if target not in files or (place and place not in ids.get(target, {place})):
                lost.append(f"{page.name}: {link}")
    assert not lost


def test_the_contents_say_nothing_of_solutions(site: Path):
    """A release has the site's sources too: a solution that a page copies would be in reach."""
    copied = {path.name for path in (site / "_downloads").rglob("*") if path.is_file()}
    assert copied
    code = {name for name in copied if name.endswith(".py")}
    assert not {name for name in code if name.startswith(("kernel", "fast", "wrong_"))}


def test_each_api_name_is_on_the_page_of_the_api(pages: dict[Path, Read], site: Path):
    ids = pages[site / "docs" / "site" / "api.html"].ids
    for name in ("grader.spec", "grader.testing"):
        offered = importlib.import_module(name).__all__
        assert [each for each in offered if not ids & {each, f"{name}.{each}"}] == []


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_a_lesson_folds_each_hint(exercise: Exercise, pages: dict[Path, Read], site: Path):
    lesson = site / exercise.shelf / exercise.name / "README.html"
    assert pages[lesson].folded == len(exercise.any_spec.hints)


def test_each_box_of_the_map_links_to_its_lesson(site: Path):
    drawing = re.search(
        r"<svg class=\"flowchart\".*?</svg>", (site / "docs/course.html").read_text(), re.DOTALL
    )
    assert drawing is not None
    linked = re.findall(r'<a href="\.\./(\w+/\w+)/README.html"><rect', drawing[0])
    assert linked == [f"{each.shelf}/{each.name}" for each in EXERCISES]
    needs = sum(len(place.needs) for place in course_map(EXERCISES))
    assert drawing[0].count("marker-end") == needs


# -- what changes


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that orders the pages, which Sphinx imports from beside its settings."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    return importlib.import_module("spine")


def test_a_new_exercise_and_a_new_page_need_no_line_elsewhere(
    order: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("puzzles/p01_map", "exercises/01_vector_add"):
        shutil.copytree(ROOT / name, tmp_path / f"{name}_too")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "brand-new.md").write_text("# Brand new\n")
    for module in (order, importlib.import_module("lessons")):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    listed = [page for _, found in order.contents() for page in found]
    assert "p01 Map <puzzles/p01_map_too/README>" in listed
    assert "01 Vector add <exercises/01_vector_add_too/README>" in listed
    assert "docs/brand-new" in listed


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path):
    """MyST can be set to pass over them, and then the site would build with any link."""
    source = tmp_path / "source"
    source.mkdir()
    links = "[a](#nowhere), [b](docs/gone.md), [c](OTHER.md#nowhere)"
    (source / "README.md").write_text(f"# A page\n\n{links}\n")
    (source / "OTHER.md").write_text("# Another\n")
    done = build(source, tmp_path / "site")
    assert done.returncode != 0
    lost = re.findall(r"README\.md:3: WARNING: .*'([\w./]+)' \[myst", done.stderr)
    assert lost == ["nowhere", "docs/gone.md", "nowhere"]


def test_a_flowchart_that_is_not_understood_is_not_drawn_in_part(order: ModuleType):
    """A line of Mermaid that went unread would be an arrow or a box less on the site alone."""
    flowchart = importlib.import_module("flowchart")
    chart = flowchart.parsed(["flowchart LR", '  a["A"]', '  b["B"]', "  a --> b"])
    assert (dict(chart.boxes), chart.arrows) == ({"a": "A", "b": "B"}, [("a", "b")])
    with pytest.raises(ValueError, match=r"a -\.-> b"):
        flowchart.parsed(["flowchart LR", "  a -.-> b"])


# -- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[browsing.playwright.Browser]:
    with browsing.launched() as found:
        yield found


@pytest.mark.parametrize("page", ["README", "docs/course", "puzzles/p01_map/README"])
def test_a_page_fits_is_accessible_and_asks_nobody(
    browser: browsing.playwright.Browser, site: Path, page: str
):
    opened = browsing.Opened(browser, site / f"{page}.html")
    sizes = {(name, scheme): size for name, size in SIZES.items() for scheme in ("light", "dark")}
    try:
        for (_, scheme), size in sizes.items():
            opened.page.set_viewport_size(size)
            opened.page.emulate_media(color_scheme=scheme)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert not opened.errors
        assert {url.partition(":")[0] for url in opened.requests} <= {"file", "data"}
        # It takes seconds, and each size and each scheme is in one of these.
        for name, scheme in (("phone", "light"), ("desktop", "dark")):
            opened.page.set_viewport_size(SIZES[name])
            opened.page.emulate_media(color_scheme=scheme)
            found = axe_of.Axe().run(opened.page).response["violations"]
            assert [(each["id"], each["nodes"][0]) for each in found if each["impact"] in BAD] == []
    finally:
        opened.context.close()


def test_the_search_finds_a_lesson_without_a_server(
    browser: browsing.playwright.Browser, site: Path
):
    opened = browsing.Opened(browser, site / "index.html", viewport=SIZES["desktop"])
    try:
        opened.page.wait_for_url("**/README.html")
        opened(".sidebar-search").fill("softmax")
        opened(".sidebar-search").press("Enter")
        opened(
            "#search-results li a",
        ).first.wait_for()
        assert opened("#search-results li a").filter(has_text="Online softmax").count()
        assert all(url.startswith("file:") for url in opened.requests)
    finally:
        opened.context.close()
