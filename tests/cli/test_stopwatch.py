"""The time that somebody waits begins with the process, and not with the part that measures."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.cli import stopwatch
from grader.cli.stopwatch import Stopwatch


@pytest.fixture
def stat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "stat"
    monkeypatch.setattr(stopwatch, "Path", lambda _: path)
    monkeypatch.setattr(stopwatch.os, "sysconf", lambda _: 100)
    monkeypatch.setattr(stopwatch.time, "clock_gettime", lambda _: 1000.0)
    monkeypatch.setattr(stopwatch.time, "monotonic", lambda: 500.0)
    return path


def waited(*, with_process: bool) -> float:
    watch = Stopwatch()
    watch.restart(with_process=with_process)
    return watch.seconds()


def line(started: int, name: str = "python") -> str:
    return f"7 ({name}) S {' '.join(map(str, range(18)))} {started} 0 0"


@pytest.mark.parametrize("name", ["python", "a) b (c", "19 20"])
def test_the_start_of_the_process_counts(stat: Path, name: str):
    stat.write_text(line(99_870, name))
    assert waited(with_process=True) == pytest.approx(1.3)
    assert waited(with_process=False) == 0


@pytest.mark.parametrize(
    "text", [line(100_001), line(10), "", "7 (python)", "7 (python) S x", "\x00"]
)
def test_a_clock_that_does_not_fit_is_not_read(stat: Path, text: str):
    stat.write_text(text)
    assert waited(with_process=True) == 0


def test_without_the_file_time_begins_now(stat: Path):
    assert waited(with_process=True) == 0


def test_this_machine_says_when_a_process_began():
    assert 0 <= stopwatch._age_s() <= stopwatch.MOST_BEFORE_S
    before = Stopwatch()
    assert before.seconds() >= 0
    assert before.began <= time.monotonic()
