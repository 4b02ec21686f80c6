"""Kills every process above its own, in the hope that no verdict counts as a good one."""
# attacks: 01_vector_add
# stopped: correctness value | correctness protocol | judge ended

import contextlib
import os
import signal
from pathlib import Path


def ancestors():
    number = os.getppid()
    while number > 1:
        yield number
        try:
            told = Path(f"/proc/{number}/stat").read_text()
        except OSError:
            return
        number = int(told.rpartition(")")[2].split()[1])


def vector_add(x, y, out):
    # Its parent, the judge and the command, but not the shell in which that was started.
    for number in list(ancestors())[:2]:
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
    out.zero_()
