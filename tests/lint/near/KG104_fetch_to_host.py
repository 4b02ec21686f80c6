"""Methods of these names on other things."""

import torch
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


class Basket:
    def item(self) -> int:
        return 1

    cpu = tolist = item


def run(x: torch.Tensor, out: torch.Tensor) -> None:
    """x.item() would wait."""
    basket = Basket()
    double[basket.item(), basket.cpu()](x, out)
    assert x.device.type != "cpu" and basket.tolist()
