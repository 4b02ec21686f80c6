"""Copies, and leaves a thread and a timer running."""

import threading
import time


def copy(x, out):
    threading.Thread(target=time.sleep, args=(600,)).start()
    threading.Timer(600, print).start()
    out.copy_(x)
