"""Compilers that are loaded before workers are forked: it must help, and leave nothing behind."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from needs_nvrtc import NEEDS_NVRTC

pytestmark = pytest.mark.slow

# Each looks at what another process could not: what one has loaded after, and which files it made.
# Of the libraries they share what none of them asks about: torch, and Triton without its compiler.
SHARED = """
import json, os, sys, tempfile, traceback
import torch
from triton import compile, jit, knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

for name, code in json.load(sys.stdin).items():
    if os.fork() == 0:
        status = 1
        try:
            os.environ |= {"TRITON_CACHE_DIR": f"{name}/cache", "TMPDIR": f"{name}/files"}
            tempfile.tempdir = None
            sys.stdout = open(f"{name}/printed", "w")
            exec(code, globals())
            sys.stdout.flush()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.wait()
"""
SAY_WHAT_IS_LOADED = """
from grader.backends.triton import preload

def loaded():
    return {name for name in sys.modules if name.startswith("triton.")}

AHEAD
before = loaded()
compile(ASTSource(jit(preload._nothing), {"out": "*fp32"}), target=GPUTarget("cuda", 80, 32))
print(len(loaded() - before))
"""
TO_TTIR = "from grader.backends.triton.driver import compiler\n" + SAY_WHAT_IS_LOADED.replace(
    "AHEAD",
    "compiler.install()\n"
    "import grader.backends.triton.driver.preload as of_driver\n"
    "of_driver.preload()",
).replace(", 80", ", 90")
SAY_WHAT_A_DEVICE_LACKS = """
from grader.backends.triton.device import operations
from grader.backends.triton.device.process import preload
from grader.backends.triton.device.ttir import lines
print(preload(), operations._registered.cache_info().misses, lines.grammar.cache_info().misses)
"""
SAY_WHAT_IT_LEAVES = """
from grader.backends.{library} import preload
before = knobs.cache.dir
preload.preload()
print(knobs.cache.dir == before, torch.cuda.is_initialized())
"""
LIBRARIES = ("triton", "numba", "triton.driver", "triton.device", "cuda")


@dataclass(frozen=True)
class Ended:
    """A process that has ended: the text that it printed, the folder of all files that it made."""

    printed: str
    folder: Path


def run_each(codes: Mapping[str, str], tmp_path: Path) -> dict[str, Ended]:
    """Run each in a fork of one process, which has imported what SHARED says."""
    folders = {name: tmp_path / str(number) for number, name in enumerate(codes)}
    for folder in folders.values():
        (folder / "cache").mkdir(parents=True)
        (folder / "files").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SHARED],
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        input=json.dumps({str(folders[name]): code for name, code in codes.items()}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    printed = {name: (folder / "printed").read_text() for name, folder in folders.items()}
    return {name: Ended(printed[name].strip(), folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    codes = {
        "loaded ahead": SAY_WHAT_IS_LOADED.replace("AHEAD", "preload.preload()"),
        "not loaded ahead": SAY_WHAT_IS_LOADED.replace("AHEAD", ""),
        "to TTIR": TO_TTIR,
        "device": SAY_WHAT_A_DEVICE_LACKS,
    }
    codes |= {library: SAY_WHAT_IT_LEAVES.format(library=library) for library in LIBRARIES}
    return run_each(codes, tmp_path_factory.mktemp("preload"))


def test_after_it_a_first_compilation_loads_nothing(ended: dict[str, Ended]):
    assert ended["loaded ahead"].printed == "0"


def test_without_it_a_first_compilation_loads_the_compiler(ended: dict[str, Ended]):
    """What the test above is worth."""
    assert int(ended["not loaded ahead"].printed) > 10


def test_a_first_compilation_to_ttir_loads_nothing_either(ended: dict[str, Ended]):
    assert ended["to TTIR"].printed == "0"


def test_after_it_a_device_imports_no_operation_and_makes_no_parser(ended: dict[str, Ended]):
    assert ended["device"].printed == "None 1 1"


@pytest.mark.parametrize(
    "library",
    [*LIBRARIES[:-1], pytest.param("cuda", marks=NEEDS_NVRTC)],
)
def test_it_leaves_no_file_and_starts_no_gpu(ended: dict[str, Ended], library: str):
    """What lies in a worker's home is the learner's to change; a started GPU survives no fork.

    Where there is none, as on a laptop, what needs one is left to the worker."""
    assert ended[library].printed == "True False"
    assert list((ended[library].folder / "cache").iterdir()) == []
    assert list((ended[library].folder / "files").iterdir()) == []


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


def run(code: str, tmp_path: Path) -> str:
    """Run code in a process whose caches and files lie in `tmp_path`; return what it prints."""
    there = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "/usr/bin:/bin"} | there,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.gpu
@NEEDS_NVRTC
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
