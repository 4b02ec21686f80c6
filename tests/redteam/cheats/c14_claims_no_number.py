"""Adds right, and claims that its calls took a time that is not a number (NaN)."""
# attacks: 01_vector_add
# stopped: load protocol

import torch

from grader.model.messages import Reply

_dump = Reply.dump
Reply.dump = lambda reply: _dump(reply) | {"seconds": [float("nan")]}


def vector_add(x, y, out):
    torch.add(x, y, out=out)
