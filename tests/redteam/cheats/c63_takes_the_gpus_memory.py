"""Takes all memory that the GPU has left, keeps it, and writes zeros."""
# attacks: 03_three_pass_softmax
# stopped: correctness value | correctness exception | correctness cannot_grade
#   (exception: CUDA itself has no room left to work)
# GPU only: there is no GPU memory without one

import torch

held = []


def softmax(x, out):
    size = 1 << 32
    while size >= 1 << 20:
        try:
            held.append(torch.empty(size, dtype=torch.uint8, device=x.device))
        except torch.OutOfMemoryError:
            size //= 2
    out.zero_()
