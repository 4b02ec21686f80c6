"""The numba CUDA backend as plain data. The other modules run beside a submission."""

from __future__ import annotations

from grader.backends.numba.hints import FAULTS, MESSAGES
from grader.model import Abilities, Backend, Clash, Hints, Package, Trial

BACKEND = Backend(
    name="numba",
    title="numba CUDA",
    decorator="@cuda.jit",
    modules=("numba",),
    packages=(
        Package(name="numba", tested=("0.68.1",), needs=">=0.62,<0.69"),
        Package(name="numba-cuda", tested=("0.30.4",), needs=">=0.30,<0.31", field="numba_cuda"),
        Package(name="greenlet", tested=("3.5.6",), needs=">=3.1,<4"),
    ),
    clashes=(
        Clash(
            *("numpy", ">=2.5", "numba-cuda", "==0.30.*"),
            why="numba-cuda 0.30 uses np.row_stack, which NumPy 2.5 removed",
            fix="`pip install 'numpy<2.5'`",
        ),
    ),
    can=Abilities(simulate=True, count_traffic=True, trace_threads=True, compile_without_gpu=True),
    dtypes=("float32", "float16", "int8", "int16", "int32", "int64", "uint8", "bool"),
    scalars=("float", "int", "bool"),
    counts=(
        *("global_reads", "global_writes", "shared_reads", "shared_writes"),
        *("transactions", "bank_conflicts", "barriers"),
    ),
    hints=Hints(
        reached="No thread writes there. Does the index of the write differ from thread to thread, "
        "and from block to block? Are there enough threads? Does an `if` leave out too many?",
        faster="look at the threads per block, the blocks in the grid and whether neighbouring "
        "threads touch neighbouring elements",
        more_warps="try fewer values per thread, or less shared memory per block",
        faults=FAULTS,
        messages=MESSAGES,
    ),
    trial=Trial("trial_kernel.py", "add"),
    # A small launch does not deserve a warning to the learner.
    variables={
        "NUMBA_CACHE_DIR": "{home}/numba",
        "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
    },
    simulation={"NUMBA_DISABLE_CUDA": "1"},
    takes_tensors=False,
    compiler="compile_llvm",
    compiler_needs={
        "NVVM": "'nvidia-nvvm>=13,<14'",
        "ptxas-blackwell": "--force-reinstall --no-deps triton",
        "nvdisasm": "--force-reinstall --no-deps triton",
        "libdevice.10.bc": "--force-reinstall --no-deps triton",
    },
    compiler_optional=True,
)
