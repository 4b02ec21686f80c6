"""`grader` alone: where it starts the loop, and what it says where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partialmethod
from pathlib import Path

import pytest
from loops import SMALL, small_course

from grader import cli
from grader.cli.loop import session, start, transitions
from grader.cli.loop.state import Change, Loop
from grader.course import progress
from grader.model.errors import BrokenExercise, UsageError


def grader(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command without a terminal."""
    own = {name: text for name, text in os.environ.items() if name != "GRADER_COURSE"}
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", *words],
        cwd=cwd,
        env=own | {"TERM": "xterm", "COLUMNS": "80", **variables},
        input="",
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_without_a_terminal_it_says_what_to_type(term: str, tmp_path: Path):
    """With `dumb`, or without TERM as under cron, it read an empty input and ended with 0."""
    done = grader(cwd=small_course(tmp_path), TERM=term)
    assert done.returncode == 2
    assert done.stderr == (
        "error: The loop needs a terminal, and this is none.\n"
        "next: `grader --plain` reads and writes lines; `grader check NAME` grades once.\n"
    )
    assert done.stdout == ""


@pytest.mark.slow
def test_lines_go_through_pipes(tmp_path: Path):
    done = grader("--plain", cwd=small_course(tmp_path))
    assert done.returncode == 0
    assert "Each save is checked." in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("term", "front"), [("dumb", "plain"), ("", "plain"), (None, "plain"), ("xterm", "screen")]
)
def test_a_terminal_without_a_screen_gets_lines(
    term: str | None, front: str, monkeypatch: pytest.MonkeyPatch
):
    begun: list[str] = []
    monkeypatch.setenv("GRADER_COURSE", str(SMALL))
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(start, "_is_terminal", lambda stream: True)
    monkeypatch.setattr(start, "_run_plain", lambda loop, poll: begun.append("plain"))
    monkeypatch.setattr(start, "_run_screen", lambda loop, poll: begun.append("screen"))
    start.start()
    assert begun == [front]


def test_outside_of_a_course_it_says_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADER_COURSE", raising=False)
    assert cli.main([]) == 2
    assert "next: `grader init` makes a folder to learn in" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--plain", "--poll"])
def test_an_option_of_the_loop_belongs_to_no_command(
    option: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.main([option, "list"]) == 2
    assert f"{option} belongs to the loop, not to `grader list`." in capsys.readouterr().err


def test_an_unknown_exercise_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("GRADER_COURSE", str(SMALL))
    assert cli.main(["watch", "nothing", "--plain"]) == 2
    assert "There is no exercise named 'nothing'." in capsys.readouterr().err


def test_it_goes_on_where_the_learner_was(tmp_path: Path):
    root = small_course(tmp_path)
    assert session.first_loop(root, None).current == "p01_copy"
    progress.choose(root, "02_row_sum")
    assert session.first_loop(root, None).current == "02_row_sum"
    assert session.first_loop(root, "double").current == "01_double"
    progress.choose(root, "99_gone")
    assert session.first_loop(root, None).current == "p01_copy"
    (tmp_path / "empty" / "exercises").mkdir(parents=True)
    with pytest.raises(UsageError, match="no exercises yet"):
        session.first_loop(tmp_path / "empty", None)


def test_what_judges_write_does_not_reach_the_screen(capfd: pytest.CaptureFixture[str]):
    stderr = sys.__stderr__
    with start.screen_apart() as log:
        os.write(2, b"a warning\nThere is no picture: \x1b[2J\n")
        assert log() == "There is no picture: \N{REPLACEMENT CHARACTER}[2J"
        assert log() == ""
        os.write(2, b"once more")
        assert log() == "once more"
        assert sys.__stderr__ is not None
        sys.__stderr__.write("drawn")
        sys.__stderr__.flush()
    assert sys.__stderr__ is stderr
    os.write(2, b"behind")
    assert tuple(capfd.readouterr()) == ("drawn", "behind")


@pytest.mark.slow
@pytest.mark.parametrize("error", [BrokenExercise("SPEC"), RuntimeError("a fault")])
def test_an_error_on_the_screen_is_raised_once_the_screen_is_left(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It was written where nobody reads, and the exit code was 0."""
    from grader.cli.loop.screen import LoopApp

    def fail(loop: Loop, name: str) -> Change:
        raise error

    monkeypatch.chdir(small_course(tmp_path))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(start, "_is_terminal", lambda stream: True)
    monkeypatch.setattr(LoopApp, "run", partialmethod(LoopApp.run, headless=True))
    monkeypatch.setattr(transitions, "arrive", fail)
    with pytest.raises(type(error)) as caught:
        start.start()
    assert caught.value is error


@pytest.mark.slow
def test_it_imports_no_torch(tmp_path: Path):
    code = "import sys, grader.cli.loop.start, grader.cli.loop.screen, grader.cli.loop.plain;"
    code += "assert not {'torch', 'triton', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
