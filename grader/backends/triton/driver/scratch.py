"""Memory that a kernel file allocates, copied to where the device sees it for a launch and back."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_ALIGNMENT = 512  # bytes, that of torch's allocations on a GPU


@dataclass
class Place:
    """A storage's place in the scratch memory, for as long as the storage lives."""

    storage: StorageWeakRef
    address: int
    size: int  # bytes
    offset: int

    @property
    def stop(self) -> int:
        return self.offset + self.size


class Scratch:
    """The scratch memory: `fd` is a file of `size` bytes, which the device maps as well."""

    def __init__(self, fd: int, size: int) -> None:
        self._memory = torch.frombuffer(mmap.mmap(fd, size), dtype=torch.uint8)
        self._size = size
        self._seen: dict[int, StorageWeakRef] = {}
        self._places: dict[int, Place] = {}

    @property
    def address(self) -> int:
        return self._memory.data_ptr()

    def see(self, storage: torch.UntypedStorage) -> None:
        """Remember a storage that a kernel may reach by its bare address alone."""
        reference = StorageWeakRef(storage)
        self._seen[reference.cdata] = reference

    def seen(self) -> Iterator[torch.UntypedStorage]:
        """Yield the remembered storages that still live."""
        self._seen = {key: each for key, each in self._seen.items() if not each.expired()}
        for reference in self._seen.values():
            yield torch.UntypedStorage._new_with_weak_ptr(reference.cdata)

    def place(self, storage: torch.UntypedStorage) -> Place:
        """Return the storage's place, which stays the same. Raises MemoryError if all is taken."""
        self._places = {k: held for k, held in self._places.items() if not held.storage.expired()}
        reference = StorageWeakRef(storage)
        place = self._places.get(reference.cdata)
        if place is None or place.size != storage.nbytes():  # new, or resized
            self._places.pop(reference.cdata, None)
            size = storage.nbytes()
            place = Place(reference, storage.data_ptr(), size, self._free(size))
            self._places[reference.cdata] = place
        place.address = storage.data_ptr()
        return place

    def _free(self, size: int) -> int:
        offset = 0
        for held in sorted(self._places.values(), key=lambda place: place.offset):
            if offset + size <= held.offset:
                break
            offset = -(-held.stop // _ALIGNMENT) * _ALIGNMENT
        if offset + size > self._size:
            raise MemoryError(f"Unable to allocate {size} bytes on the simulated GPU")
        return offset

    def copy_in(self, place: Place) -> None:
        ctypes.memmove(self.address + place.offset, place.address, place.size)

    def copy_out(self, place: Place) -> None:
        ctypes.memmove(place.address, self.address + place.offset, place.size)
