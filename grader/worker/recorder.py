"""A record of one call's launches, from which the GPU's driver can make them again."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from grader.model import LONGEST_LINE, MOST_CODE, MOST_RECORDED, RecordedLaunch, Recording

LONGEST_CODE = LONGEST_LINE // 8 * 7  # characters of machine code in one reply
ALIGNMENT = 512  # bytes, as of torch's allocations

Parameter = tuple[str, int | float]


class NotRecorded(Exception):
    """The launches of a call cannot be recorded; the message gives the reason."""


class Recorder:
    """The launches of one call so far. `arena` is the memory of the arguments, as addresses."""

    def __init__(self, arena: range) -> None:
        self._arena = arena
        self._launches: list[RecordedLaunch] = []
        self._code: dict[bytes, int] = {}
        # By address. They are held, so that no other memory gets their addresses meanwhile.
        self._scratch: dict[int, tuple[int, Any]] = {}
        self._size = 0
        self._refused = ""

    def refuse(self, why: str) -> None:
        self._refused = self._refused or why

    def note(
        self,
        kernel: str,
        code: bytes,
        grid: tuple[int, int, int],
        threads: int,
        shared: int,
        parameters: Sequence[Parameter],
    ) -> None:
        """Add a launch. Raises NotRecorded where they become too many for a message."""
        number = self._code.setdefault(code, len(self._code))
        characters = sum(-(-len(one) // 3) * 4 for one in self._code)
        if number >= MOST_CODE or characters > LONGEST_CODE:
            raise NotRecorded("its machine code is too long for a message")
        if len(self._launches) == MOST_RECORDED:
            raise NotRecorded(f"a call launches more than {MOST_RECORDED} kernels")
        self._launches.append(
            RecordedLaunch(kernel, number, grid, threads, shared, tuple(parameters))
        )

    def pointer(self, address: int, storage: Any = None) -> Parameter:
        """Return the parameter for an address in the arena or in a storage of torch's.

        Raises NotRecorded for one in neither.
        """
        if address in self._arena:
            return "arena", address - self._arena.start
        if address == 0:
            return "u64", 0
        if storage is None:
            raise NotRecorded("it passes an address that is not a tensor's")
        start, size = storage.data_ptr(), storage.nbytes()
        if start not in self._scratch:
            self._scratch[start] = self._size, storage
            self._size += -(-size // ALIGNMENT) * ALIGNMENT
        return "scratch", self._scratch[start][0] + address - start

    def recording(self) -> Recording:
        if self._refused:
            return Recording(refused=self._refused)
        code = tuple(base64.b64encode(one).decode() for one in self._code)
        return Recording(tuple(self._launches), code, self._size)
