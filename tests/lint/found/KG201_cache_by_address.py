"""Answers that are found again by where their inputs lie."""

import torch
from numba import cuda

answers = {}
seen = set()
last = None


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def by_key(x: torch.Tensor, out: torch.Tensor) -> None:
    key = (x.shape, x.data_ptr())
    if key in answers:  # KG201
        return
    double[1, 32](x, out)
    answers[key] = out


def by_identity(x, out):
    if id(x) not in seen:  # KG201
        double[1, 32](x, out)
        seen.add(id(x))


def by_last_call(x: torch.Tensor, out: torch.Tensor) -> None:
    global last
    if last == x.data_ptr():  # KG201
        return
    double[1, 32](x, out)


def by_default(x, out, known={}):
    room = known.get(x.__cuda_array_interface__["data"])  # KG201
    double[1, 32](room, out)


def by_attribute(x: torch.Tensor, out: torch.Tensor) -> None:
    where = x.data_ptr()
    by_attribute.known[where] = out  # KG201
    double[1, 32](x, out)
