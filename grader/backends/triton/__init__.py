"""The Triton backend as plain data. The other modules run beside a submission."""

from __future__ import annotations

from grader.backends.triton.hints import BLOCKS, COMPILER, LAUNCH, RACES, WIDEN, WRAPPED
from grader.model import Abilities, Backend, Hints, Package, Trial

BACKEND = Backend(
    name="triton",
    title="Triton",
    decorator="@triton.jit",
    modules=("triton",),
    packages=(
        Package(name="triton", tested=("3.7.1", "3.6.0"), needs=">=3.6,<3.8", field="triton"),
    ),
    can=Abilities(
        simulate=True, count_traffic=True, trace_lanes=True, compile_without_gpu=True, tune=True
    ),
    dtypes=(
        "float32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
    ),
    scalars=("float", "int", "bool"),
    counts=("programs", "loads", "stores", "bytes", "transactions"),
    hints=Hints(
        reached="No program stores there. Does the address of the store go up with the program's "
        "number, by as many elements as a program stores? Are there enough programs? Does a mask "
        "leave out too much?",
        faster="look at the block size, num_warps and how many bytes each thread moves at once",
        more_warps="try a smaller block or a larger num_warps",
        faults={
            "compile": "Triton could not compile the kernel; the line it names is the place to "
            "look.",
            "out_of_bounds": "If the address is as you meant, mask off the lanes outside of the "
            "array, as `mask=offsets < n` does.",
            "race": "Give each element to one program: does its number take part in the address?",
            "too_many_operations": BLOCKS,
            "wrapped_offset": WIDEN,
        },
        messages={
            "compile": COMPILER,
            "exception": LAUNCH,
            "out_of_bounds": WRAPPED,
            "race": RACES,
        },
        rounded_up="triton.cdiv(n, BLOCK)",
    ),
    trial=Trial("trial_kernel.py", "add"),
    # Neither a default nor a cache elsewhere may change what a learner sees.
    variables={"TRITON_CACHE_DIR": "{home}/triton", "TRITON_DEFAULT_FP_FUSION": "1"},
    device="device.process",
    compiler="compile_ttir",
    compiler_needs={
        "ptxas": "--force-reinstall --no-deps triton",
        "ptxas-blackwell": "--force-reinstall --no-deps triton",
        "nvdisasm": "--force-reinstall --no-deps triton",
    },
    needs_c_compiler=True,
    reference_kernels="reference_kernels.py",
)
