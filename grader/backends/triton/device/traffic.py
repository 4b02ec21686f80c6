"""The requests of a call's launches to memory: elements of each argument, counts for budgets.

The counts are what the compiled kernel asks for, lane by lane. A GPU moves memory in sectors of 32
bytes. Here 32 lanes that follow each other make one request of a warp, and its sectors are the
transactions; in a block of several axes the lanes follow the axis along which elements are adjacent
in memory, as the compiler lays them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.backends.triton.device.lanes import Lanes
from grader.backends.triton.device.ttir.records import Site
from grader.backends.triton.device.values import whole
from grader.worker.bounds import Span

WARP = 32  # lanes, as on every CUDA GPU
# Global memory moves in pieces of 32 bytes: CUDA C++ Best Practices Guide, "Coalesced Access to
# Global Memory".
SECTOR_BITS = 5
_NOWHERE = np.iinfo(np.int64).max >> SECTOR_BITS


@dataclass
class _Busiest:
    """A count of the program that has most of it, and where in the file most of it arises."""

    most: int = 0
    site: Site | None = None


class Traffic:
    """Memory accesses of one call: totals over its launches, and the busiest program's counts.

    An atomic access counts as a load and a store. Its bytes and transactions count once.
    """

    def __init__(self, arguments: Iterable[tuple[Span, int]]) -> None:
        """Count for these spans, each with the size of an element in bytes."""
        self._arguments = list(arguments)
        # In bytes: a kernel may move an argument in pieces of another size than its elements.
        self._read = {span.name: 0 for span, _ in self._arguments}
        self._written = dict(self._read)
        self._programs = 0
        self._counts = {name: _Busiest() for name in ("loads", "stores", "bytes")}
        self._transactions = 0
        self._worst = (0, 0, Site())  # sectors of a request, its lanes, its place
        self._of_programs: dict[str, NDArray[np.int64]] = {}
        self._of_sites: dict[str, dict[Site, int]] = {}

    def begin(self, programs: int) -> None:
        """Count a launch of so many programs from now on."""
        self.settle()
        self._programs += programs
        # Pages of zeros cost nothing until programs act.
        self._of_programs = {name: np.zeros(programs, np.int64) for name in self._counts}
        self._of_sites = {name: {} for name in self._counts}

    def settle(self) -> None:
        """Keep what the busiest program of the launch did, if no other launch's did more."""
        for name, count in self._counts.items():
            done = self._of_programs.get(name)
            if done is None or not done.size or int(done.max()) <= count.most:
                continue
            sites = self._of_sites[name]
            count.most, count.site = int(done.max()), max(sites, key=lambda site: sites[site])
        self._of_programs = {}

    def see(self, lanes: Lanes) -> None:
        """Count an access that lies in bounds."""
        self._count_elements(lanes)
        if self._of_programs:
            self._count_programs(lanes)
            self._count_transactions(lanes)

    def facts(self, line_of: Callable[[Site], int]) -> dict[str, int]:
        """Return `reads.x`, `writes.out`, `counts.programs` and so on for the report."""
        self.settle()
        facts = {"counts.programs": self._programs, "counts.transactions": self._transactions}
        for span, size in self._arguments:
            facts[f"reads.{span.name}"] = self._read[span.name] // size
            facts[f"writes.{span.name}"] = self._written[span.name] // size
        for name, count in self._counts.items():
            facts[f"counts.{name}"] = count.most
            if count.site is not None:
                facts[f"line.{name}"] = line_of(count.site)
        sectors, threads, site = self._worst
        if sectors:
            facts["worst.transactions"] = sectors
            facts["threads.transactions"] = threads
            facts["line.transactions"] = line_of(site)
        return facts

    def _count_elements(self, lanes: Lanes) -> None:
        access = lanes.access
        times = access.programs.shape[0] if lanes.shared else 1
        for span, _ in self._arguments:
            if lanes.high < span.start or lanes.low >= span.stop:
                continue
            if span.start <= lanes.low and lanes.high < span.stop:
                inside = lanes.count
            else:
                at = lanes.addresses
                inside = int(np.count_nonzero((at >= span.start) & (at < span.stop)))
            size = inside * access.itemsize * times
            if access.kind != "store":
                self._read[span.name] += size
            if access.kind in ("store", "atomic"):
                self._written[span.name] += size

    def _count_programs(self, lanes: Lanes) -> None:
        access = lanes.access
        at = access.programs.numpy()
        active = lanes.counts
        acts = np.minimum(active, 1)
        moved = np.multiply(active, access.itemsize)
        self._add("bytes", at, moved, access.site)
        if access.kind != "store":
            self._add("loads", at, acts, access.site)
        if access.kind in ("store", "atomic"):
            self._add("stores", at, acts, access.site)

    def _add(self, name: str, at: NDArray[np.int64], amount: NDArray[np.int64], site: Site) -> None:
        if (at[1:] > at[:-1]).all():
            self._of_programs[name][at] += amount
        else:  # in the region of a reduction a program acts for each lane
            np.add.at(self._of_programs[name], at, amount)
        sites = self._of_sites[name]
        sites[site] = sites.get(site, 0) + int(np.max(amount))

    def _count_transactions(self, lanes: Lanes) -> None:
        sectors, threads = _sectors(lanes)
        times = lanes.access.programs.shape[0] if lanes.shared else 1
        self._transactions += int(sectors.sum()) * times
        worst = int(sectors.argmax())
        if sectors[worst] > self._worst[0]:
            self._worst = int(sectors[worst]), int(threads[worst]), lanes.access.site


def _sectors(lanes: Lanes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many sectors each request of a warp touches, and how many lanes are active."""
    size, block = lanes.access.itemsize, lanes.block
    width = min(WARP, block)
    if lanes.active is None and lanes.run % width == 0:
        first = (lanes.starts[:, None] + np.arange(0, lanes.run, width) * size).reshape(-1)
        touched = ((first + (width * size - 1)) >> SECTOR_BITS) - (first >> SECTOR_BITS) + 1
        return touched, np.full(touched.size, width)
    sectors = np.full((lanes.shape[0], block), _NOWHERE)
    lanes.place(lanes.addresses >> SECTOR_BITS, sectors)
    sectors = _in_order_of_memory(lanes, sectors)
    short = -block % width
    if short:
        sectors = np.pad(sectors, ((0, 0), (0, short)), constant_values=_NOWHERE)
    warps = sectors.reshape(-1, width)
    if not (warps[:, 1:] >= warps[:, :-1]).all():
        warps = np.sort(warps, axis=1)
    somewhere = warps != _NOWHERE
    new = (warps[:, 1:] != warps[:, :-1]) & somewhere[:, 1:]
    return np.count_nonzero(new, axis=1) + somewhere[:, 0], np.count_nonzero(somewhere, axis=1)


def _in_order_of_memory(lanes: Lanes, sectors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Put the axis last along which the elements of a block are adjacent in memory."""
    block = lanes.shape[1:]
    if len(block) < 2:
        return sectors
    first = whole(lanes.access.addresses)[0]
    for axis in reversed(range(len(block))):
        if block[axis] > 1:
            start, after = first.select(axis, 0), first.select(axis, 1)
            step = int(after.flatten()[0]) - int(start.flatten()[0])
            if step == lanes.access.itemsize:
                moved = np.moveaxis(sectors.reshape(lanes.shape), axis + 1, -1)
                return moved.reshape(sectors.shape)
    return sectors
