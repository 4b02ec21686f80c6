"""Reads address 0."""

import ctypes


def copy(x, out):
    ctypes.string_at(0)
