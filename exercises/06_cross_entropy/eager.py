"""Cross entropy and its gradient in plain torch: a contender of `grader bench`."""

import torch

IGNORED = -100  # the target of a token that does not count


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    """Fills loss, and overwrites logits with grad_scale * d(sum of loss) / d(logits)."""
    counts = target != IGNORED
    column = target.clamp(min=0).unsqueeze(-1)
    log_probability = torch.log_softmax(logits.float(), -1)
    target_log_probability = log_probability.gather(-1, column)
    loss.copy_(torch.where(counts, -target_log_probability.squeeze(-1), 0.0))
    gradient = log_probability.exp()
    gradient.scatter_(-1, column, target_log_probability.expm1())
    logits.copy_(torch.where(counts.unsqueeze(-1), grad_scale * gradient, 0.0))
