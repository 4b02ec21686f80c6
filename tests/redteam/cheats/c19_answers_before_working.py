"""Tells the judge that the call is done, and begins to compute after that."""
# attacks: 04_online_softmax
# stopped: correctness never_written

import sys
import time

import torch

from grader.model.channel import Channel

_send, _silent = Channel.send, []


def send(channel, message):
    if not _silent:
        _send(channel, message)
    _silent.clear()


Channel.send = send


def softmax(x, out):
    frame = sys._getframe()
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    _send(frame.f_locals["channel"], {"seq": frame.f_locals["message"]["seq"]})
    _silent.append(True)  # for this call is answered
    time.sleep(0.05)
    torch.softmax(x, -1, out=out)
