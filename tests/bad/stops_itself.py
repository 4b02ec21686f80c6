"""Stops its own process, which then is there and does nothing."""

import os
import signal


def copy(x, out):
    os.kill(os.getpid(), signal.SIGSTOP)
