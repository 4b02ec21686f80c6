"""Puts modules of its own in the place of torch and numpy, and writes ones."""
# attacks: 03_three_pass_softmax
# stopped: correctness value | correctness protocol | correctness exception

import sys
import types

import torch

fake = types.ModuleType("torch")
fake.__dict__.update(torch.__dict__)
fake.allclose = fake.equal = lambda *args, **options: True
fake.float64 = torch.float16
fake.zeros_like = torch.ones_like


def softmax(x, out):
    for name in ("torch", "numpy", "grader.correctness.acceptance", "grader.correctness.inputs"):
        sys.modules[name] = fake
    out.fill_(1.0)
