"""Launches of CUDA C++, recorded so that another process can make them again."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import driver

from grader.backends.cuda import launches, programs
from grader.worker.recorder import NotRecorded, Parameter, Recorder

INTEGERS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
FLOATS = {4: "fp32", 8: "fp64"}
POINTER = 8  # bytes


@dataclass(frozen=True)
class Allocation:
    """GPU memory beside the arena, in the words of torch's storages."""

    start: int
    size: int

    def data_ptr(self) -> int:
        return self.start

    def nbytes(self) -> int:
        return self.size


@contextmanager
def recorded(arena: range) -> Iterator[Recorder]:
    """Record each launch that happens meanwhile, and let it happen."""
    recorder = Recorder(arena)

    def launch(stream: Any, config: Any, kernel: Any, *arguments: Any) -> None:
        try:
            _note(recorder, arena, config, kernel, arguments)
        except NotRecorded as error:
            recorder.refuse(str(error))
        except Exception as error:  # of ours: the launch must happen all the same
            recorder.refuse(f"a launch could not be recorded ({type(error).__name__}: {error})")
        launches.start(stream, config, kernel, *arguments)

    def bare() -> bool:
        recorder.refuse("it launches by CUDA's bindings")
        return True

    with launches.instead(launch, bare):
        yield recorder


def _note(
    recorder: Recorder, arena: range, config: Any, kernel: Any, arguments: Sequence[Any]
) -> None:
    """Record one launch. Raises NotRecorded for one that needs more than a plain launch."""
    if config.cluster is not None or config.is_cooperative:
        raise NotRecorded("its blocks are launched in clusters, or together")
    threads, *others = config.block
    if math.prod(others) != 1:
        raise NotRecorded("its blocks have more than one axis")
    name = launches.name_of(kernel)
    sizes = [size for _, size in kernel.arguments_info]
    parameters = [
        _parameter(recorder, arena, size, argument)
        for size, argument in zip(sizes, arguments, strict=True)
    ]
    x, y, z = config.grid
    recorder.note(name, _code(kernel, name), (x, y, z), threads, config.shmem_size, parameters)


def _code(kernel: Any, name: str) -> bytes:
    """Return the machine code that holds this kernel. A source has its own for each dtype."""
    for built in programs.compiled:
        with suppress(Exception):  # it holds no kernel of this name
            if built.code_type == "cubin" and built.get_kernel(name).handle == kernel.handle:
                return bytes(built.code)
    raise NotRecorded(f"{name} was not compiled to machine code by Program.compile")


def _parameter(recorder: Recorder, arena: range, size: int, argument: Any) -> Parameter:
    """Return an argument as the parameter of `size` bytes that CUDA makes of it."""
    value = argument.value if isinstance(argument, ctypes._SimpleCData) else argument
    if isinstance(value, float | np.floating) and size in INTEGERS:
        if size in FLOATS:
            return FLOATS[size], float(value)
        return INTEGERS[size], int.from_bytes(np.asarray(value).tobytes(), "little")
    if not isinstance(value, int | np.integer | np.bool_) or size not in INTEGERS:
        raise NotRecorded(f"it passes a {type(argument).__name__}")
    number = int(value) & ((1 << 8 * size) - 1)  # as many bytes as the parameter has
    if size == POINTER and number not in arena and (memory := _allocation(number)) is not None:
        return recorder.pointer(number, memory)
    return recorder.pointer(number) if number in arena else (INTEGERS[size], number)


def _allocation(number: int) -> Allocation | None:
    """Return the GPU memory around an address; None if the number is not an address in it."""
    if number == 0:
        return None
    error, start, size = driver.cuMemGetAddressRange(number)
    if error != driver.CUresult.CUDA_SUCCESS:
        return None
    return Allocation(int(start), int(size))
