"""The kernel that the fast softmax of 04 takes, by a GPU that is not there."""

from __future__ import annotations

import importlib.util
from collections import namedtuple
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from grader.backends.cuda import stand_ins

FILE = Path(__file__).parents[2] / "solutions" / "04_online_softmax" / "fast.py"
HOPPER, CONSUMER_BLACKWELL, AMPERE = (9, 0), (12, 0), (8, 0)
KIB = 1 << 10


@pytest.fixture
def fast() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fast_softmax", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.compiled = lambda name, shared=0: name
    module.LaunchConfig = stand_ins.LaunchConfig
    return module


def put_on(fast: ModuleType, capability: tuple[int, int], shared: int) -> None:
    device = SimpleNamespace(
        compute_capability=namedtuple("Capability", "major minor")(*capability),
        properties=SimpleNamespace(max_shared_memory_per_block_optin=shared),
    )
    fast.Device = lambda: device


@pytest.mark.parametrize("itemsize", [4, 2])
def test_each_shape_takes_its_longest_row(fast: ModuleType, itemsize: int):
    put_on(fast, HOPPER, 227 * KIB)
    dtype = {4: torch.float32, 2: torch.bfloat16}[itemsize]
    for longest, shape in fast.SHAPES.items():
        kernel, config = fast.planned(dtype, 37, longest // itemsize, aligned=True)
        assert kernel == f"softmax<{fast.NAMES[dtype]}, {', '.join(map(str, shape))}>"
        assert longest // shape.cluster * shape.rows == config.shmem_size == shape.most_bytes
        assert config.block[0] == shape.threads * shape.rows
        assert 0 <= config.grid[0] * shape.rows - 37 < shape.rows


@pytest.mark.parametrize(
    ("capability", "shared", "columns", "aligned"),
    [
        pytest.param(HOPPER, 227 * KIB, 1_024, False, id="an address between multiples of 16"),
        pytest.param(HOPPER, 227 * KIB, 1_022, True, id="a length between multiples of 16"),
        pytest.param(HOPPER, 227 * KIB, 262_148, True, id="longer than all shapes take"),
        pytest.param(AMPERE, 227 * KIB, 1_024, True, id="no clusters"),
        pytest.param(CONSUMER_BLACKWELL, 99 * KIB, 262_144, True, id="too little shared memory"),
    ],
)
def test_the_plain_kernel_takes_all_other_rows(
    fast: ModuleType, capability: tuple[int, int], shared: int, columns: int, aligned: bool
):
    put_on(fast, capability, shared)
    kernel, config = fast.planned(torch.float32, 37, columns, aligned)
    assert kernel == "softmax_of_any<float>"
    assert config.grid[0] == 37


def test_a_gpu_with_little_shared_memory_takes_shorter_rows_by_the_shapes(fast: ModuleType):
    put_on(fast, CONSUMER_BLACKWELL, 99 * KIB)
    kernel, _ = fast.planned(torch.float32, 37, 131_072, aligned=True)
    assert kernel == "softmax<float, 8, 512, 1, 8>"
