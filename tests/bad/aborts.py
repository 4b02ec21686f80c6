"""Calls abort."""

import os


def copy(x, out):
    os.abort()
