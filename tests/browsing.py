"""Pages in a real browser, for tests: headless Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

# The first one draws pages and nothing else: the tests take half as long in it.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def launched() -> Iterator[playwright.Browser]:
    """The browser of this machine; skips the test where there is none."""
    with playwright.sync_playwright() as driver:
        found = next((path for name in NAMES if (path := shutil.which(name))), None)
        executable = found or driver.chromium.executable_path
        if not os.path.exists(executable):
            pytest.skip("no Chromium is installed: `apt-get install chromium-headless-shell`")
        browser = driver.chromium.launch(executable_path=executable)
        yield browser
        browser.close()


class Opened:
    """A page in the browser, what it asked the network for, and what went wrong in it."""

    def __init__(self, browser: playwright.Browser, file: Path, **options: object) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(5_000)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda said: self.errors.append(said.text) if said.type == "error" else None,
        )
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.goto(file.as_uri())

    def __call__(self, selector: str) -> playwright.Locator:
        return self.page.locator(selector)


class Opener:
    """Opens pages of a folder."""

    def __init__(self, browser: playwright.Browser, folder: Path) -> None:
        self._browser, self._folder = browser, folder
        self._opened: list[Opened] = []

    def __call__(self, name: str, **options: object) -> playwright.Page:
        self._opened.append(Opened(self._browser, self._folder / name, **options))
        return self._opened[-1].page

    def closed(self) -> list[str]:
        """Close all pages, of which none may have complained; return what they asked for.

        Pictures that a page holds itself are left out.
        """
        for one in self._opened:
            one.context.close()
        assert [text for one in self._opened for text in one.errors] == []
        asked = [url for one in self._opened for url in one.requests]
        return [url for url in asked if not url.startswith("data:image/svg")]


def axe_faults(page: playwright.Page) -> list[tuple[str, str]]:
    """Return what axe-core finds on a page, by its rule and the first element; skips without it.

    Faults that axe calls minor are left out.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    return [
        (one["id"], one["nodes"][0]["html"])
        for one in axe.Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical", "moderate")
    ]
