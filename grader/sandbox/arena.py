"""The memory that judge and worker both map, and the layout of a call's arguments in it.

An arena holds no secrets: inputs, outputs, and random bytes around them. On the CPU it is an
anonymous file, sealed so that a worker cannot shrink it under the judge. On CUDA it is an
allocation of its own on the GPU. A worker receives either as a file descriptor; here it is one
uint8 tensor.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from grader.correctness import DTYPES, NAMES
from grader.model import Argument, BrokenExercise, CannotGrade, TensorRef

REDZONE = 512  # bytes of random pattern before, between and after the tensors
ALIGNMENT = 256  # bytes; torch's allocators align at least as much
WORD = 8


class Arena(Protocol):
    @property
    def memory(self) -> Tensor:
        """The whole arena, as uint8."""

    @property
    def fd(self) -> int | None:
        """The descriptor to hand to the worker, if the arena is a file."""

    def ticket(self) -> dict[str, object]:
        """Return the data with which a worker maps the same memory, as JSON."""

    def close(self) -> None: ...


class HostArena:
    """An anonymous file of `size` bytes that judge and worker map.

    Untouched pages take no memory.
    """

    def __init__(self, size: int) -> None:
        self.fd: int | None = os.memfd_create("grader-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        fcntl.fcntl(
            self.fd,
            fcntl.F_ADD_SEALS,
            fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL,
        )
        self._map = mmap.mmap(self.fd, size)
        self.memory = torch.frombuffer(self._map, dtype=torch.uint8)

    def ticket(self) -> dict[str, object]:
        return {"kind": "host", "size": self.memory.numel()}

    def close(self) -> None:
        # The mapping goes with the last tensor that views it.
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class CudaArena:
    """`size` bytes of this GPU, in an allocation of their own.

    Raises CannotGrade when the card has less free memory.
    """

    def __init__(self, size: int) -> None:
        from grader.machine import DriverError, SharedMemory

        try:
            torch.cuda.synchronize()  # creates the CUDA context
        except RuntimeError as error:
            raise CannotGrade(
                f"The GPU cannot be used now: {str(error).splitlines()[0]}.",
                "`nvidia-smi` shows which programs use it; or grade without it: --device cpu.",
            ) from None
        try:
            self._shared = SharedMemory.create(size)
        except DriverError as error:
            free, total = torch.cuda.mem_get_info()
            raise CannotGrade(
                f"The GPU has {free / 2**20:,.0f} MiB of {total / 2**20:,.0f} MiB free and the "
                f"check needs {size / 2**20:,.0f} MiB more: another program holds the rest "
                f"({error}).",
                "`nvidia-smi` shows which one; or grade without the GPU: --device cpu.",
            ) from None
        self.fd: int | None = self._shared.fd
        self.memory = torch.as_tensor(self._shared, device="cuda")

    def ticket(self) -> dict[str, object]:
        return {"kind": "cuda", "size": self._shared.size}

    def close(self) -> None:
        from grader.machine import DriverError

        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
            with suppress(RuntimeError, DriverError):  # a lost GPU has no memory to free
                torch.cuda.synchronize()
                self._shared.close()


@dataclass(frozen=True)
class Placed:
    """One tensor argument: its place in the arena, and the view of it there."""

    argument: Argument
    ref: TensorRef
    view: Tensor
    start: int  # bytes from the arena's start, of the first element
    stop: int  # bytes, past the last element


def place(memory: Tensor, arguments: Sequence[tuple[Argument, Tensor]]) -> tuple[list[Placed], int]:
    """Lay out tensors of these shapes, strides and alignments, with redzones around each.

    Returns the places and the bytes used, whole words of 8. Raises BrokenExercise when they do not
    fit.
    """
    cursor, placed = 0, []
    for argument, like in arguments:
        cursor = _round_up(cursor + REDZONE, ALIGNMENT) + like.data_ptr() % 16
        extent = 1 + sum((n - 1) * s for n, s in zip(like.shape, like.stride(), strict=True))
        start, stop = cursor, cursor + extent * like.element_size()
        if stop + REDZONE > memory.numel():
            raise BrokenExercise(
                f"A case needs more than the arena's {memory.numel()} bytes.",
                "Make the cases of the exercise smaller.",
            )
        ref = TensorRef(
            name=argument.name,
            offset=start,
            shape=tuple(like.shape),
            strides=tuple(like.stride()),
            dtype=NAMES[like.dtype],
        )
        placed.append(Placed(argument, ref, view(memory, ref), start, stop))
        cursor = stop
    return placed, _round_up(cursor + REDZONE, WORD)


def view(memory: Tensor, ref: TensorRef) -> Tensor:
    dtype = DTYPES[ref.dtype]
    extent = 1 + sum((n - 1) * s for n, s in zip(ref.shape, ref.strides, strict=True))
    window = memory[ref.offset : ref.offset + extent * dtype.itemsize].view(dtype)
    return window.as_strided(ref.shape, ref.strides)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
