"""Launches of compiled Triton kernels, recorded so that another process can make them again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from grader.worker.launches import replaced
from grader.worker.recorder import NotRecorded, Parameter, Recorder

INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64")
FLOATS = ("fp32", "fp64")


@contextmanager
def recorded(arena: range) -> Iterator[Recorder]:
    """Record each launch that Triton's runtime makes meanwhile, and let it happen."""
    from triton.compiler import CompiledKernel

    recorder = Recorder(arena)
    run = CompiledKernel.run  # a property, whose value starts the kernel when it is called

    def recording(kernel: Any) -> Callable[..., None]:
        start = run.fget(kernel)

        def launch(x: int, y: int, z: int, *given: Any) -> None:
            # As CudaLauncher.__call__ takes them: the stream, the function, metadata of the kernel
            # and of the launch, two hooks, and then the values.
            try:
                _note(recorder, kernel, (x, y, z), given[6:])
            except NotRecorded as error:
                recorder.refuse(str(error))
            except Exception as error:  # of ours: the launch must happen all the same
                recorder.refuse(f"a launch could not be recorded ({type(error).__name__}: {error})")
            start(x, y, z, *given)

        return launch

    with replaced(CompiledKernel, "run", property(recording)):
        yield recorder


def _note(recorder: Recorder, kernel: Any, grid: tuple[Any, Any, Any], values: Any) -> None:
    """Record one launch. Raises NotRecorded for one that needs more than a plain launch."""
    x, y, z = map(operator.index, grid)
    if min(x, y, z) < 1:
        return  # Triton starts nothing
    metadata = kernel.metadata
    if metadata.num_ctas > 1 or metadata.launch_cooperative_grid:
        raise NotRecorded("its blocks are launched in clusters, or together")
    if metadata.global_scratch_size or metadata.profile_scratch_size:
        raise NotRecorded("its kernel needs scratch from Triton's launcher")
    parameters = [
        parameter
        for kind, value in zip(kernel.src.signature.values(), values, strict=True)
        for parameter in _parameters(recorder, kind, value)
    ]
    # The launcher passes two scratch pointers at the end, here to nothing.
    parameters += [("u64", 0), ("u64", 0)]
    threads = metadata.num_warps * metadata.target.warp_size
    code = kernel.asm["cubin"]
    recorder.note(kernel.name, code, (x, y, z), threads, metadata.shared, parameters)


def _parameters(recorder: Recorder, kind: Any, value: Any) -> Iterator[Parameter]:
    """Yield the parameters that one argument becomes, by Triton's word for its type."""
    if isinstance(kind, tuple):
        for part, each in zip(kind, value, strict=True):
            yield from _parameters(recorder, part, each)
    elif kind == "constexpr":
        return
    elif kind.startswith("*"):
        yield _pointer(recorder, value)
    elif kind in FLOATS:
        yield kind, float(value)
    elif kind in INTEGERS:
        yield kind, operator.index(value)
    else:
        raise NotRecorded(f"it passes a {kind}")


def _pointer(recorder: Recorder, value: Any) -> Parameter:
    if value is None or isinstance(value, int):
        return recorder.pointer(value or 0)
    while hasattr(value, "base") and not hasattr(value, "untyped_storage"):
        value = value.base  # a tensor that is seen as another dtype
    return recorder.pointer(value.data_ptr(), value.untyped_storage())
