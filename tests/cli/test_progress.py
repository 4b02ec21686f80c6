"""Somebody who waits reads what is in work and, after a while, why it takes long."""

from __future__ import annotations

import pytest
from rich.console import Console

from grader.cli import progress
from grader.cli.progress import InLines, OnTerminal, words


def test_words_add_the_reason_only_to_what_takes_long():
    assert words("grading x: load …", "it is large", 4.9) == "grading x: load …"
    assert words("grading x: load …", "it is large", 7.2) == "grading x: load … 7 s: it is large"
    assert words("grading x: load …", "", 7.2) == "grading x: load … 7 s"


def test_a_log_names_exercises_and_no_steps():
    lines: list[str] = []
    shown = InLines(lines.append)
    shown("grading x …")
    shown.step("grading x: load …", "it is large")
    shown.close()
    assert lines == ["grading x …"]


def test_a_terminal_shows_the_step_and_its_seconds(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = OnTerminal()
    shown.close()

    def line() -> str:
        console = Console(width=200)
        with console.capture() as captured:
            console.print(shown)
        return captured.get().strip()

    shown("grading x …")
    assert line() == "grading x …"
    shown.step("grading x: [load] …", "it is large")
    assert line() == "grading x: [load] …"
    now[0] = 112.3
    assert line() == "grading x: [load] … 12 s: it is large"
    shown("grading y …")
    assert line() == "grading y …"
