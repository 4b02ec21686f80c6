"""Pages and lessons in plain words: no phrase that must be read twice, no path that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import BLOCK, PAGES, ROOT

LESSONS = [
    *ROOT.glob("*/README.md"),
    *ROOT.glob("*/*/README.md"),
    *ROOT.glob("puzzles/*.md"),
    *ROOT.glob("solutions/*/commentary.md"),
]
PROSE = sorted({*PAGES, *LESSONS})

# A phrase, and what to write in its place. Each of them stood in the first release's pages.
PHRASES = {
    r"\b(is|are|was|were|be|been) told\b": "reports, names, shows, prints or lists",
    r"\btold (apart|as|by|of|with)\b": "reports, names, shows, prints or lists",
    r"\b(million|thousand) million\b": "SI units: TFLOP/s, TB/s",
    r"\btrusted (copy )?kernels?\b": "reference kernel",
    r"\bwho ?ever\b": "the person, the learner, anybody",
    r"\bwho is who\b": "the name behind",
    r"\b(mended|to mend)\b": "fix",
    r"\b(in room|room for)\b": "memory",
    r"\b[Ii]t is counted\b": "the check counts",
    r"\bAgainst these\b": "For these",
    r"\b(goes over|is held) against\b": "is compared with",
    r"measuring\.md D\d|\bgrader\.walls\b": "the place where it is now",
}
# First words of a statement that has no subject yet. Questions may begin with them.
HEADLESS = re.compile(r"^(?:[-*] |\d+\. )?(?:Who|Whose|Whom|Which|Whether)\b[^?\n]*$", re.MULTILINE)
# Such as `grader/speed/clock.py`: a path of this repository, with no placeholder in it.
LIVE = re.compile(r"`((?:bench|classroom|docs|grader|tests)/(?!\w+/v\d)[\w./-]*\w/?)`")
PLACEHOLDERS = re.compile(r"NAME|ROOM|MODULE|KIND|FOLDER")


def prose(page: Path) -> str:
    """Return the text of a page without blocks and spans of code, with one line a paragraph."""
    text = re.sub(r"`[^`\n]*`", "`…`", BLOCK.sub("", page.read_text(encoding="utf-8")))
    text = re.sub(r"^(    .*|\|.*)$", "", text, flags=re.MULTILINE)
    return re.sub(r"(?<=\S)\n *(?=[\w(`*])(?!\d+\. |\* )", " ", text)


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PROSE, ids=relative)
def test_a_page_uses_plain_words(page: Path):
    text = prose(page)
    found = [
        f"{match[0]!r}: write {better}"
        for phrase, better in PHRASES.items()
        for match in re.finditer(phrase, text)
    ]
    assert not found


@pytest.mark.parametrize("page", PROSE, ids=relative)
def test_a_statement_begins_with_its_subject(page: Path):
    assert not [line for line in HEADLESS.findall(prose(page)) if not line.endswith(":")]


@pytest.mark.parametrize("page", PROSE, ids=relative)
def test_a_path_on_a_page_exists(page: Path):
    for place in LIVE.findall(page.read_text(encoding="utf-8")):
        assert PLACEHOLDERS.search(place) or (ROOT / place).exists(), place
