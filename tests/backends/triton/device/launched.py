"""Launches of @triton.jit kernels on the simulated GPU, all within the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
from triton.runtime import driver as active
from triton.tools.tensor_descriptor import TensorDescriptor

from grader.backends.triton.device.plan import Program
from grader.backends.triton.device.provenance import Provenance
from grader.backends.triton.device.races import Races
from grader.backends.triton.device.run import Launch, execute
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.parse import parse
from grader.backends.triton.device.ttir.records import Type
from grader.backends.triton.device.values import Descriptor, Value, dtype_of
from grader.backends.triton.driver import compiler
from grader.backends.triton.driver.driver import activate
from grader.model import Origin

from .memories import memory_of, span_of


class Gpu:
    """Compiles kernels and executes them; `origins` are those of the last launch."""

    def __init__(self) -> None:
        self.origins: tuple[Origin, ...] = ()

    def ttir(self, kernel: Any, *arguments: Any, **options: Any) -> str:
        return self._compiled(kernel, arguments, options).asm["ttir"]

    def launch(
        self,
        kernel: Any,
        grid: tuple[int, ...],
        *arguments: Any,
        backwards: bool = False,
        **options: Any,
    ) -> str:
        """Execute a kernel, which may touch its tensor arguments; return what it prints."""
        compiled = self._compiled(kernel, arguments, options)
        program = Program(parse(compiled.asm["ttir"]))
        named = dict(zip(kernel.arg_names, arguments, strict=False)) | options
        kept = [named[name] for name, kind in compiled.src.signature.items() if kind != "constexpr"]
        types = [type_ for _, type_ in program.module.entry.arguments]
        # The shape and the strides of a descriptor follow it as arguments of their own.
        given = [part for each in kept for part in _parts(each)]
        values = [_value(each, type_) for each, type_ in zip(given, types, strict=True)]
        tensors = {
            name: each.base if isinstance(each, TensorDescriptor) else each
            for name, each in named.items()
            if isinstance(each, torch.Tensor | TensorDescriptor)
        }
        x, y, z = (*grid, 1, 1)[:3]
        source = Source(kernel.fn.__code__.co_filename, _lines(kernel))
        spans = [span_of(name, tensor) for name, tensor in tensors.items()]
        provenance = Provenance(spans)
        observers = {
            "races": Races(spans, (x, y, z), source),
            "source": source,
            "provenance": provenance,
        }
        memory = memory_of(observers, **tensors)
        launch = Launch(program, (x, y, z), memory, compiled.metadata.num_warps, backwards)
        execute(launch, values)
        self.origins = provenance.origins(source)
        return launch.printed.take()

    def _compiled(self, kernel: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return kernel.warmup(*arguments, grid=(1,), **options)


def _parts(argument: Any) -> list[Any]:
    if isinstance(argument, TensorDescriptor):
        return [argument, *argument.shape, *argument.strides]
    return [argument]


def _value(argument: Any, type_: Type) -> Value:
    if not isinstance(argument, TensorDescriptor):
        address = isinstance(argument, torch.Tensor)
        return torch.tensor([argument.data_ptr() if address else argument], dtype=dtype_of(type_))
    assert type_.pointee is not None
    return Descriptor(
        torch.tensor([argument.base.data_ptr()]),
        tuple(torch.tensor([each]) for each in argument.shape),
        tuple(torch.tensor([each]) for each in argument.strides),
        type_.pointee,
        argument.padding,
    )


def _lines(kernel: Any) -> list[str]:
    return Path(kernel.fn.__code__.co_filename).read_text(encoding="utf-8").splitlines()


@contextmanager
def simulated_gpu(cache: Path) -> Iterator[Gpu]:
    with pytest.MonkeyPatch.context() as patch, triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(cache)
        patch.setattr(triton.knobs.runtime, "interpret", False)
        patch.setitem(triton.backends.backends, "nvidia", triton.backends.backends["nvidia"])
        patch.setattr(active, "_active", None)
        for name in ("do_bench", "do_bench_cudagraph"):
            patch.setattr(triton.testing, name, getattr(triton.testing, name))
        compiler.install()
        activate(None)
        yield Gpu()
