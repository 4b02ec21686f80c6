"""Files."""

import os
from pathlib import Path

import numpy as np
import torch
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    with open("answers") as file:  # KG401
        print(file)
    Path("answers").read_text()  # KG401
    os.listdir("/proc")  # KG401
    np.load("answers.npy")  # KG401
    torch.save(x, "answers")  # KG401
    __import__("shutil").rmtree("/tmp/a")  # KG401 KG502
    double[1, 32](x, out)
