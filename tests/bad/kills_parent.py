"""Kills the process that started it."""

import os
import signal


def copy(x, out):
    os.kill(os.getppid(), signal.SIGKILL)
    out.copy_(x)
