"""docs/loop.md shows the screen and the keys as they are; `python tests/loop_page.py` renews it."""

from __future__ import annotations

import json

import loop_page
import pytest

from grader.cli.loop import watching

pytestmark = pytest.mark.slow


def test_the_page_shows_the_screen_and_the_keys_of_today():
    assert loop_page.PAGE.read_text(encoding="utf-8") == loop_page.page()


def test_the_page_says_what_was_measured_and_what_the_code_does():
    text = " ".join(loop_page.PAGE.read_text(encoding="utf-8").split())
    record = json.loads((loop_page.ROOT / "bench" / "results" / "loop_kills.json").read_text())
    assert record["ok"]
    assert f"killed the loop {record['rounds']} times" in text
    assert watching.MOST_MISSED == 2
    assert watching.LOOK_MS == 1000
    assert "once a second, and after two saves without an event" in text
