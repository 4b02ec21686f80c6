"""bench/results/walks.json: what three new users stumbled over, and the test of each repair."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
WALKS = json.loads((ROOT / "bench" / "results" / "walks.json").read_text(encoding="utf-8"))


def test_each_stumble_has_a_repair_and_a_test_that_is_there():
    walks = {walk["number"] for walk in WALKS["walks"]}
    assert {row["walk"] for row in WALKS["stumbles"]} == walks == {1, 2, 3}
    for row in WALKS["stumbles"]:
        assert all(row[key] for key in ("did", "saw", "expected", "mended"))
        assert (ROOT / row["test"]).is_file()
