"""A library that lacks a private name is found before a kernel file is read: exit code 3."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest
from needs_nvrtc import NEEDS_NVRTC

from grader.sandbox import fork_server
from grader.sandbox.fork_server import ForkServer, NoWorker

pytestmark = pytest.mark.slow

# Removes a name in the parent of workers, which then does as ever.
WITHOUT = """
import os, sys
if sys.argv[3] == "cpu":
    os.environ.update(NUMBA_DISABLE_CUDA="1")
{remove}
from grader.worker.__main__ import main
main(sys.argv[1:])
"""


@pytest.fixture
def start_without(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    def start(remove: str, backend: str, device: str) -> ForkServer:
        code = WITHOUT.format(remove=remove)
        monkeypatch.setattr(
            fork_server, "program", lambda _, *args: [sys.executable, "-I", "-c", code, *args]
        )
        server = ForkServer(backend, device)
        server.start()
        return server

    return start


@pytest.mark.parametrize(
    ("backend", "device", "remove", "missing", "tested"),
    [
        (
            *("triton", "cuda", "import triton; del triton.compiler.CompiledKernel.run"),
            *("triton.compiler.CompiledKernel.run.fget", "triton 3.7.1 or 3.6.0"),
        ),
        (
            *("triton", "cuda", "import torch; del torch.cuda.CUDAGraph"),
            *("torch.cuda.CUDAGraph.replay", "torch 2.13.0 or 2.11.0"),
        ),
        (
            *("numba", "cuda", "from numba.cuda import dispatcher; del dispatcher._Kernel.launch"),
            *("numba.cuda.dispatcher._Kernel.launch", "numba-cuda 0.30.4"),
        ),
        (
            *("cuda", "cuda", "from cuda import core; del core.launch"),
            *("cuda.core.launch", "cuda-core 1.2.2"),
        ),
        (
            *("cuda", "cuda", "from cuda.bindings import driver; del driver.cuKernelGetName"),
            *("cuda.bindings.driver.cuKernelGetName", "cuda-core 1.2.2"),
        ),
        (
            "cuda",
            "cpu",
            "from cuda.core import _kernel_arg_handler as of_launch; del of_launch.ParamHolder",
            *("cuda.core._kernel_arg_handler.ParamHolder", "cuda-core 1.2.2"),
        ),
        (
            *("triton", "cpu", "import torch; del torch.utils._pytree.tree_leaves"),
            *("torch.utils._pytree.tree_leaves", "torch 2.13.0 or 2.11.0"),
        ),
        (
            *(
                "numba",
                "cpu",
                "from numba.cuda import dispatcher; del dispatcher.CUDADispatcher.call",
            ),
            *("numba.cuda.dispatcher.CUDADispatcher.call", "numba-cuda 0.30.4"),
        ),
    ],
)
def test_names_what_is_missing_and_the_tested_versions(
    start_without, backend: str, device: str, remove: str, missing: str, tested: str
):
    with closing(start_without(remove, backend, device)) as server:
        with pytest.raises(NoWorker) as caught:
            server.fork(None)
        assert caught.value.exit_code == 3
        assert caught.value.message.endswith(f" does not fit: it has no {missing}.")
        assert caught.value.next_step.startswith(f"Install a tested version: {tested}. ")


@NEEDS_NVRTC
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_workers_start_where_all_fits(device: str):
    """Also those for a GPU, which need none before they get memory."""
    with closing(ForkServer("cuda", device)) as server:
        server.start()
        worker = server.fork(None)
        server.kill()
        worker.close()
        assert server.notes == ()


def test_a_dry_run_without_its_compiler_names_the_command_that_brings_it(start_without):
    remove = "from grader.backends.cuda import preload; preload.nvrtc = None"
    with closing(start_without(remove, "cuda", "cpu")) as server:
        with pytest.raises(NoWorker) as caught:
            server.fork(None)
        assert caught.value.exit_code == 3
        assert caught.value.message == "NVRTC, which compiles CUDA C++, is not installed."
        assert caught.value.next_step == "`pip install 'kernel-grader[cuda]'` brings it."


def test_the_error_that_ended_a_parent_of_workers_is_the_first_line(start_without):
    """A class run shows no more than that line, and a check the first few."""
    with closing(start_without("sys.modules['greenlet'] = None", "triton", "cpu")) as server:
        with pytest.raises(NoWorker) as caught:
            server.fork(None)
        assert caught.value.message.splitlines()[0] == (
            "The worker process could not start (it ended itself with exit status 1). "
            "ModuleNotFoundError: import of greenlet halted; None in sys.modules"
        )


def test_a_library_that_started_cuda_is_named(start_without):
    """No worker forked then can use the GPU. cuda.core's `Program` starts CUDA on one."""
    start = "from grader.worker import gpu; gpu.cuda_started = lambda: True"
    with closing(start_without(start, "triton", "cuda")) as server:
        with pytest.raises(NoWorker) as caught:
            server.fork(None)
        assert caught.value.exit_code == 3
        assert caught.value.message == (
            "Loading the libraries of 'triton' started CUDA, so no worker can use the GPU."
        )


def test_a_compiler_that_is_not_preloaded_is_noted_and_workers_start(start_without):
    remove = "import triton; del triton.compiler.ASTSource"
    with closing(start_without(remove, "triton", "cuda")) as server:
        worker = server.fork(None)
        server.kill()
        worker.close()
        (note,) = server.notes
        assert note.startswith("Triton's compiler is not preloaded: ImportError: ")
