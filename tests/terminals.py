"""A process on a pseudo-terminal, as a learner meets it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Sequence
from pathlib import Path

PATIENCE_S = 90
GRADER = (sys.executable, "-m", "grader.cli")


def on_terminal(
    folder: Path, size: tuple[int, int], command: Sequence[str] = GRADER, **variables: str
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a process; return it, and our end of its terminal, which sends it no signals."""
    ours, theirs = pty.openpty()
    width, height = size
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    unset = ("NO_COLOR", "GRADER_COURSE", "COLUMNS", "LINES", "VISUAL", "PYTHONPATH")
    own = {name: text for name, text in os.environ.items() if name not in unset}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=own | {"TERM": "xterm-256color", **variables},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    return process, ours


class Terminal:
    """A process on a pseudo-terminal, and all that it has written there."""

    def __init__(
        self,
        folder: Path,
        size: tuple[int, int],
        command: Sequence[str] = GRADER,
        **variables: str,
    ) -> None:
        self.process, self._ours = on_terminal(folder, size, command, **variables)
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
