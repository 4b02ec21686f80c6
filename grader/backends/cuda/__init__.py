"""The CUDA C++ backend as plain data. The other modules run beside a submission."""

from __future__ import annotations

from grader.backends.cuda.hints import FAULTS, MESSAGES
from grader.model import Abilities, Backend, Hints, Package, Trial

BACKEND = Backend(
    name="cuda",
    title="CUDA C++",
    decorator="__global__",
    modules=("cuda",),
    packages=(Package(name="cuda-core", tested=("1.2.2",), needs=">=1.2,<1.3"),),
    extra="cuda",
    can=Abilities(simulate=True, record_launches=True, compile_without_gpu=True, dry_run=True),
    dtypes=(
        *("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
        *("int8", "int16", "int32", "int64", "uint8", "bool"),
    ),
    scalars=("float", "int", "bool"),
    hints=Hints(
        reached="No thread writes there. Does the index go up with blockIdx.x * blockDim.x + "
        "threadIdx.x? Are there enough blocks? Does an `if` leave out too much?",
        faster="look at the threads per block, the blocks in the grid and how many bytes each "
        "thread moves at once",
        more_warps="try fewer values per thread, or less shared memory per block",
        faults=FAULTS,
        messages=MESSAGES,
    ),
    trial=Trial("trial_kernel.py", "add"),
    simulated="dry_run",
    compiler="compile_cpp",
    compiler_needs={
        "NVRTC": "'kernel-grader[cuda]'",
        "nvdisasm": "--force-reinstall --no-deps triton",
    },
)
