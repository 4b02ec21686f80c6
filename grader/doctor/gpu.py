"""The GPU: its properties, the programs that disturb it, and its bandwidth."""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch

from grader.doctor.records import Ceiling, Finding, Gpu, Group, note, ok, problem
from grader.machine import devices, gpu_lock, nvml
from grader.model import CannotGrade
from grader.sandbox import ForkServer
from grader.speed import ceilings

OTHER_PROGRAMS = "`nvidia-smi` lists these programs: wait for them, or have them stopped"


def examine() -> tuple[Gpu | None, list[Finding]]:
    try:
        devices.choose_device("cuda")
    except CannotGrade as error:
        return None, [no_gpu(error, nvml.names())]
    gpu = read_gpu()
    return gpu, [*of_gpu(gpu), of_lock(*gpu_lock.reach())]


def no_gpu(error: CannotGrade, driver_knows: Sequence[str]) -> Finding:
    """Explain why no kernel runs on a GPU: a fact, unless there is one that goes unused."""
    if not driver_knows and not torch.cuda.is_available():
        return note(Group.GPU, "GPU", f"{error.message} Kernels are simulated.")
    there = ", ".join(driver_knows) or torch.cuda.get_device_name()
    about = (Group.GPU, "GPU", f"this machine has {there}, but it is not used: {error.message}")
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return note(*about, "the variable CUDA_VISIBLE_DEVICES hides it: unset it")
    if torch.cuda.is_available() and torch.cuda.get_device_capability() < devices.OLDEST:
        return note(*about)
    return problem(
        *about,
        "`make clean setup EXTRAS=dev,gpu` installs torch with CUDA; its CUDA must not be newer "
        "than the driver",
    )


def read_gpu() -> Gpu:
    properties = torch.cuda.get_device_properties(0)
    free, total = torch.cuda.mem_get_info()
    uuid = gpu_lock.uuid()
    now = nvml.read(uuid)
    return Gpu(
        name=properties.name,
        capability=f"{properties.major}.{properties.minor}",
        driver=nvml.driver_version(),
        memory_bytes=total,
        free_bytes=free,
        l2_bytes=properties.L2_cache_size,
        sms=properties.multi_processor_count,
        sm_mhz=now.sm_mhz if now else None,
        most_sm_mhz=nvml.most_sm_mhz(uuid),
        memory_mhz=now.memory_mhz if now else None,
        most_memory_mhz=now.most_memory_mhz if now else None,
        temperature_c=now.temperature_c if now else None,
        slowdowns=now.slowdowns if now else (),
        mig=True if "MIG" in properties.name else nvml.mig(uuid),
        ecc=nvml.ecc(uuid),
        others=tuple(f"{one.name} (process {one.pid})" for one in gpu_lock.others()),
    )


def of_gpu(gpu: Gpu) -> list[Finding]:
    driver = f", driver {gpu.driver}" if gpu.driver else ""
    memory = f"{gpu.free_bytes / 2**30:,.1f} of {gpu.memory_bytes / 2**30:,.1f} GiB free"
    return [
        ok(Group.GPU, "GPU", f"{gpu.name}, compute capability {gpu.capability}{driver}"),
        ok(Group.GPU, "memory", f"{memory}, L2 cache of {gpu.l2_bytes / 2**20:,.0f} MiB"),
        *_clocks(gpu),
        *_modes(gpu),
        _others(gpu),
    ]


def _clocks(gpu: Gpu) -> list[Finding]:
    if gpu.sm_mhz is None or gpu.memory_mhz is None:
        message = "the driver reports neither clocks nor temperature"
        fix = "`pip install 'nvidia-ml-py>=12'`, if it is missing"
        return [note(Group.GPU, "clocks", message, fix)]
    message = (
        f"{gpu.sms} SMs at {gpu.sm_mhz:,} of {gpu.most_sm_mhz or gpu.sm_mhz:,} MHz, memory at "
        f"{gpu.memory_mhz:,} of {gpu.most_memory_mhz:,} MHz, {gpu.temperature_c} °C"
    )
    if not gpu.slowdowns:
        return [ok(Group.GPU, "clocks", message)]
    why = ", ".join(gpu.slowdowns)
    fix = "let it cool down, or have its power and its fans checked; speed is noisy until then"
    return [note(Group.GPU, "clocks", f"{message}; it runs below its clock now: {why}", fix)]


def _modes(gpu: Gpu) -> list[Finding]:
    found = []
    if gpu.mig is not None:
        message = "on: this is a part of a GPU; programs on the other parts make its speed noisy"
        found.append(
            note(Group.GPU, "MIG", message, "for a speed that is steady, use a whole GPU")
            if gpu.mig
            else ok(Group.GPU, "MIG", "off: the whole GPU is used")
        )
    if gpu.ecc is not None:
        found.append(ok(Group.GPU, "ECC", "on" if gpu.ecc else "off"))
    return found


def _others(gpu: Gpu) -> Finding:
    if not gpu.others:
        return ok(Group.GPU, "other programs", "none computes on this GPU, as far as can be seen")
    message = f"{', '.join(gpu.others)}: speed cannot be measured while they compute"
    return note(Group.GPU, "other programs", message, OTHER_PROGRAMS)


def of_lock(whole_machine: bool, reached: str) -> Finding:
    message = f"checks take turns with {reached}"
    if whole_machine:
        return ok(Group.GPU, "lock", message)
    return note(Group.GPU, "lock", message, "do not measure in another container at the same time")


def measure(gpu: Gpu, fork_server: ForkServer) -> Gpu:
    """Return the GPU with its ceilings, or without them where other programs use it.

    Raises CannotGrade where another check measures, or too little memory is free.
    """
    if gpu.others:
        return gpu
    with gpu_lock.exclusive_gpu():
        measured = tuple(
            Ceiling(mix=mix.name, gbps=speed / 1e9)
            for mix, speed in ceilings.measure_all(fork_server)
        )
    return gpu.model_copy(update={"ceilings": measured})


def of_ceilings(gpu: Gpu) -> list[Finding]:
    if not gpu.ceilings:
        return [
            note(Group.GPU, "ceilings", "not measured: other programs use the GPU", OTHER_PROGRAMS)
        ]
    return [ok(Group.GPU, one.mix, f"{one.gbps:,.0f} GB/s at most") for one in gpu.ceilings]
