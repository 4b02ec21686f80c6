"""The loop as a learner meets it: a process on a terminal, its editor, its judge, its end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from terminals import PATIENCE_S, Terminal, on_terminal

from grader.cli.loop.transitions import RESTARTED
from grader.course import progress

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
LEFT_SCREEN = "\x1b[?1049l"
COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for folder in ("puzzles/p01_map", "puzzles/p02_zip"):
        shutil.copytree(ROOT / folder, tmp_path / "course" / folder)
    return tmp_path / "course"


@pytest.fixture
def begin(course: Path) -> Iterator[Callable[..., Terminal]]:
    begun: list[Terminal] = []

    def start(size: tuple[int, int], **variables: str) -> Terminal:
        begun.append(Terminal(course, size, **variables))
        return begun[-1]

    yield start
    for terminal in begun:
        terminal.process.kill()
        terminal.process.wait()


def test_from_the_stub_to_a_pass_with_the_learners_editor(
    course: Path, begin: Callable[..., Terminal]
):
    solution = ROOT / "solutions" / "p01_map" / "kernel.py"
    terminal = begin((80, 24), EDITOR=f"cp {solution}")
    terminal.shows("NOT STARTED")
    terminal.type("e")
    terminal.shows("PASS")
    terminal.shows("n goes on to p02_zip")
    terminal.type("n")
    terminal.shows("p02_zip")
    terminal.type("q")
    assert terminal.ended() == 0
    assert LEFT_SCREEN in terminal.written
    known = progress.read(course)
    assert known.standings["p01_map"].passed
    assert known.current == "p02_zip"


def test_a_killed_judge_is_started_again_and_a_signal_leaves_the_terminal_whole(
    course: Path, begin: Callable[..., Terminal]
):
    terminal = begin((120, 40), NO_COLOR="1")
    terminal.shows("CHECKING")
    end = time.monotonic() + PATIENCE_S
    while not (judges := terminal.judges()):
        assert time.monotonic() < end
        time.sleep(0.02)
    os.kill(judges[0], signal.SIGKILL)
    terminal.shows(RESTARTED)
    terminal.shows("NOT STARTED")
    whole = terminal.written
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.ended() == 0
    assert LEFT_SCREEN in terminal.written
    assert not COLOUR.search(whole + terminal.written)


def test_a_loop_whose_terminal_vanished_ends(course: Path):
    """Left behind by a program that was killed, it went on and took a quarter of a core."""
    loop, ours = on_terminal(course, (80, 24))
    written = b""
    while b"p01_map" not in written:
        written += os.read(ours, 1 << 16)
    os.close(ours)
    assert isinstance(loop.wait(PATIENCE_S), int)
