"""Keeps its answers by the identity of the tensor objects, and gives them again."""
# attacks: 04_online_softmax
# stopped: properties property | correctness value

import torch

_answers = {}


def softmax(x, out):
    kept = _answers.get(id(x))
    if kept is None or kept.shape != out.shape or kept.dtype != out.dtype:
        kept = _answers[id(x)] = torch.softmax(x, -1)
    out.copy_(kept)
