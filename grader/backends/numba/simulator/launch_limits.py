"""Launches that a GPU would not start: with no block, or with blocks that are too large."""

from __future__ import annotations

import math

# Limits of every CUDA GPU: CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability". (Some allow more shared memory on request; numba-cuda does not request it.)
MAX_THREADS = 1024
LARGEST_BLOCK = (1024, 1024, 64)
LARGEST_GRID = (2**31 - 1, 65_535, 65_535)
MAX_SHARED_BYTES = 48 * 1024
# Of an H100 (SXM): its multiprocessors, and the threads that each runs at once.
MULTIPROCESSORS = 132
THREADS_TOGETHER = 2048


class LaunchRefused(Exception):
    """A GPU would not start this kernel."""


def check_launch(grid: tuple[int, ...], block: tuple[int, ...], dynamic_bytes: int) -> None:
    for what, extents in (("block", grid), ("thread in a block", block)):
        if min(extents) < 1:
            size = f"{_counted(grid, 'block')} of {_counted(block, 'thread')}"
            raise LaunchRefused(f"a launch needs at least one {what}, not {size}")
    threads = math.prod(block)
    if threads > MAX_THREADS:
        raise LaunchRefused(
            f"a block of {threads} threads is too large: a GPU runs at most {MAX_THREADS}"
        )
    for what, extents, largest in (("block", block, LARGEST_BLOCK), ("grid", grid, LARGEST_GRID)):
        if any(extent > limit for extent, limit in zip(extents, largest, strict=True)):
            raise LaunchRefused(f"a {what} of {extents} is too large: the most is {largest}")
    check_shared(dynamic_bytes)


def check_bounds(block: tuple[int, ...], bounds: int | tuple[int, ...] | None) -> None:
    """Raise LaunchRefused for more threads than the kernel's decorator promises."""
    if bounds is None:
        return
    most = bounds if isinstance(bounds, int) else bounds[0]
    threads = math.prod(block)
    if threads > most:
        raise LaunchRefused(
            f"a block of {threads} threads is too large: launch_bounds of the kernel allows {most}"
        )


def check_together(extents: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Raise LaunchRefused if not all blocks fit on the GPU at once, as a grid's barrier needs."""
    blocks, threads = map(math.prod, extents)
    most = MULTIPROCESSORS * (THREADS_TOGETHER // threads)
    if blocks > most:
        raise LaunchRefused(
            f"a barrier of the grid needs all {blocks} blocks on the GPU at once: of {threads} "
            f"threads each, the simulated GPU runs {most}"
        )


def _counted(extents: tuple[int, ...], what: str) -> str:
    # For example `1 block`, `0 blocks`, and `2 × 0 blocks` along two axes.
    along = max((axis + 1 for axis, extent in enumerate(extents) if extent != 1), default=1)
    return " × ".join(map(str, extents[:along])) + f" {what}" + "s" * (math.prod(extents) != 1)


def check_shared(total: int) -> None:
    if total > MAX_SHARED_BYTES:
        raise LaunchRefused(
            f"{total} bytes of shared memory are too many: a block gets at most {MAX_SHARED_BYTES}"
        )
