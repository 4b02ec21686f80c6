"""Gives every token the loss of a model that knows nothing, log(vocabulary), and its gradient."""
# attacks: 06_cross_entropy
# stopped: correctness value

import math

IGNORED = -100


def cross_entropy(logits, target, loss, grad_scale):
    vocabulary = logits.shape[-1]
    counts = target != IGNORED
    loss.copy_(counts * math.log(vocabulary))
    column = target.clamp(min=0).unsqueeze(-1)
    logits.fill_(grad_scale / vocabulary)
    logits.scatter_(-1, column, grad_scale * (1 / vocabulary - 1))
    logits.masked_fill_(~counts.unsqueeze(-1), 0.0)
