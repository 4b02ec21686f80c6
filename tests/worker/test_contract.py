"""Private names and texts of torch, and of others that no kernel language brings.

A row names what an untested version lacks. `pytest tests -k contract` runs all of these.
"""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata

import numpy as np
import pytest
import torch
from contracts import is_used, rows
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.machine import devices
from grader.sandbox.worker_link import DEVICE_ASSERT
from grader.worker import contract, faults
from grader.worker.requirements import Touchpoint

pytestmark = pytest.mark.slow

ROWS = rows(contract.SIMULATED, contract.COMPILED)
ATEN = torch.ops.aten


@ROWS
def test_contract_holds(touchpoint: Touchpoint):
    assert touchpoint.misfit() is None


@ROWS
def test_contract_lists_what_is_used(touchpoint: Touchpoint):
    assert is_used(touchpoint)


# -- what torch_operations.py reads of an operation


@pytest.mark.parametrize(
    ("operation", "name", "writes"),
    [
        (ATEN.copy_.default, "aten::copy_", {"self": True, "src": None}),
        (ATEN.view.default, "aten::view", {"self": False, "size": None}),
        (ATEN.empty_like.default, "aten::empty_like", {"self": None}),
    ],
)
def test_contract_an_operation_has_a_schema(operation, name: str, writes: dict[str, bool | None]):
    schema = operation._schema
    assert schema.name == name
    assert operation.overloadpacket.__name__ == name.removeprefix("aten::")
    arguments = {argument.name: argument.alias_info for argument in schema.arguments}
    for argument, written in writes.items():
        info = arguments[argument]
        assert (None if info is None else info.is_write) == written


def test_contract_an_out_argument_is_known():
    outs = {a.name: a.is_out for a in ATEN.exp.out._schema.arguments}
    assert outs == {"self": False, "out": True}


def test_contract_a_weak_reference_is_to_the_memory():
    reductions = importlib.import_module("torch.multiprocessing.reductions")
    tensor = torch.zeros(3)
    reference = reductions.StorageWeakRef(tensor.untyped_storage())
    view = tensor[1:]
    del tensor
    gc.collect()
    assert not reference.expired()
    assert reference.cdata == view.untyped_storage()._cdata
    del view
    gc.collect()
    assert reference.expired()


def test_contract_following_operations_imports_no_compiler():
    """It takes a second of each check."""
    code = """
import sys
import torch
from grader.worker.bounds import Span
from grader.worker.allocations import Allocations
from grader.worker.torch_operations import Allocating
with Allocating(Allocations(), Span(0, 0, "arena")):
    torch.zeros(3).sum()
print(sorted(name for name in sys.modules if name.startswith("torch._dynamo.")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- what `grader bench` sets in a worker, and a plugin that judges load by its module


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch._dynamo.config", "recompile_limit"),
        ("torch._dynamo.config", "fail_on_recompile_limit_hit"),
        ("torch._inductor.config", "compile_threads"),
        ("torch._dynamo", "mark_static"),
    ],
)
def test_contract_bench_compiles_each_size_for_itself(module: str, name: str):
    assert hasattr(importlib.import_module(module), name), f"{module}.{name} (grading/bench.py)"


def test_contract_hypothesis_plugin_has_its_module():
    plugins = {each.value for each in metadata.entry_points(group="pytest11")}
    assert "_hypothesis_pytestplugin" in plugins  # grading/judge.py


# -- texts by which faults.py knows an error


def error_of(work: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011  which one is what is tested
        work()
    return caught.value


def test_contract_out_of_memory_in_torch():
    error = error_of(lambda: torch.empty(1 << 60))
    assert faults.describe(error, "kernel.py").kind == "out_of_memory"


def test_contract_out_of_memory_in_numpy(snapshot: SnapshotAssertion):
    error = error_of(lambda: np.empty(1 << 56))
    fault = faults.describe(error, "kernel.py")
    assert fault.kind == "out_of_memory"
    assert text_of(fault) == snapshot


def test_contract_torch_names_its_own_out_of_memory_error():
    assert torch.OutOfMemoryError.__name__ == "OutOfMemoryError"
    assert issubclass(torch.OutOfMemoryError, RuntimeError)


# In a process of its own: after two of these nothing runs on the GPU any more.
ON_A_GPU = {
    "out_of_memory": "torch.empty(1 << 50, device='cuda')",
    "out_of_bounds": """
import triton
import triton.language as tl
@triton.jit
def far(x):
    tl.store(x + (1 << 40), 1.0)
far[(1,)](torch.zeros(1, device="cuda"))
torch.cuda.synchronize()
""",
    "exception": """
torch.zeros(4, device="cuda")[torch.tensor([1 << 20], device="cuda")]
torch.cuda.synchronize()
""",
}
SAY = """
import runpy
import sys
from grader.machine import devices
from grader.worker import faults
try:
    runpy.run_path(sys.argv[1])  # a file, for Triton reads the text of a kernel
except Exception as error:
    print(faults.describe(error, "kernel.py").kind, devices.gpu_is_lost(error))
    print(error)
"""


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ON_A_GPU)
def test_contract_of_torchs_errors_on_a_gpu(kind: str, tmp_path):
    file = tmp_path / "far.py"
    file.write_text("import torch\n" + ON_A_GPU[kind], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SAY, str(file)], capture_output=True, text=True, check=True
    )
    first, _, text = done.stdout.partition("\n")
    assert first == f"{kind} True"
    if kind == "out_of_memory":
        assert "Tried to allocate" in text
    else:
        assert faults.TORCH_ON_DEBUGGING in text
    if kind == "exception":
        assert any(said in text for said in DEVICE_ASSERT)


def test_contract_an_error_of_torch_without_a_gpu_is_no_lost_one():
    assert not devices.gpu_is_lost(ValueError("CUDA"))
    assert not devices.gpu_is_lost(error_of(lambda: torch.zeros(2) @ torch.zeros(3)))
