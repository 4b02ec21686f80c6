"""The loop as a learner meets it: a process on a terminal, its editor, its judge, its end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.cli.loop.transitions import RESTARTED
from grader.course import progress

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
PATIENCE_S = 90
LEFT_SCREEN = "\x1b[?1049l"
COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m")


def loop_on_terminal(
    course: Path, size: tuple[int, int], **variables: str
) -> tuple[subprocess.Popen[bytes], int]:
    """Start the loop; return it, and our end of its terminal, which sends it no signals."""
    ours, theirs = pty.openpty()
    width, height = size
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    unset = ("NO_COLOR", "GRADER_COURSE", "COLUMNS", "LINES", "VISUAL")
    own = {name: text for name, text in os.environ.items() if name not in unset}
    loop = subprocess.Popen(
        [sys.executable, "-m", "grader.cli"],
        cwd=course,
        env=own | {"TERM": "xterm-256color", **variables},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    return loop, ours


class Terminal:
    """A process on a pseudo-terminal, and all that it has written there."""

    def __init__(self, course: Path, size: tuple[int, int], **variables: str) -> None:
        self.process, self._ours = loop_on_terminal(course, size, **variables)
        self.written = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                more = os.read(self._ours, 1 << 16)
            except OSError:  # nobody writes to it any more
                return
            if not more:
                return
            self.written += more.decode(errors="replace")

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def shows(self, text: str) -> None:
        """Wait until the text is written, in one piece, since the last call."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.written:
            assert time.monotonic() < end, self.written[-3000:]
            time.sleep(0.02)
        self.written = self.written[self.written.rindex(text) + len(text) :]

    def ended(self) -> int:
        """Wait for the end; return the exit status."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def judges(self) -> list[int]:
        """Return the judges that this process has started and that still run."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            parent = int(stat.rpartition(")")[2].split()[1])
            if parent == self.process.pid and b"grader.grading.judge" in command:
                found.append(int(entry.name))
        return found


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
    loop, ours = loop_on_terminal(course, (80, 24))
    written = b""
    while b"p01_map" not in written:
        written += os.read(ours, 1 << 16)
    os.close(ours)
    assert isinstance(loop.wait(PATIENCE_S), int)
