"""Ends its process with exit status 0 in the first call."""
# attacks: 02_dot_reduction
# stopped: correctness exit

import os


def dot(a, b, out):
    os._exit(0)
