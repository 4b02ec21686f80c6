"""The words after a case's name: the puzzles' page explains all that their checks print."""

from __future__ import annotations

import re
from pathlib import Path

from grader.course import catalog
from grader.model import Case
from grader.model.cases import DRAWS

ROOT = Path(__file__).parents[2]
BY_HAND = {"counting", "signs", "hundreds", "depths"}  # any case that fails may be shown in these


def explained() -> set[str]:
    page = (ROOT / "puzzles" / "README.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `\((\D+?)(?: \d)?\)` \|", page, re.MULTILINE))


def printed() -> set[str]:
    specs = [each.spec for each in catalog.parts(ROOT) if each.folder.parent.name == "puzzles"]
    cases = [case for spec in specs for case in spec.edges]
    drawn = {draw for spec in specs for draw in spec.draws} | {case.draw for case in cases}
    words = {"offset": any(c.offset for c in cases), "row padding": any(c.pad for c in cases)}
    return BY_HAND | drawn - {"rows"} | {word for word, shown in words.items() if shown}


def test_each_word_is_explained() -> None:
    assert explained() == printed()
    assert explained() <= {*DRAWS, "offset", "row padding"}


def test_the_words_are_those_of_a_headline() -> None:
    page = (ROOT / "puzzles" / "README.md").read_text(encoding="utf-8")
    assert f"`{Case((4,), 'float32', draw='counting').headline}`" in page
    case = Case((4,), "float32", draw="counting", pad=3, offset=1)
    assert case.headline == "4 elements of float32 (counting, row padding 3, offset 1)"
