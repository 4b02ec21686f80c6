"""Reads its rows three times, and sends counts too large for a floating-point number."""
# attacks: 04_online_softmax
# stopped: traffic protocol

import torch

from grader.wire import Reply

_dump = Reply.dump


def dump(reply):
    told = _dump(reply)
    if told["counts"]:
        told["counts"] = dict.fromkeys(told["counts"], 10**400)
        told["peak"] = -(10**400)
    return told


Reply.dump = dump


def softmax(x, out):
    x.amax(-1)
    x.sum(-1)
    torch.softmax(x, -1, out=out)
