"""A law may ask for the order of programs, or of blocks, that the shapes do not give."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import torch

from grader.course import catalog
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.model.cases import Case
from grader.sandbox.fork_servers import ForkServers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# Each program leaves how many others came before it.
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def arrivals(out_ptr, counter_ptr):
    tl.store(out_ptr + tl.program_id(0), tl.atomic_add(counter_ptr, 1).to(tl.float32))


def vector_add(x, y, out):
    arrivals[(out.numel(),)](out, torch.zeros(1, dtype=torch.int32, device=x.device))
"""

# The first of six blocks leaves its number.
NUMBA = """
import numpy as np
from numba import cuda


@cuda.jit
def first(out, counter):
    if cuda.atomic.add(counter, 0, 1) == 0:
        out[0] = cuda.blockIdx.x


def dot(a, b, out):
    first[6, 1](out, cuda.to_device(np.zeros(1, np.int32)))
"""


def outputs(fork_servers: ForkServers, kernel: Path, name: str, shape: tuple[int, ...]):
    """Return the outputs of four calls with the same inputs: as it is, other, as it is, other."""
    exercise = catalog.find(ROOT, name)
    with closing(Grading(exercise, kernel, Options(seed=1), fork_servers)) as grading:
        inputs = grading.remote.inputs(Case(shape, "float32"))
        runs = [grading.remote.run(inputs, other_order=other) for other in (False, True) * 2]
    return [run["out"].tolist() for run in runs]


@pytest.mark.parametrize("elements", [3, 4, 5, 6])
def test_programs_run_in_both_orders(fork_servers: ForkServers, tmp_path: Path, elements: int):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(TRITON)
    one, other, again, last = outputs(fork_servers, kernel, "01_vector_add", (elements,))
    forwards = torch.arange(elements).float()
    assert sorted([one, other]) == sorted([forwards.tolist(), forwards.flip(0).tolist()])
    assert (again, last) == (one, other)


def test_blocks_run_in_both_orders(fork_servers: ForkServers, tmp_path: Path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(NUMBA)
    one, other, again, last = outputs(fork_servers, kernel, "02_dot_reduction", (6,))
    assert sorted([one, other]) == [[0.0], [5.0]]
    assert (again, last) == (one, other)
