"""Make the recorded launches of one call again: `python -I -m grader.worker.repeated_launches DIR`.

A process of the judge's, for a profiler to watch: it imports no kernel file, and runs none of the
learner's code on the CPU. DIR holds call.json, a `Recording` and the arena's size, and a socket by
which the judge hands over the arena. Only the launches lie between cuProfilerStart and
cuProfilerStop.
"""

from __future__ import annotations

import base64
import ctypes
import json
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuda.bindings import driver

from grader.machine import SharedMemory, driver_result

# A launch gets more than this only if its function permits it.
MOST_PLAIN_SHARED = 48 << 10
TYPES: dict[str, Any] = {
    "i1": ctypes.c_int8,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u1": ctypes.c_uint8,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float,
    "fp64": ctypes.c_double,
}


def main(folder: Path) -> None:
    job = json.loads((folder / "call.json").read_text())
    driver_result(driver.cuInit(0), "cuInit")
    context = driver_result(driver.cuDevicePrimaryCtxRetain(0), "cuDevicePrimaryCtxRetain")
    driver_result(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    arena = SharedMemory.open(_handed_over(folder / "arena"), job["arena"])
    starts = {"arena": arena.pointer, "scratch": _scratch(job["scratch"])}
    code = [
        driver_result(driver.cuModuleLoadData(base64.b64decode(text)), "cuModuleLoadData")
        for text in job["code"]
    ]
    prepared = [(launch, _function(code, launch)) for launch in job["launches"]]
    driver_result(driver.cuCtxSynchronize(), "cuCtxSynchronize")
    driver_result(driver.cuProfilerStart(), "cuProfilerStart")
    for launch, function in prepared:
        _start(launch, function, starts)
    driver_result(driver.cuCtxSynchronize(), "cuCtxSynchronize")
    driver_result(driver.cuProfilerStop(), "cuProfilerStop")


def _handed_over(path: Path) -> int:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(path))
        _, (descriptor,), _, _ = socket.recv_fds(line, 1, 1)
        return int(descriptor)


def _scratch(size: int) -> int:
    """Allocate what the kernel file allocated. It holds zeros, whatever it held there."""
    if size == 0:
        return 0
    address = driver_result(driver.cuMemAlloc(size), "cuMemAlloc")
    driver_result(driver.cuMemsetD8(address, 0, size), "cuMemsetD8")
    return int(address)


def _function(code: Sequence[Any], launch: Mapping[str, Any]) -> Any:
    name = launch["kernel"].encode()
    function = driver_result(
        driver.cuModuleGetFunction(code[launch["code"]], name), "cuModuleGetFunction"
    )
    if launch["shared"] > MOST_PLAIN_SHARED:
        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver_result(
            driver.cuFuncSetAttribute(function, most, launch["shared"]), "cuFuncSetAttribute"
        )
    return function


def _start(launch: Mapping[str, Any], function: Any, starts: Mapping[str, int]) -> None:
    values = packed(launch["parameters"], starts)
    addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    driver_result(
        driver.cuLaunchKernel(
            *(function, *launch["grid"], launch["threads"], 1, 1, launch["shared"]),
            *(0, ctypes.addressof(addresses), 0),
        ),
        "cuLaunchKernel",
    )


def packed(parameters: Sequence[tuple[str, Any]], starts: Mapping[str, int]) -> list[Any]:
    """Return the parameters in memory as a kernel takes them."""
    return [
        ctypes.c_uint64(starts[kind] + value) if kind in starts else TYPES[kind](value)
        for kind, value in parameters
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
