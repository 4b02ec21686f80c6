"""The kernels that the fast solutions of 04 and 06 take, by a GPU that is not there."""

from __future__ import annotations

import importlib.util
import re
from collections import namedtuple
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from grader.backends.cuda import stand_ins

SOLUTIONS = Path(__file__).parents[2] / "solutions"
HOPPER, CONSUMER_BLACKWELL, AMPERE = (9, 0), (12, 0), (8, 0)
KIB = 1 << 10
DTYPES = {4: torch.float32, 2: torch.bfloat16}
ROWS = 37


@pytest.fixture
def softmax() -> ModuleType:
    return loaded("04_online_softmax")


@pytest.fixture
def cross_entropy() -> ModuleType:
    return loaded("06_cross_entropy")


def loaded(exercise: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fast", SOLUTIONS / exercise / "fast.py")
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


@pytest.mark.parametrize("itemsize", DTYPES)
def test_each_shape_of_softmax_takes_its_longest_row(softmax: ModuleType, itemsize: int):
    put_on(softmax, HOPPER, 227 * KIB)
    dtype = DTYPES[itemsize]
    for longest, shape in softmax.SHAPES.items():
        kernel, config = softmax.planned(dtype, ROWS, longest // itemsize, aligned=True)
        assert kernel == f"softmax<{softmax.NAMES[dtype]}, {', '.join(map(str, shape))}>"
        assert longest // shape.cluster * shape.rows == config.shmem_size == shape.most_bytes
        assert (config.cluster[0], config.block[0]) == (shape.cluster, shape.threads * shape.rows)
        assert 0 <= config.grid[0] * shape.rows - ROWS < shape.rows


@pytest.mark.parametrize("itemsize", DTYPES)
def test_each_shape_of_cross_entropy_takes_its_longest_row(
    cross_entropy: ModuleType, itemsize: int
):
    """A block's share lies in shared memory, and in the chunks that it has barriers for."""
    put_on(cross_entropy, HOPPER, 227 * KIB)
    packs, chunks = (
        int(re.search(rf"constexpr int {name} = (\d+);", cross_entropy.SOURCE)[1])
        for name in ("PACKS", "MOST_CHUNKS")
    )
    dtype = DTYPES[itemsize]
    for longest, shape in cross_entropy.SHAPES.items():
        kernel, config = cross_entropy.planned(dtype, ROWS, longest // itemsize, aligned=True)
        name = cross_entropy.NAMES[dtype]
        assert kernel == f"cross_entropy<{name}, {shape.cluster}, {shape.threads}>"
        assert longest // shape.cluster == config.shmem_size <= 16 * packs * chunks * shape.threads
        launched = (config.grid[0], config.cluster[0], config.block[0])
        assert launched == (ROWS, shape.cluster, shape.threads)
        partials_and_barriers = 8 * shape.cluster * shape.threads // 32 + 8 * (chunks + 1)
        assert partials_and_barriers + 128 <= cross_entropy.PARTIALS_AND_BARRIERS  # 128: alignment


OF_ANY = {"04_online_softmax": "softmax_of_any", "06_cross_entropy": "cross_entropy_of_any"}


@pytest.mark.parametrize("exercise", OF_ANY)
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
    exercise: str, capability: tuple[int, int], shared: int, columns: int, *, aligned: bool
):
    fast = loaded(exercise)
    put_on(fast, capability, shared)
    kernel, config = fast.planned(torch.float32, ROWS, columns, aligned)
    assert kernel == f"{OF_ANY[exercise]}<float>"
    assert (config.grid[0], config.block[0]) == (ROWS, fast.PLAIN_THREADS)


@pytest.mark.parametrize(
    ("exercise", "taken"),
    [
        ("04_online_softmax", "softmax<float, 8, 512, 1, 8>"),
        ("06_cross_entropy", "cross_entropy<float, 8, 512>"),
    ],
)
def test_a_gpu_with_little_shared_memory_takes_shorter_rows_by_the_shapes(
    exercise: str, taken: str
):
    fast = loaded(exercise)
    put_on(fast, CONSUMER_BLACKWELL, 99 * KIB)
    kernel, _ = fast.planned(torch.float32, ROWS, 131_072, aligned=True)
    assert kernel == taken
