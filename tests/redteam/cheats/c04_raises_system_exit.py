"""Raises SystemExit(0), which a runner without care takes for success."""
# attacks: 04_online_softmax
# stopped: correctness exit

import sys


def softmax(x, out):
    sys.exit(0)
