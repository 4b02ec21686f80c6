"""Right, and never too long for one call."""

import time


def copy(x, out):
    time.sleep(0.5)
    out.copy_(x)
