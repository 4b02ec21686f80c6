"""Kills the process that started it, having arranged to outlive it together with a child."""

import ctypes
import os
import signal
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1


def copy(x, out):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
    Path("/proc/self/comm").write_text("left-behind")
    parent = os.getppid()
    if os.fork() == 0:
        time.sleep(600)
    os.kill(parent, signal.SIGKILL)
    out.copy_(x)
