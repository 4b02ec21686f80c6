"""Launches of Triton kernels that cannot be made again elsewhere, on fakes of Triton's objects."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from grader.backends.triton import recording
from grader.model.recording import Recording

pytestmark = pytest.mark.slow


class CompiledKernel:
    """The parts of Triton's class that we use."""

    name = "_softmax"

    def __init__(self, signature: dict[str, Any], **metadata: object) -> None:
        plain = {
            "num_warps": 4,
            "num_ctas": 1,
            "shared": 0,
            "launch_cooperative_grid": False,
            "global_scratch_size": 0,
            "profile_scratch_size": 0,
            "target": SimpleNamespace(warp_size=32),
        }
        self.metadata = SimpleNamespace(**plain | metadata)
        self.src = SimpleNamespace(signature=signature)
        self.asm = {"cubin": b"code"}
        self.started: list[tuple[object, ...]] = []

    @property
    def run(self):
        return lambda *given: self.started.append(given)


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = ModuleType("triton.compiler")
    compiler.CompiledKernel = CompiledKernel
    monkeypatch.setitem(sys.modules, "triton.compiler", compiler)


def recorded(
    kernel: CompiledKernel, *values: object, grid: tuple[int, int, int] = (2, 1, 1)
) -> Recording:
    given = (*grid, 0, "function", "packed", None, None, None, *values)
    with recording.recorded(range(0)) as recorder:
        kernel.run(*given)
    assert kernel.started == [given], "it is started as it would be, whatever is recorded"
    return recorder.recording()


def test_a_tuple_becomes_one_parameter_for_each_part():
    kernel = CompiledKernel({"pair": ("i32", ("fp32", "constexpr")), "n": "i64"})
    (launch,) = recorded(kernel, (3, (0.5, 7)), 9).launches
    assert launch.parameters[:-2] == (("i32", 3), ("fp32", 0.5), ("i64", 9))


def test_a_tensor_seen_as_another_dtype_is_its_memory():
    tensor = torch.zeros(4)
    seen = SimpleNamespace(base=tensor, data_ptr=tensor.data_ptr)
    (launch,) = recorded(CompiledKernel({"x": "*i8"}), seen).launches
    assert launch.parameters[0] == ("scratch", 0)


def test_a_grid_without_programs_starts_nothing():
    assert recorded(CompiledKernel({}), grid=(0, 1, 1)) == Recording()


@pytest.mark.parametrize(
    ("signature", "metadata", "values", "why"),
    [
        ({}, {"num_ctas": 2}, (), "in clusters"),
        ({}, {"launch_cooperative_grid": True}, (), "together"),
        ({}, {"global_scratch_size": 64}, (), "scratch from Triton's launcher"),
        ({"x": "*fp32"}, {}, (1 << 30,), "not a tensor's"),
        ({"x": "tensordesc<fp32[64]>"}, {}, (None,), "passes a tensordesc<fp32[64]>"),
        ({"x": "i32", "y": "i32"}, {}, (1,), "ValueError"),
        ({"x": "i32"}, {}, ("one",), "TypeError"),
    ],
)
def test_what_a_plain_launch_lacks_is_refused(signature, metadata, values, why: str):
    found = recorded(CompiledKernel(signature, **metadata), *values)
    assert why in found.refused
    assert found.launches == ()
