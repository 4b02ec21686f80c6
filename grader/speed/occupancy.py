"""The occupancy of a kernel: warps that fit on a multiprocessor at once, by NVIDIA's calculator.

The formula and its constants are those of `cuda_occupancy.h` in the CUDA toolkit, for compute
capability 7.5 and later, with the largest carve-out of shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.model import GraderError

REGISTER_UNIT = 256  # a warp gets a multiple of so many registers (cudaOccRegAllocationGranularity)
PARTITIONS = 4  # of a multiprocessor, each with its share of the registers


@dataclass(frozen=True)
class Multiprocessor:
    """The resources of one multiprocessor of a GPU. Shared memory is in bytes.

    The driver takes `reserved` bytes of shared memory for each block. A block's shared memory is
    rounded up to `shared_unit` (cudaOccSMemAllocationGranularity).
    """

    warp_size: int
    threads: int
    blocks: int
    registers: int
    shared: int
    reserved: int
    shared_unit: int

    @property
    def warps(self) -> int:
        return self.threads // self.warp_size


def _named(
    threads: int, blocks: int, shared_kib: int, reserved: int = 1024, shared_unit: int = 128
) -> Multiprocessor:
    return Multiprocessor(32, threads, blocks, 65536, shared_kib << 10, reserved, shared_unit)


# By compute capability: CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability". A block gets at most what its multiprocessor has, without what is reserved for it.
MULTIPROCESSORS = {
    75: _named(1024, 16, 64, 0, 256),
    80: _named(2048, 32, 164),
    86: _named(1536, 16, 100),
    89: _named(1536, 24, 100),
    90: _named(2048, 32, 228),
    100: _named(2048, 32, 228),
    103: _named(2048, 32, 228),
    120: _named(1536, 24, 100),
}


def this_gpu(device: int = 0) -> Multiprocessor:
    """Ask the driver about this GPU. Raises GraderError when the driver does not answer."""
    from cuda.bindings import driver

    def ask(name: str) -> int:
        attribute = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        error, value = driver.cuDeviceGetAttribute(attribute, device)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise GraderError(f"The GPU's driver does not report {name}: {error.name}.")
        return int(value)

    driver.cuInit(0)
    return Multiprocessor(
        warp_size=ask("WARP_SIZE"),
        threads=ask("MAX_THREADS_PER_MULTIPROCESSOR"),
        blocks=ask("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        registers=ask("MAX_REGISTERS_PER_MULTIPROCESSOR"),
        shared=ask("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        reserved=ask("RESERVED_SHARED_MEMORY_PER_BLOCK"),
        shared_unit=128 if ask("COMPUTE_CAPABILITY_MAJOR") >= 8 else 256,
    )


def occupancy(sm: Multiprocessor, registers: int, shared: int, threads: int) -> float:
    """Return the share of the multiprocessor's warps that fit at once, in [0, 1].

    It is 0 when not even one block fits. The other arguments are those of `blocks_at_once`.
    """
    return share_of_warps(sm, blocks_at_once(sm, registers, shared, threads), threads)


def share_of_warps(sm: Multiprocessor, blocks: int, threads: int) -> float:
    return blocks * -(-threads // sm.warp_size) / sm.warps


def blocks_at_once(sm: Multiprocessor, registers: int, shared: int, threads: int) -> int:
    """Return the number of blocks that fit on the multiprocessor at once.

    `registers` are per thread; `shared` (bytes) and `threads` (at least 1) are per block.
    """
    warps = -(-threads // sm.warp_size)
    limits = [sm.warps // warps, sm.blocks]
    if registers:
        per_warp = _round_up(registers * sm.warp_size, REGISTER_UNIT)
        limits.append(sm.registers // PARTITIONS // per_warp * PARTITIONS // warps)
    taken = _round_up(shared + sm.reserved, sm.shared_unit)
    if taken:
        limits.append(sm.shared // taken)
    return min(limits)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
