"""Softmax in plain torch: a contender of `grader bench`."""

import torch


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with the softmax of each row of x: matrices of one shape and one dtype."""
    torch.softmax(x, -1, out=out)
