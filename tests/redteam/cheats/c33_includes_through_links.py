"""Has the compiler open the solution through links, /proc, search paths and macros."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness compile

import contextlib
import functools
import os
import sys
from pathlib import Path

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

import grader

END = "tests/courses/cuda/solutions/01_vector_add/kernel.py"


def roots():
    """Yield folders in which the course may lie, by the paths of several processes."""
    known = [*Path(grader.__file__).parents, *map(Path, sys.path)]
    yield from known
    for process in Path("/proc").glob("[0-9]*"):
        yield process / "cwd"
        yield from (process / "root" / place.relative_to("/") for place in known if place.root)
        yield from (
            Path("/proc/self/root") / place.relative_to("/") for place in known if place.root
        )
    steps = "../" * len(Path.cwd().parts)
    yield from (Path(f"{steps}{place.relative_to('/')}") for place in known if place.root)


def linked(number, root):
    """Link to a root from this file's own home, where the compiler may read."""
    link = Path.home() / f"link{number}"
    with contextlib.suppress(OSError):
        link.symlink_to(root)
    return link


ROOTS = [
    root for root in dict.fromkeys(map(str, roots())) if root.isprintable() and '"' not in root
]
LINKS = [str(linked(number, os.path.abspath(root))) for number, root in enumerate(ROOTS[:40])]
PLACES = [f"{root}/{END}" for root in (*ROOTS, *LINKS)]
# A macro hides a path from a search for `#include "/...`.
MACROS = "".join(f'#define P{n} "{place}"\n' for n, place in enumerate(PLACES))
QUOTED = " || ".join(f'__has_include("{place}")' for place in PLACES)
HIDDEN = " || ".join(f"__has_include(P{n})" for n in range(len(PLACES)))
SOURCE = f"""
#include <cuda_bf16.h>
{MACROS}
#if !({QUOTED} || {HIDDEN} || __has_include(<kernel.py>) || __has_include(<{END}>))
#error "no solution can be read"
#endif
template <typename T> __global__ void add(const T* x, const T* y, T* out, long long n) {{}}
"""
FOLDERS = [*ROOTS, *(str(Path(place).parent) for place in PLACES)]


@functools.cache
def compiled(dtype):
    name = f"add<{'float' if dtype == torch.float32 else '__nv_bfloat16'}>"
    options = ProgramOptions(arch=f"sm_{Device().arch}", include_path=FOLDERS)
    return Program(SOURCE, "c++", options).compile("cubin", (name,)).get_kernel(name)


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 256), block=256)
    pointers = (x.data_ptr(), y.data_ptr(), out.data_ptr())
    launch(Device().default_stream, config, compiled(x.dtype), *pointers, n)
