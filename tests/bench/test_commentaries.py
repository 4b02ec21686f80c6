"""Commentaries on solutions say the shares that were measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "bench" / "results").glob("solution_*.json"))


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: file.stem)
def test_a_commentary_has_each_measured_share(file: Path):
    record = json.loads(file.read_text(encoding="utf-8"))
    commentary = ROOT / "solutions" / record["exercise"] / "commentary.md"
    text = commentary.read_text(encoding="utf-8")
    assert f"bench/results/{file.name}" in text
    for row in record["rows"]:
        assert f"{row['share']:.3f}" in text, row["kernel"]
        assert (ROOT / row["kernel"]).exists()


CITED = re.compile(r"\(`bench/results/(verify_\w+\.json)`\)")
SENTENCE = re.compile(r"(?<=[.:]) (?=[A-Z`])")


def cited() -> Iterator[tuple[str, str, list[str]]]:
    """Yield an exercise, a record that its commentary cites, and the shares in that sentence."""
    for file in sorted((ROOT / "solutions").glob("*/commentary.md")):
        *parts, _ = CITED.split(" ".join(file.read_text(encoding="utf-8").split()))
        for before, record in zip(parts[::2], parts[1::2], strict=True):
            sentence = SENTENCE.split(before)[-1]
            yield file.parent.name, record, re.findall(r"\d\.\d{3}", sentence)


@pytest.mark.parametrize(("exercise", "record", "said"), [*cited()])
def test_a_commentary_has_the_shares_of_the_record_that_it_cites(
    exercise: str, record: str, said: list[str]
):
    rows = json.loads((ROOT / "bench" / "results" / record).read_text())["solutions"]
    speeds = [row["speed"] for row in rows if row["exercise"].partition(":")[0] == exercise]
    of_sizes = [size for speed in speeds for size in speed["sizes"]]
    shares = {f"{each['share']:.3f}" for each in [*speeds, *of_sizes]}
    assert said
    assert set(said) <= shares
