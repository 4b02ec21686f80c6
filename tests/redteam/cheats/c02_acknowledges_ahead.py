"""Sends the answers to the next thousand messages before any of them was asked."""
# attacks: 01_vector_add
# stopped: correctness never_written | correctness protocol

import sys


def vector_add(x, y, out):
    """Nothing is left to do."""


frame = sys._getframe()
while frame.f_code.co_name != "serve":
    frame = frame.f_back
for ahead in range(1000):
    frame.f_locals["channel"].send({"seq": frame.f_locals["message"]["seq"] + ahead})
