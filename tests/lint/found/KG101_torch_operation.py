"""torch computes, under every name that it can be given."""

import functools

import torch
import torch as t
import torch.nn.functional as F
from numba import cuda
from torch import add as plus
from torch.nn.functional import silu

soft = torch.softmax
gates = {"silu": F.silu}  # KG101


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def by_alias(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    plus(x, y, out=out)  # KG101
    t.add(x, y, out=out)  # KG101
    torch.nn.functional.silu(x)  # KG101
    F.silu(x)  # KG101
    silu(x)  # KG101
    soft(x, -1, out=out)  # KG101
    getattr(torch, "softmax")(x, -1)  # KG101
    double[1, 32](x, out)


def by_method(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    x.softmax(-1)  # KG101
    out.add_(y)  # KG101
    x.view(-1).exp()  # KG101
    z = torch.empty_like(x)
    z.sigmoid_()  # KG101
    torch.Tensor.softmax(x, -1)  # KG101
    double[1, 32](x, out)


def by_operator(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    z = x + 2 * y  # KG101
    z *= 3  # KG101
    double[1, 32](-z, out)  # KG101


def may_be_missing(x: torch.Tensor | None, out: torch.Tensor) -> None:
    double[1, 32](x * 2, out)  # KG101


if __name__ != "__main__":
    torch.sum(torch.ones(1))  # KG101


def without_types(a, b, out):
    n = a.numel()
    double[1, n](a * b, out)  # KG101
    torch.ops.aten.add(a, b)  # KG101
    torch.nn.Softmax(-1)(a)  # KG101
    return functools.partial(torch.sum, dim=-1)  # KG101
