"""Reads its input at its address, which on a GPU is an address of the GPU's."""

import ctypes


def copy(x, out):
    ctypes.string_at(x.data_ptr(), x.element_size())
    out.copy_(x)
