"""Quantization to int8, and unpacking of 4-bit numbers, in plain torch: for `grader bench`."""

import torch


def quantize(x: torch.Tensor, q: torch.Tensor, scale: torch.Tensor) -> None:
    """Fills scale with max|x| / 127 of each row, and q with x / scale, rounded to the nearest."""
    wide = x.float()
    largest = wide.abs().amax(-1)
    scale.copy_(torch.where(largest > 0, largest / 127.0, 1.0))
    q.copy_((wide / scale.unsqueeze(-1)).round_())


def unpack(packed: torch.Tensor, scale: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with the two numbers of each byte, from -8 to 7, times the scale of its row."""
    bits = packed.view(torch.int8)
    numbers = torch.stack(((bits << 4) >> 4, bits >> 4), -1).flatten(-2)
    out.copy_(numbers.float() * scale.float().unsqueeze(-1))
