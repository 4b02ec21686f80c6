"""Private names of Triton, and what it does with them where we rely on that."""

from __future__ import annotations

import base64
import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import triton
import triton.language as tl
from contracts import is_used, rows
from triton.backends.compiler import GPUTarget

from grader import backends
from grader.backends.triton import contract, launches, recording
from grader.sandbox.failures import from_fault
from grader.worker import faults
from grader.worker.requirements import Touchpoint

pytestmark = pytest.mark.slow

ROWS = rows(
    contract.COMPILED,
    contract.PRELOADED,
    contract.DRIVER,
    contract.DRIVER_OF_TORCH,
    contract.MACHINE_CODE,
)


@ROWS
def test_contract_holds(touchpoint: Touchpoint):
    assert touchpoint.misfit() is None


@ROWS
def test_contract_lists_what_is_used(touchpoint: Touchpoint):
    assert is_used(touchpoint)


@triton.jit
def twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, offsets < n), offsets < n)


@triton.jit
def broken(x_ptr):
    tl.store(x_ptr, no_such_name)  # noqa: F821


DEVICES = itertools.count()  # for each of which a kernel keeps what was compiled


class Driver:
    """A GPU that takes what Triton compiles, and runs nothing."""

    def __init__(self) -> None:
        self.device = next(DEVICES)
        self.started: list[tuple[object, ...]] = []
        self.utils = SimpleNamespace(
            get_device_properties=lambda device: {"max_shared_mem": 1 << 17},
            # module, function, registers, spilled words, most threads
            load_binary=lambda name, kernel, shared, device: (1, 2, 40, 3, 1024),
        )

    def launcher_cls(self, source: object, metadata: object):
        return lambda *grid_and_more: self.started.append(grid_and_more[:3])

    def get_current_device(self) -> int:
        return self.device

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 80, 32)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Driver:
    made = Driver()
    monkeypatch.setattr(triton.runtime.driver, "_active", made)
    monkeypatch.setattr(triton.knobs.cache, "dir", str(tmp_path))
    return made


def launch() -> None:
    x = torch.zeros(300)
    twice[(3,)](x, x, 300, BLOCK=128, num_warps=8)


def test_contract_each_launch_passes_where_it_is_observed(driver: Driver):
    with launches.observed() as seen:
        launch()
        launch()
    assert driver.started == [(3, 1, 1), (3, 1, 1)]
    (found,) = seen.most_launched()
    assert (found.kernel, found.launches, found.threads) == ("twice", 2, 256)
    assert (found.registers, found.spills, found.shared_bytes) == (40, 12, 0)


def test_contract_a_launch_is_recorded_as_the_driver_takes_it(driver: Driver):
    arena, own = torch.zeros(300), torch.zeros(200)
    addresses = range(arena.data_ptr(), arena.data_ptr() + arena.nbytes)
    with recording.recorded(addresses) as recorder:
        twice[(3,)](arena[4:], own[8:], 300, BLOCK=128, num_warps=8)
        twice[(1, 2)](own, own, 1, BLOCK=128, num_warps=8)  # 1 is compiled in, as a constexpr is
    assert driver.started == [(3, 1, 1), (1, 2, 1)]
    found = recorder.recording()
    assert (found.refused, found.scratch) == ("", 1024)  # 800 bytes, rounded up
    first, second = found.launches
    assert (first.kernel, first.grid, first.threads, first.shared) == ("twice", (3, 1, 1), 256, 0)
    ends = ("u64", 0), ("u64", 0)
    assert first.parameters == (("arena", 16), ("scratch", 32), ("i32", 300), *ends)
    assert second.parameters == (("scratch", 0), ("scratch", 0), *ends)
    assert (first.code, second.code) == (0, 1)
    for text in found.code:
        assert base64.b64decode(text).startswith(b"\x7fELF")


@triton.jit
def of_numbers(out_ptr, flag, small, wide, factor):
    tl.store(out_ptr, flag * small + wide + factor)


def test_contract_numbers_are_recorded_with_their_types(driver: Driver):
    with recording.recorded(range(0)) as recorder:
        of_numbers[(1,)](torch.zeros(1), True, -7, 1 << 40, 0.5)
    (launch,) = recorder.recording().launches
    assert launch.parameters[1:5] == (("u1", 1), ("i32", -7), ("i64", 1 << 40), ("fp32", 0.5))


def test_contract_a_withheld_launch_does_not_start(driver: Driver):
    with launches.withheld() as record:
        launch()
        launch()
    assert driver.started == []
    assert record.launches == 2
    launch()
    assert driver.started == [(3, 1, 1)]


def test_contract_a_withheld_launch_is_loaded(driver: Driver):
    driver.utils.load_binary = lambda *args: (1, 2, 40, 3, 32)  # too few threads for a block
    with launches.withheld() as record, pytest.raises(triton.runtime.errors.OutOfResources):
        launch()
    assert record.launches == 0


def test_contract_a_compile_error_has_its_line(driver: Driver):
    with pytest.raises(triton.CompilationError) as caught:
        broken[(1,)](torch.zeros(3))
    fault = faults.describe(caught.value, __file__)
    assert fault.kind == "compile"
    assert fault.message == (
        "the kernel cannot be compiled: NameError('no_such_name is not defined')"
    )
    assert fault.frames[-1][2] == "tl.store(x_ptr, no_such_name)  # noqa: F821"


def test_contract_the_kernel_of_a_forgotten_decorator_has_a_hint():
    def plain(x_ptr):
        """No kernel."""

    with pytest.raises(TypeError) as caught:
        plain[(1,)](torch.zeros(3))
    failure = from_fault(faults.describe(caught.value, __file__), "triton")
    assert failure.hint == next(iter(backends.find("triton").hints.messages["exception"].values()))
