"""The picture of README shows what its check prints now, and asks nothing of the network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import README, ROOT, learners_copy
from picture import COMMAND, PICTURE, drawn, printed, same, shown

pytestmark = pytest.mark.slow

SVG = PICTURE.read_text(encoding="utf-8")


def test_the_picture_shows_what_the_check_prints_now(tmp_path: Path):
    output = printed(learners_copy(tmp_path))
    assert "FAIL" in output
    assert "\x1b[" in output, "a terminal would show colours"
    assert shown(SVG) == shown(drawn(output)), "`python tests/picture.py` draws it anew"
    assert same(COMMAND) in shown(SVG)


def test_readme_shows_the_picture_and_says_it_in_words():
    (said, path) = re.search(r"!\[(.+?)\]\((.+?)\)", README.read_text(), re.DOTALL).groups()
    assert ROOT / path == PICTURE
    for word in ("p01_map", "never written"):
        assert word in " ".join(said.split())
        assert same(word) in shown(SVG)


def test_the_picture_asks_for_nothing_from_the_network():
    """rich's own template loads its font from a server."""
    assert not re.findall(r"url\(\W*http|(?:href|src)=.http|@import", SVG)
    assert "fonts" not in SVG
