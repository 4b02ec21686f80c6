"""The names of cuda.core that need a driver, for a machine without one: launches do nothing.

A source is compiled as on a GPU. What only a GPU knows raises NotSimulated.
"""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass, field, fields
from typing import Any

from cuda import core
from cuda.bindings import driver
from cuda.core import _kernel_arg_handler

from grader.backends.cuda import parameters, programs, refused_names
from grader.backends.cuda.refusals import LaunchRefused, NotCompiled, NotSimulated

TARGET = 90  # the compute capability, times ten, of the GPU that these names pretend to be
MOST_THREADS = 1024
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
MOST_BLOCKS, MOST_OF_BLOCK = (2**31 - 1, 65_535, 65_535), (MOST_THREADS, MOST_THREADS, 64)
MOST_OF_CLUSTER, MOST_OF_LARGER_CLUSTER = 8, 16  # blocks; the larger must be allowed
# Of that GPU, an H100.
PROPERTIES = {
    "max_registers_per_block": 65536,
    "max_shared_memory_per_block": 49152,
    "max_shared_memory_per_block_optin": 232448,
    "max_shared_memory_per_multiprocessor": 233472,
    "max_threads_per_block": MOST_THREADS,
    "max_threads_per_multiprocessor": 2048,
    "multiprocessor_count": 132,
    "warp_size": 32,
}
LANGUAGES, TARGETS = ("c++", "ptx", "nvvm"), ("ptx", "cubin", "ltoir")  # as cuda.core takes them
# Options of a source that the judge's compiler takes over. It has headers of its own.
OPTIONS = (
    *("std", "max_register_count", "ftz", "prec_sqrt", "prec_div", "fma", "use_fast_math"),
    *("extra_device_vectorization", "define_macro", "undefine_macro", "restrict", "minimal"),
    *("device_as_default_execution_space", "device_int128", "builtin_move_forward", "lineinfo"),
    *("builtin_initializer_list", "debug", "device_code_optimize", "disable_warnings"),
)
HARMLESS = ("name", "arch", "include_path", "use_bundled_headers", "no_display_error_number")
SHARED = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
LARGER_CLUSTER = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
Capability = namedtuple("Capability", "major minor")


class _OnlyOnGpu:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"only a GPU has {type(self).__name__}.{name}")


class Stream(_OnlyOnGpu):
    handle = 0

    def sync(self) -> None:
        """Return at once: no work is under way."""

    def close(self) -> None:
        """Release nothing."""

    def create_graph_builder(self) -> None:
        refused_names.record_graph()

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 0)


class DeviceProperties(_OnlyOnGpu):
    def __getattr__(self, name: str) -> Any:
        return PROPERTIES[name] if name in PROPERTIES else super().__getattr__(name)


class Device(_OnlyOnGpu):
    """The one GPU that is not there."""

    device_id = 0
    arch = str(TARGET)
    compute_capability = Capability(*divmod(TARGET, 10))
    default_stream = Stream()
    properties = DeviceProperties()

    def __init__(self, device_id: Any = None) -> None:
        pass

    def set_current(self, ctx: Any = None) -> None:
        """Change nothing: there is one."""

    def sync(self) -> None:
        """Return at once: no work is under way."""

    def create_stream(self, *args: Any, **options: Any) -> Stream:
        return Stream()

    def create_graph_builder(self) -> None:
        refused_names.record_graph()


class ProgramOptions(core.ProgramOptions):  # type: ignore[misc]
    arch: str | None

    def __post_init__(self) -> None:
        self.arch = self.arch or f"sm_{TARGET}"
        super().__post_init__()


class LaunchConfig(core.LaunchConfig):  # type: ignore[misc]
    """A launch's sizes; the driver would be asked whether its GPU has clusters."""

    def __init__(
        self, grid: Any = None, cluster: Any = None, block: Any = None, *more: Any, **named: Any
    ) -> None:
        super().__init__(grid, None, block, *more, **named)
        if cluster is not None:
            self.cluster = core.LaunchConfig(grid=cluster, block=1).grid


class KernelAttributes(_OnlyOnGpu):
    """Figures of a kernel: none can be set, as on a GPU."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of a kernel is not writable")


@dataclass(frozen=True)
class KernelHandle(_OnlyOnGpu):
    kernel: Kernel

    def __int__(self) -> int:
        raise NotSimulated("only a GPU has a kernel's address")


@dataclass(frozen=True)
class Kernel(_OnlyOnGpu):
    """A kernel that was compiled, and is not loaded."""

    name: str
    program: Program
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    attributes = KernelAttributes()

    @property
    def handle(self) -> KernelHandle:
        return KernelHandle(self)


class ObjectCode(_OnlyOnGpu):
    def __init__(self, program: Program, built: Any, names: tuple[str, ...]) -> None:
        self.code, self.name, self.symbol_mapping = built.code, built.name, built.symbol_mapping
        self._program, self._names = program, names

    def get_kernel(self, name: str | bytes) -> Kernel:
        """Return a kernel of the code. Raises NotCompiled where it has none of this name."""
        name = name if isinstance(name, str) else name.decode()
        symbol = self.symbol_mapping.get(name, name)
        symbol = symbol if isinstance(symbol, str) else symbol.decode()
        sizes = parameters.sizes_of(self.code, symbol)
        if sizes is None:
            raise NotCompiled(f"the source has no kernel {name}")
        return Kernel(name, self._program, self._names, sizes)


class Program(programs.Program):
    def __init__(
        self, code: Any, code_type: Any, options: core.ProgramOptions | None = None
    ) -> None:
        options = options or ProgramOptions()
        for name in (each.name for each in fields(options)):
            given = getattr(options, name)
            if given not in (None, False, [], ()) and name not in (*OPTIONS, *HARMLESS):
                raise NotSimulated(f"ProgramOptions({name}=...) needs a GPU here")
        if str(code_type).lower() not in LANGUAGES:
            raise ValueError(
                'a source is in "c++", "ptx" or "nvvm": Program(SOURCE, "c++", options)'
            )
        if str(code_type).lower() != "c++":
            raise NotSimulated(f"a source in {code_type} needs a GPU here")
        super().__init__(code, code_type, options)

    def compile(self, target_type: Any, name_expressions: Any = (), *args: Any, **more: Any) -> Any:
        """Compile to machine code, whatever the file wants: a driver would make that of PTX."""
        target = "cubin" if target_type in TARGETS else target_type
        built = super().compile(target, name_expressions=tuple(name_expressions))
        return ObjectCode(self, built, tuple(name_expressions))


class Linker:
    def __init__(self, *code: Any, **options: Any) -> None:
        raise NotSimulated("a Linker needs a GPU here")


@dataclass
class Launched:
    """The launches since the last call began, and the sizes that kernels may ask for."""

    kernels: dict[tuple[Kernel, int, int], None] = field(default_factory=dict)
    count: int = 0
    most_shared: dict[Kernel, int] = field(default_factory=dict)  # bytes
    most_of_cluster: dict[Kernel, int] = field(default_factory=dict)  # blocks


launched = Launched()


def set_kernel_attribute(
    attribute: Any, value: int, handle: KernelHandle, device: Any
) -> tuple[Any]:
    """Note how much shared memory or how large a cluster a launch of this kernel may have."""
    if attribute == SHARED:
        if value > PROPERTIES["max_shared_memory_per_block_optin"]:
            return (driver.CUresult.CUDA_ERROR_INVALID_VALUE,)
        launched.most_shared[handle.kernel] = value
    if attribute == LARGER_CLUSTER:
        most = MOST_OF_LARGER_CLUSTER if value else MOST_OF_CLUSTER
        launched.most_of_cluster[handle.kernel] = most
    return (driver.CUresult.CUDA_SUCCESS,)


def launch(stream: Any, config: Any, kernel: Kernel, *arguments: Any) -> None:
    """Note a launch. Raises TypeError and LaunchRefused for one that a GPU would refuse."""
    placed = hasattr(stream, "__cuda_stream__") and isinstance(config, core.LaunchConfig)
    if not placed or not isinstance(kernel, Kernel):
        raise TypeError("a launch is launch(stream, LaunchConfig(...), kernel, *arguments)")
    threads = math.prod(config.block)
    _check_sizes(config, threads, launched.most_of_cluster.get(kernel, MOST_OF_CLUSTER))
    parameters.check_shared(config.shmem_size, launched.most_shared.get(kernel, 48 << 10))
    _kernel_arg_handler.ParamHolder(arguments)
    parameters.check(kernel.name, kernel.sizes, arguments)
    launched.kernels[kernel, threads, config.shmem_size] = None
    launched.count += 1


def _check_sizes(config: Any, threads: int, most_of_cluster: int) -> None:
    cluster = config.cluster or (1, 1, 1)
    blocks = tuple(map(math.prod, zip(config.grid, cluster, strict=True)))
    limits = [
        ("a block", "threads", threads, MOST_THREADS),
        ("a cluster", "blocks", math.prod(cluster), most_of_cluster),
    ]
    for axis, in_grid, most_blocks, in_block, most_threads in zip(
        "xyz", blocks, MOST_BLOCKS, config.block, MOST_OF_BLOCK, strict=True
    ):
        limits.append(("the grid", f"blocks along {axis}", in_grid, most_blocks))
        limits.append(("a block", f"threads along {axis}", in_block, most_threads))
    for whose, what, size, most in limits:
        if size > most:
            raise LaunchRefused(f"{whose} has {size:,} {what}, and a GPU takes {most:,}")
