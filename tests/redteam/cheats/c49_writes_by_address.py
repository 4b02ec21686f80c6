"""Writes with the C library's memmove, where no simulator looks, all around its output."""
# attacks: 02_dot_reduction
# stopped: correctness stray_write | correctness crash | correctness exception
#   (exception: on a GPU there is no address that the C library could write)

import ctypes

import numpy as np


def dot(a, b, out):
    view = np.asarray(getattr(out, "_ary", out))
    answer = np.float32(np.dot(np.asarray(a._ary), np.asarray(b._ary)))
    around = np.full(33, answer, np.float32)
    ctypes.memmove(view.ctypes.data - 64, around.ctypes.data, around.nbytes)
