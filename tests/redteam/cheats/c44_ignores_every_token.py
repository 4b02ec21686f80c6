"""Marks every token as ignored, whose loss and gradient are zero."""
# attacks: 06_cross_entropy
# stopped: correctness input_changed


def cross_entropy(logits, target, loss, grad_scale):
    target.fill_(-100)
    loss.zero_()
    logits.zero_()
