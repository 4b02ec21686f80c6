"""Writes 2 MB without an end of line to every socket of its process."""

import os
import stat


def copy(x, out):
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.set_blocking(number, True)
                os.write(number, b"x" * 2_000_000)
        except OSError:
            pass
    out.copy_(x)
