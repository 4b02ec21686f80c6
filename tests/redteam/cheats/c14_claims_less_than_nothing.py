"""Adds right, and claims that its calls took less than no time."""
# attacks: 01_vector_add
# stopped: load protocol

import torch

from grader.model.messages import Reply

_dump = Reply.dump
Reply.dump = lambda reply: _dump(reply) | {"seconds": [-1.0, 1e-300, -1e300]}


def vector_add(x, y, out):
    torch.add(x, y, out=out)
