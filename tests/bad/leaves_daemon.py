"""Copies, and leaves a daemon: forked twice, in a session of its own, deaf to polite signals."""

import os
import signal
import time
from pathlib import Path


def copy(x, out):
    out.copy_(x)
    if x.numel() == 1 and os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            Path("/proc/self/comm").write_text("leaves_daemon")
            os.closerange(0, 1000)
            time.sleep(600)
        os._exit(0)
