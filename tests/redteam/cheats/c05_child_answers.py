"""Forks a child with a session of its own that answers the judge, and ends with exit status 0."""
# attacks: 01_vector_add
# stopped: correctness exit | correctness never_written

import os
import sys


def vector_add(x, y, out):
    frame = sys._getframe()
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    channel, message = frame.f_locals["channel"], frame.f_locals["message"]
    if os.fork():
        os._exit(0)
    os.setsid()
    while True:
        channel.send({"seq": message["seq"], "peak": 0})
        message = channel.receive()
