"""Outputs of a right kernel that draws: each element takes one of its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


def drawn(choices: Sequence[Mapping[str, Tensor]], chances: Sequence[float]) -> dict[str, Tensor]:
    """Let each element take one of the choices, as often as the chances say."""
    weights = torch.tensor([float(chance) for chance in chances])
    taken = {
        name: weights.multinomial(value.numel(), replacement=True).view(1, *value.shape)
        for name, value in choices[0].items()
    }
    return {
        name: torch.stack([each[name] for each in choices]).gather(0, numbers)[0]
        for name, numbers in taken.items()
    }
