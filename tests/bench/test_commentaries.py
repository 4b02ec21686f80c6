"""Commentaries on solutions say the shares that were measured."""

from __future__ import annotations

import json
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
