"""Properties that the simulated GPU reports: those of an H100, as its driver and torch have them.

Figures are those of an H100 SXM with 80 GB. A file that asks gets a device whose kernels exist
there; nothing here makes one faster.
"""

from __future__ import annotations

from types import SimpleNamespace

CAPABILITY = (9, 0)
WARP = 32  # lanes
DEVICE = 0  # its number; there is one
REGISTERS = 32  # per thread, of every kernel: the true number is that of the step `compile`
MOST_THREADS = 1024  # per block

# As Triton's `get_device_properties` gives them.
FOR_TRITON = {
    "max_shared_mem": 232448,  # bytes per block
    "max_num_regs": 65536,  # per multiprocessor
    "multiprocessor_count": 132,
    "warpSize": WARP,
    "sm_clock_rate": 1980000,  # kHz
    "mem_clock_rate": 2619000,  # kHz
    "mem_bus_width": 5120,  # bits
}

# As `torch.cuda.get_device_properties` gives them.
FOR_TORCH = SimpleNamespace(
    name="NVIDIA H100 80GB HBM3",
    major=CAPABILITY[0],
    minor=CAPABILITY[1],
    total_memory=85_029_158_912,  # bytes
    multi_processor_count=FOR_TRITON["multiprocessor_count"],
    warp_size=WARP,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=MOST_THREADS,
    regs_per_multiprocessor=FOR_TRITON["max_num_regs"],
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=FOR_TRITON["max_shared_mem"],
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=52_428_800,  # bytes
    clock_rate=FOR_TRITON["sm_clock_rate"],
    memory_clock_rate=FOR_TRITON["mem_clock_rate"],
    memory_bus_width=FOR_TRITON["mem_bus_width"],
    is_integrated=0,
    is_multi_gpu_board=0,
    gcnArchName="",
)
