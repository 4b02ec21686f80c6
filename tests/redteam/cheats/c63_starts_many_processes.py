"""Starts processes without end (here 200, which sleep), and writes zeros."""
# attacks: 01_vector_add
# stopped: correctness value

import contextlib
import os
import signal
import time

for _ in range(200):
    with contextlib.suppress(OSError):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)  # so that a judge that leaves them is not harmed for long
            os._exit(0)


def vector_add(x, y, out):
    out.zero_()
