"""Is gone before it can be killed: processes that fork and end at once, for twenty seconds."""
# attacks: 02_dot_reduction
# stopped: correctness never_written

import os
import time

SECONDS = 20


def run_away(until):
    while time.monotonic() < until:
        if os.fork() != 0:
            os._exit(0)


for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        run_away(time.monotonic() + SECONDS)
        os._exit(0)


def dot(a, b, out):
    pass
