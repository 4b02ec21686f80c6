"""Shares of a ceiling that a commentary states are those of the record that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = re.compile(r"\(`(bench/results/\w+\.json)`\)")
SHARE = re.compile(r"\b[01]\.\d{3}\b")
COMMENTARIES = [
    path
    for path in sorted((ROOT / "solutions").glob("*/commentary.md"))
    if SOURCE.search(path.read_text(encoding="utf-8"))
]


def claims(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each sentence's record, and the shares that the sentence states."""
    for sentence in re.split(r"(?<=[.:])\s+", text):
        for record in SOURCE.findall(sentence):
            yield record, SHARE.findall(sentence)


def shares(record: Any, exercise: str) -> Iterator[float]:
    """Yield every share in a record, but not those of another exercise."""
    if isinstance(record, list):
        for one in record:
            yield from shares(one, exercise)
    elif isinstance(record, dict) and _of(record, exercise):
        if isinstance(record.get("share"), float):
            yield record["share"]
        for one in record.values():
            yield from shares(one, exercise)


def _of(record: dict[str, Any], exercise: str) -> bool:
    """Report whether a row is of an exercise, or of one of its entries."""
    return str(record.get("exercise", exercise)).partition(":")[0] == exercise


def test_there_are_commentaries_with_figures():
    assert len(COMMENTARIES) >= 5


@pytest.mark.parametrize("path", COMMENTARIES, ids=lambda path: path.parent.name)
def test_a_commentary_states_the_shares_that_were_measured(path: Path):
    for source, stated in claims(path.read_text(encoding="utf-8")):
        measured = shares(json.loads((ROOT / source).read_text()), path.parent.name)
        assert stated, f"the sentence with {source} states no share of three decimals"
        assert set(stated) <= {f"{share:.3f}" for share in measured}
