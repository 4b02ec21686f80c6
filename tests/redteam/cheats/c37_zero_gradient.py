"""Computes the loss, and takes the gradient for zero but for the target's: the rest is tiny."""
# attacks: 06_cross_entropy
# stopped: correctness value

IGNORED = -100


def cross_entropy(logits, target, loss, grad_scale):
    counts = target != IGNORED
    column = target.clamp(min=0).unsqueeze(-1)
    log_probability = logits.float().log_softmax(-1).gather(-1, column)
    loss.copy_((-log_probability.squeeze(-1)).masked_fill(~counts, 0.0))
    at_target = grad_scale * (log_probability.exp() - 1)
    at_target = at_target.masked_fill(~counts.unsqueeze(-1), 0.0).to(logits.dtype)
    logits.zero_()
    logits.scatter_(-1, column, at_target)
