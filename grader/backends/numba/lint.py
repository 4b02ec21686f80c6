"""Names of numba CUDA in kernel files, for `grader lint` and the mutants."""

from __future__ import annotations

from grader.model import SourceNames, ThreadNames

_CUDA = "numba.cuda"
_JIT = frozenset({f"{_CUDA}.jit"})

NAMES = SourceNames(
    kernels=_JIT,
    half="np.float16({value})",
    wrappers=_JIT,
    tensors=frozenset({f"{_CUDA}.cudadrv.devicearray.DeviceNDArray"}),
    settings=("numba.config",),
    streams=(
        f"{_CUDA}.external_stream",
        f"{_CUDA}.per_thread_default_stream",
        f"{_CUDA}.stream",
    ),
    native=(f"{_CUDA}.cudadrv.driver",),
    threads=ThreadNames(
        indices=frozenset({f"{_CUDA}.threadIdx", f"{_CUDA}.grid", f"{_CUDA}.laneid"}),
        barriers=frozenset(f"{_CUDA}.syncthreads{kind}" for kind in ("", "_and", "_count", "_or")),
        wide_literals=True,
    ),
)
