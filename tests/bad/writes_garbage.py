"""Writes to every socket of its process."""

import os
import stat


def copy(x, out):
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, b"\x00\xffgarbage\n")
        except OSError:
            pass
    out.copy_(x)
