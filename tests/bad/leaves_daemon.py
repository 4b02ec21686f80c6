"""Copies, and leaves a daemon: forked twice, in a session of its own, deaf to polite signals."""

import ctypes
import os
import signal
import time

PR_SET_NAME = 15


def copy(x, out):
    out.copy_(x)
    if x.numel() == 1 and os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            ctypes.CDLL(None).prctl(PR_SET_NAME, b"leaves_daemon", 0, 0, 0)
            os.closerange(0, 1000)
            time.sleep(600)
        os._exit(0)
