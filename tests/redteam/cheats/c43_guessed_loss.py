"""Guesses the loss from one logit a row: for normal numbers the sum is known beforehand."""
# attacks: 06_cross_entropy
# stopped: correctness value

import math

IGNORED = -100


def cross_entropy(logits, target, loss, grad_scale):
    vocabulary = logits.shape[-1]
    counts = target != IGNORED
    column = target.clamp(min=0).unsqueeze(-1)
    whole = math.log(vocabulary) + 0.5  # of the exponentials of N(0, 1)
    loss.copy_(((whole - logits.float().gather(-1, column)).squeeze(-1)) * counts)
    gradient = (logits.float() - whole).exp()
    gradient.scatter_add_(-1, column, gradient.new_full(column.shape, -1.0))
    logits.copy_((grad_scale * gradient).masked_fill(~counts.unsqueeze(-1), 0.0))
