"""Launches of compiled CUDA C++: observed where each one passes, or withheld."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cuda import core
from cuda.bindings import driver, runtime

from grader.backends.cuda import parameters, refused_names
from grader.machine import driver_result
from grader.model import Launched
from grader.worker.launches import Launches, Withheld, graphs_withheld

# The bindings of CUDA itself, which a file may call in place of cuda.core.
_SUCCESS = driver.CUresult.CUDA_SUCCESS
_BARE: tuple[tuple[Any, str, Any], ...] = (
    (driver, "cuLaunchKernel", _SUCCESS),
    (driver, "cuLaunchKernelEx", _SUCCESS),
    (driver, "cuLaunchCooperativeKernel", _SUCCESS),
    (driver, "cuGraphLaunch", _SUCCESS),
    (runtime, "cudaGraphLaunch", runtime.cudaError_t.cudaSuccess),
)


class _Launching:
    """NVIDIA's function, and the one that launches now: a kernel file holds one that calls it.

    `bare` is called before each launch by CUDA's bindings, and returns whether it may happen.
    """

    start: Callable[..., None]
    now: Callable[..., None]
    bare: Callable[[], bool] = staticmethod(lambda: True)


def install() -> None:
    """Have `cuda.core.launch` be a function that can be observed, before a file imports it.

    The first launch of each kernel is held to the kernel's parameters and shared memory, too.
    """
    _Launching.start = _Launching.now = staticmethod(core.launch)
    checked: set[Any] = set()

    def launch(stream: Any, config: Any, kernel: Any, *kernel_args: Any) -> None:
        if type(stream) is refused_names.Builder:
            refused_names.record_graph()
        if kernel not in checked:
            _check(kernel, config, kernel_args)
            checked.add(kernel)
        _Launching.now(stream, config, kernel, *kernel_args)

    core.launch = launch
    for module, name, success in _BARE:
        setattr(module, name, _bare(getattr(module, name), success))


def _bare(start: Callable[..., Any], success: Any) -> Callable[..., Any]:
    def launch(*args: Any, **options: Any) -> Any:
        return start(*args, **options) if _Launching.bare() else (success,)

    return launch


def _check(kernel: Any, config: Any, arguments: Sequence[Any]) -> None:
    try:
        name, sizes = name_of(kernel), [size for _, size in kernel.arguments_info]
        most_shared = kernel.attributes.max_dynamic_shared_size_bytes
    except Exception:  # a driver that does not know: the launch must happen all the same
        return
    parameters.check_shared(config.shmem_size, most_shared)
    parameters.check(name, sizes, arguments)


def name_of(kernel: Any) -> str:
    name: bytes = driver_result(driver.cuKernelGetName(kernel.handle), "cuKernelGetName")
    return name.decode()


@contextmanager
def instead(other: Callable[..., None], bare: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Call `other` for each launch meanwhile, and `bare` before one by CUDA's bindings.

    The latter happens where `bare` returns True.
    """
    before = _Launching.now, _Launching.bare
    _Launching.now, _Launching.bare = staticmethod(other), staticmethod(bare)
    try:
        yield
    finally:
        _Launching.now, _Launching.bare = staticmethod(before[0]), staticmethod(before[1])


@contextmanager
def observed() -> Iterator[Launches]:
    launches = Launches(_read=_figures)

    def launch(stream: Any, config: Any, kernel: Any, *kernel_args: Any) -> None:
        launches.note(kernel, math.prod(config.block), config.shmem_size)
        _Launching.start(stream, config, kernel, *kernel_args)

    with instead(launch):
        yield launches


def start(stream: Any, config: Any, kernel: Any, *kernel_args: Any) -> None:
    """Launch a kernel by NVIDIA's own function."""
    _Launching.start(stream, config, kernel, *kernel_args)


def _figures(kernel: Any, threads: int, shared: int, launches: int) -> Launched:
    attributes = kernel.attributes
    return Launched(
        kernel=name_of(kernel),
        registers=attributes.num_regs,
        # Local memory holds spilled registers and arrays of a thread alike.
        spills=None if attributes.local_size_bytes else 0,
        shared_bytes=attributes.shared_size_bytes + shared,
        threads=threads,
        launches=launches,
    )


@contextmanager
def withheld() -> Iterator[Withheld]:
    """Compile and load kernels, and report errors of that, but start none.

    A graph of cuda.core would be replayed all the same, so no file can record one.
    """
    record = Withheld()

    def bare() -> bool:
        record.launch()
        return False

    with instead(record.launch, bare), graphs_withheld(record):
        yield record
