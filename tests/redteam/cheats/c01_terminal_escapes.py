"""Clears the terminal and draws a passing report over the real one; the answer is zeros."""
# attacks: 01_vector_add
# stopped: correctness value

import os

REPORT = (
    "\x1b[2J\x1b[3J\x1b[H"  # an empty screen
    "\x1b[32m01_vector_add  pass  100 of 100 points\x1b[0m\r\n"
    "\x1b]0;pass\x07"  # the window's title
    "\x1b[8m"  # what comes after is invisible
)


def vector_add(x, y, out):
    os.write(1, REPORT.encode())
    out.zero_()
