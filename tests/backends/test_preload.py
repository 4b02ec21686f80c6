"""Compilers that are loaded before workers are forked: it must help, and leave nothing behind."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from needs_nvrtc import NEEDS_NVRTC

pytestmark = pytest.mark.slow

SAY_WHAT_IS_LOADED = """
import sys
import torch
from triton import compile, jit
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from grader.backends.triton import preload

def loaded():
    return {name for name in sys.modules if name.startswith("triton.")}

AHEAD
before = loaded()
compile(ASTSource(jit(preload._nothing), {"out": "*fp32"}), target=GPUTarget("cuda", 80, 32))
print(len(loaded() - before))
"""


def run(code: str, tmp_path: Path) -> str:
    """What Python prints in a process of its own, whose caches and files lie in `tmp_path`."""
    for name in ("cache", "files"):
        (tmp_path / name).mkdir()
    there = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "files")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "/usr/bin:/bin"} | there,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_after_it_a_first_compilation_loads_nothing(tmp_path: Path):
    assert run(SAY_WHAT_IS_LOADED.replace("AHEAD", "preload.preload()"), tmp_path) == "0"


def test_without_it_a_first_compilation_loads_the_compiler(tmp_path: Path):
    """What the test above is worth."""
    assert int(run(SAY_WHAT_IS_LOADED.replace("AHEAD", ""), tmp_path)) > 10


def test_a_first_compilation_to_ttir_loads_nothing_either(tmp_path: Path):
    ahead = "import grader.backends.triton.driver.preload as of_driver; of_driver.preload()"
    code = SAY_WHAT_IS_LOADED.replace("AHEAD", "compiler.install(); " + ahead)
    code = "from grader.backends.triton.driver import compiler\n" + code.replace(", 80", ", 90")
    assert run(code, tmp_path) == "0"


def test_after_it_a_device_imports_no_operation_and_makes_no_parser(tmp_path: Path):
    code = """
from grader.backends.triton.device import operations
from grader.backends.triton.device.process import preload
from grader.backends.triton.device.ttir import lines
print(preload(), operations._registered.cache_info().misses, lines.grammar.cache_info().misses)
"""
    assert run(code, tmp_path) == "None 1 1"


@pytest.mark.parametrize(
    "library",
    [
        *("triton", "numba", "triton.driver", "triton.device"),
        pytest.param("cuda", marks=NEEDS_NVRTC),
    ],
)
def test_it_leaves_no_file_and_starts_no_gpu(library: str, tmp_path: Path):
    """What lies in a worker's home is the learner's to change; a started GPU survives no fork.

    Where there is none, as on a laptop, what needs one is left to the worker."""
    code = f"""
import torch
from triton import knobs
from grader.backends.{library} import preload
before = knobs.cache.dir
preload.preload()
print(knobs.cache.dir == before, torch.cuda.is_initialized())
"""
    assert run(code, tmp_path) == "True False"
    assert list((tmp_path / "cache").iterdir()) == []
    assert list((tmp_path / "files").iterdir()) == []


@pytest.mark.parametrize(
    ("library", "missing", "reason"),
    [
        (
            "triton",
            "triton.compiler.ASTSource",
            "Triton's compiler is not preloaded: ImportError: cannot import name 'ASTSource' from",
        ),
        (
            "triton.driver",
            "triton.compile",
            "Triton's compiler is not preloaded: AttributeError: module 'triton'",
        ),
        (
            "numba",
            "numba.types.float32",
            "numba's compiler is not preloaded: AttributeError: module 'numba",
        ),
        (
            "triton.device",
            "grader.backends.triton.device.launches.execute",
            "The simulated GPU is not preloaded: the simulated GPU failed (NameError",
        ),
        (
            "cuda",
            "cuda.bindings.nvrtc.nvrtcVersion",
            "NVRTC is not preloaded: AttributeError: ",
        ),
    ],
)
def test_returns_why_it_loaded_nothing(
    library: str, missing: str, reason: str, monkeypatch: pytest.MonkeyPatch
):
    """What the tests above cannot see: whatever fails here, a worker works all the same."""
    monkeypatch.delattr(missing)
    module = importlib.import_module(f"grader.backends.{library}.preload")
    assert module.preload().startswith(reason)


@pytest.mark.gpu
@NEEDS_NVRTC
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_nvrtc_is_loaded_and_cuda_not_started(tmp_path: Path):
    """torch does not know what other libraries started."""
    code = """
from grader.backends.cuda import compiled
from grader.worker.gpu import cuda_started
compiled.install()
assert compiled.preload() is None
before = cuda_started()
import torch
torch.cuda.init()
print(before, cuda_started())
"""
    assert run(code, tmp_path) == "False True"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_a_worker_that_is_forked_after_it_can_start_the_gpu(tmp_path: Path):
    code = """
import os
import torch
from grader.backends.numba import preload as of_numba
from grader.backends.triton import preload
assert (preload.preload(), of_numba.preload()) == (None, None)
if os.fork() == 0:
    from numba import cuda
    from triton import jit
    out = torch.ones(1, device="cuda")
    jit(preload._nothing)[(1,)](out)
    cuda.jit(preload._nothing)[1, 1](cuda.as_cuda_array(out))
    torch.cuda.synchronize()
    print(out.item(), flush=True)
    os._exit(0)
os.wait()
"""
    assert run(code, tmp_path) == "1.0"
