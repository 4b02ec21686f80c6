"""Names of cuda.core in kernel files, for `grader lint` and the mutants."""

from __future__ import annotations

from grader.model import SourceNames

NAMES = SourceNames(
    kernels=frozenset(),
    launchers=frozenset({"cuda.core.launch"}),
    compilers=frozenset({"cuda.core.Program"}),
    half="np.float16({value})",
    streams=(
        *("cuda.core.Device.create_stream", "cuda.core.Stream"),
        "cuda.core.PER_THREAD_DEFAULT_STREAM",
    ),
    native=("cuda.bindings", "cuda.core.ObjectCode"),
)
