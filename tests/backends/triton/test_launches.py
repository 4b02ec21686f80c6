"""Launches of Triton kernels, observed and withheld, on fakes of Triton's objects."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from grader.backends.triton import launches
from grader.model.messages import Launched

pytestmark = pytest.mark.slow


class CompiledKernel:
    """The parts of Triton's class that we use; registers are known once a kernel is loaded."""

    fails = False

    def __init__(self, name: str = "_softmax") -> None:
        target = SimpleNamespace(warp_size=32)
        self.name = name
        self.metadata = SimpleNamespace(num_warps=8, shared=512, target=target)
        self.done: list[object] = []

    def launch_metadata(self, grid: object, stream: object, *args: object) -> str:
        return "from the original"

    @property
    def run(self):
        if self.fails:
            raise RuntimeError("out of resources")
        self.done.append("loaded")
        self.n_regs, self.n_spills = 48, 3
        return self.done.append

    def launch(self) -> None:
        assert self.launch_metadata((1,), 0, "x") == "from the original"
        self.run("started")


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = ModuleType("triton.compiler")
    compiler.CompiledKernel = CompiledKernel
    monkeypatch.setitem(sys.modules, "triton.compiler", compiler)


def test_a_launch_is_seen_with_what_the_compiler_made():
    before = dict(vars(CompiledKernel))
    once, twice = CompiledKernel("_once"), CompiledKernel()
    with launches.observed() as seen:
        once.launch()
        twice.launch()
        twice.launch()
    assert dict(vars(CompiledKernel)) == before
    assert seen.most_launched() == (
        Launched("_softmax", 48, 12, 512, 256, 2),
        Launched("_once", 48, 12, 512, 256, 1),
    )


def test_a_kernel_that_was_never_loaded_is_left_out():
    with launches.observed() as seen:
        CompiledKernel().launch_metadata((1,), 0)
    assert seen.most_launched() == ()


def test_a_withheld_kernel_is_loaded_and_not_started():
    before, kernel = dict(vars(CompiledKernel)), CompiledKernel()
    with launches.withheld() as record:
        kernel.launch()
        kernel.fails = True
        with pytest.raises(RuntimeError, match="out of resources"):
            kernel.launch()
    assert kernel.done == ["loaded"]
    assert (record.launches, record.broken) == (1, "")
    assert dict(vars(CompiledKernel)) == before
