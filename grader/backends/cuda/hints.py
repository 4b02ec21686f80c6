"""Hints about mistakes in CUDA C++, by the kind of the failure and by its message."""

from __future__ import annotations

from grader.model import Advice

FAULTS = {
    "compile": "NVRTC could not compile the source; the line it names is the place to look.",
    "launch_refused": "A launch is launch(stream, LaunchConfig(grid=blocks, block=threads), "
    "kernel, *arguments), with 1 to 1,024 threads in a block.",
    "out_of_bounds": "Each access needs an `if` that checks that its index lies inside the array.",
}
_COMPILE: dict[str, str | Advice] = {
    'expected a ";"': "C++ ends each statement with a semicolon: look at the end of the line "
    "before, too.",
    "is undefined": "C++ knows a name from its declaration on, and a name of CUDA such as "
    "__float2bfloat16 from the header that declares it.",
    "has no kernel": 'Without extern "C" before __global__, C++ adds the types of the parameters '
    'to a kernel\'s name. compile("cubin", name_expressions=(name,)) lets get_kernel find it by '
    "its name in the source, and instantiates a template.",
    "in name_expressions": "name_expressions is a tuple of kernels as C++ names them, such as "
    '("add<float>",), with all arguments of a template.',
    "must have a void return type": "A kernel is a void function. NVRTC says this, too, of a "
    "template without its closing brace.",
    "there is no header": "NVIDIA's headers are there, such as cuda_fp16.h, cuda_bf16.h, "
    "cooperative_groups.h and cuda/std/cstdint; those of the host's C++ are not.",
    "in inline PTX": "The assembler refuses an instruction of an asm statement: look at its name, "
    "its modifiers and the architecture that has it.",
    "bytes of shared memory": "More than 48 KiB must be dynamic: declare extern __shared__, and "
    "pass shmem_size to LaunchConfig.",
    "nvrtc: error": "NVRTC refuses an option, and has not read the source: look at ProgramOptions.",
    "neither __global__ nor": "A kernel begins with __global__, and a function that kernels call "
    "with __device__.",
}
NUMBERS = (
    "A number must have the type of its parameter: an int for long long or int, a float for "
    "double, np.float32(scale) for float."
)
_LAUNCH: dict[str, str | Advice] = {
    "a source is in": "Program takes the source, then its language, then the options.",
    "Unsupported target_type": 'Program.compile("cubin") makes machine code for this GPU.',
    "a launch is launch(": "The stream is Device().default_stream, and the kernel is what "
    "get_kernel of the compiled code returns.",
    "unsupported type": f"Pass a tensor by its address, x.data_ptr(). {NUMBERS}",
}
_REFUSED: dict[str, str | Advice] = {
    "loads machine code": "Compile the source in the file: "
    "Program(SOURCE, 'c++', ...).compile('cubin').",
    "a graph of cuda.core": "Launch the kernel in each call, or record a torch.cuda.CUDAGraph on "
    "torch's stream.",
    "bits, and the parameter has": NUMBERS,
    "driver.cuKernelSetAttribute": "Raise the kernel's limit before its first launch, and look at "
    "the error that the call returns: a block of an H100 may have 232,448 bytes at most.",
    "a cluster has": "driver.cuKernelSetAttribute allows up to 16 blocks, with "
    "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED. A portable cluster has at most 8.",
    "the launch passes": "launch takes the stream, the LaunchConfig, the kernel, "
    "and then one argument for each parameter, in their order.",
}
MESSAGES = {"launch_refused": _REFUSED, "compile": _COMPILE, "exception": _LAUNCH}
