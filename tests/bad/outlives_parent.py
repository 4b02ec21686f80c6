"""Kills the process that started it, having arranged to outlive it together with a child."""

import ctypes
import os
import signal
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1

PARENT = os.getppid()


def copy(x, out):
    if os.getppid() == PARENT:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
        Path("/proc/self/comm").write_text("outlives_parent")
        if os.fork() == 0:
            time.sleep(600)
        os.kill(PARENT, signal.SIGKILL)
        while os.getppid() == PARENT:
            time.sleep(0.01)
    out.copy_(x)
