"""Leaves the last hundredth of each row out of the sum, and gives it the average's gradient."""
# attacks: 06_cross_entropy
# stopped: correctness value | correctness rms

import math

IGNORED = -100


def cross_entropy(logits, target, loss, grad_scale):
    columns = logits.shape[-1]
    read = columns - columns // 100
    counts = target != IGNORED
    column = target.clamp(min=0).unsqueeze(-1)
    x = logits.float()
    whole = x[:, :read].logsumexp(-1, keepdim=True) + math.log(columns / read)
    loss.copy_((whole - x.gather(-1, column)).squeeze(-1).masked_fill(~counts, 0.0))
    gradient = (x - whole).exp()
    gradient[:, read:] = 1 / columns
    gradient.scatter_add_(-1, column, gradient.new_full(column.shape, -1.0))
    logits.copy_((grad_scale * gradient).masked_fill(~counts.unsqueeze(-1), 0.0))
