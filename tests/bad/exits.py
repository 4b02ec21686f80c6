"""Leaves with success."""

import sys


def copy(x, out):
    sys.exit(0)
