"""bench/loop_kills.py: a loop that is killed loses nothing that it has printed."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from grader.course import progress

pytestmark = pytest.mark.slow
MOST_ROUNDS = 20


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "bench"))
    import loop_kills

    yield loop_kills
    sys.modules.pop("loop_kills")


def test_nothing_is_lost_at_random_moments(kills: ModuleType, tmp_path: Path):
    """Until a kill comes after a pass was printed, which is what must not be lost."""
    course, draw = kills.make_course(tmp_path), random.Random(7)
    rounds = []
    while not any(one.passes for one in rounds) and len(rounds) < MOST_ROUNDS:
        rounds.append(kills.kill_once(course, draw))
    assert [one.lost for one in rounds] == [()] * len(rounds)
    assert rounds[-1].passes


def test_each_loss_is_named(kills: ModuleType, tmp_path: Path):
    course = kills.make_course(tmp_path)
    before = progress.hint_shown(course, "p01_map")
    (course / ".grader" / "progress.json").write_text("{", encoding="utf-8")
    (course / "puzzles" / "p03_guard" / "kernel.py").write_text("half", encoding="utf-8")
    lost = " ".join(kills._lost(course, before, ("p02_zip",)))
    for what in (
        *("cannot be read", "unreadable: progress-unreadable-1.json", "the pass of p02_zip"),
        *("hints of p01_map", "the kernel file of p03_guard"),
    ):
        assert what in lost
