"""Products of large square matrices: how many operations a second torch gets out of this GPU.

A worker imports this file like a learner's. Its matrices are its own: what a learner's kernel
leaves in the arena makes no product slower.
"""

from __future__ import annotations

import functools

import torch


@functools.cache
def _matrices(edge: int, dtype: torch.dtype) -> list[torch.Tensor]:
    # Random numbers: a GPU spends less on zeros, and then clocks higher.
    return [torch.randn(edge, edge, device="cuda").to(dtype) for _ in range(3)]


def _multiply(edge: int, dtype: torch.dtype) -> None:
    left, right, out = _matrices(edge, dtype)
    torch.mm(left, right, out=out)


def product_float32(edge: int) -> None:
    _multiply(edge, torch.float32)


def product_float16(edge: int) -> None:
    _multiply(edge, torch.float16)


def product_bfloat16(edge: int) -> None:
    _multiply(edge, torch.bfloat16)
