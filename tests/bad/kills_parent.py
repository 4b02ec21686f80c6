"""Kills the process that started it."""

import os
import signal
import time


def copy(x, out):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
