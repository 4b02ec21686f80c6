"""Stops Python's clocks and ignores every signal, so that no limit of time would end its sleep."""
# attacks: 01_vector_add
# stopped: correctness timeout

import signal
import threading
import time

_now, _rest = time.monotonic(), threading.Event()
for _name in ("time", "monotonic", "perf_counter"):
    setattr(time, _name, lambda: _now)
for _number in range(1, 32):
    if _number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(_number, signal.SIG_IGN)


def vector_add(x, y, out):
    _rest.wait()
