"""Hints about mistakes in CUDA C++, by the kind of the failure and by its message."""

from __future__ import annotations

from grader.model import Advice

FAULTS = {
    "compile": "NVRTC could not compile the source; the line it names is the place to look.",
    "launch_refused": "A launch is launch(stream, LaunchConfig(grid=blocks, block=threads), "
    "kernel, *arguments): 1 to 1,024 threads, and one argument for each parameter of the kernel.",
    "out_of_bounds": "Each access needs an `if` that checks that its index lies inside the array.",
}
_COMPILE: dict[str, str | Advice] = {
    'expected a ";"': "C++ ends each statement with a semicolon: look at the end of the line "
    "before, too.",
    "is undefined": "C++ knows a name from its declaration on, and a name of CUDA such as "
    "__float2bfloat16 from the header that declares it.",
    "has no kernel": 'Without extern "C" before __global__, C++ adds the types of the parameters '
    "to a kernel's name.",
    "there is no header": "NVIDIA's headers are there, such as cuda_fp16.h, cuda_bf16.h, "
    "cooperative_groups.h and cuda/std/cstdint; those of the host's C++ are not.",
    "neither __global__ nor": "A kernel begins with __global__, and a function that kernels call "
    "with __device__.",
}
_LAUNCH: dict[str, str | Advice] = {
    "unsupported type": "Pass a tensor by its address, x.data_ptr(), and a number as the type that "
    "its parameter has: an int for long long, a float for double, np.float32(scale) for float.",
}
MESSAGES = {"compile": _COMPILE, "exception": _LAUNCH}
