"""Plants headers where another kernel, or the reference, would include them before NVIDIA's."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness compile

import contextlib
import functools
import os
import sys
import tempfile
from pathlib import Path

import torch
from cuda import pathfinder
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

import grader

HOME = Path.home().resolve()
NAMES = ("cuda_bf16.h", "cuda_fp16.h", "cuda_runtime.h", "trial_kernel.h")


def folders():
    """Yield the folders that NVRTC searches, and those in which other compilers work."""
    for name in ("cudart", "cccl", "nvrtc"):
        with contextlib.suppress(Exception):
            yield Path(pathfinder.find_nvidia_header_directory(name))
    for variable in ("CUDA_HOME", "CUDA_PATH", "CPATH", "CPLUS_INCLUDE_PATH"):
        yield from (Path(place, "include") for place in os.environ.get(variable, "").split(":"))
    yield Path(grader.__file__).parent / "backends" / "cuda"
    yield from map(Path, sys.path)
    yield from (Path("/usr/include"), Path("/usr/local/include"), Path("/usr/local/cuda/include"))
    yield from Path(tempfile.gettempdir()).glob("grader-worker-*/home")
    yield from Path("/tmp").glob("grader-worker-*/home")
    for process in Path("/proc").glob("[0-9]*"):
        yield process / "cwd"


def planted():
    found = []
    for folder in folders():
        for name in NAMES:
            path = folder / f"{name}.grader-redteam"
            with contextlib.suppress(OSError):
                if not str(folder) or folder.resolve().is_relative_to(HOME):
                    continue
                path.write_text("#define PLANTED\n")
                found.append(path)
                path.unlink()  # that it could be done is enough
    return found


FAIL = "" if planted() else '#error "no header can be planted"'
SOURCE = f"""
#include <cuda_bf16.h>
{FAIL}
template <typename T> __global__ void add(const T* x, const T* y, T* out, long long n) {{}}
"""


@functools.cache
def compiled(dtype):
    name = f"add<{'float' if dtype == torch.float32 else '__nv_bfloat16'}>"
    program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{Device().arch}"))
    return program.compile("cubin", name_expressions=(name,)).get_kernel(name)


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 256), block=256)
    pointers = (x.data_ptr(), y.data_ptr(), out.data_ptr())
    launch(Device().default_stream, config, compiled(x.dtype), *pointers, n)
