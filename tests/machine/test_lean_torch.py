"""Torch without its meta kernels, in a process of its own: this one has imported all of torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROBE = """
import sys
from grader.machine import put_off_meta_kernels
put_off_meta_kernels()
put_off_meta_kernels()
import torch
module = sys.modules["torch._meta_registrations"]
before = "meta_index_Tensor" in vars(module)
right = torch.softmax(torch.zeros(2, 4), -1).sum().item() == 2
taken = torch.empty(5, 3, device="meta")[torch.empty(2, dtype=torch.int64, device="meta")].shape
module.meta_index_Tensor
print(before, right, tuple(taken), "meta_index_Tensor" in vars(module))
try:
    module.no_such_name
except AttributeError:
    print("as any module")
"""


def test_meta_kernels_are_there_when_one_asks_for_them():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["False True (2, 3) True", "as any module"], done.stderr
