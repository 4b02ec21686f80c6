"""Triton kernels in a worker without a GPU: Triton compiles them, a simulated device runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import torch

from grader.backends.triton import warned
from grader.backends.triton.compile_errors import root_cause
from grader.backends.triton.driver import compiler
from grader.backends.triton.driver import preload as first_compilation
from grader.backends.triton.driver.driver import activate, imitate_host
from grader.backends.triton.driver.launcher import Line
from grader.backends.triton.driver.protected import Opening, Protected
from grader.backends.triton.driver.scratch import Scratch
from grader.backends.triton.driver.unwritten import Marking
from grader.model import Specialisation
from grader.worker.allocations import Allocations
from grader.worker.arena_mapping import map_arena, span_of, tensor_at
from grader.worker.bounds import Span
from grader.worker.device_link import SCRATCH, DeviceLink
from grader.worker.launches import Withheld
from grader.worker.torch_operations import Moving
from grader.worker.traffic_counter import Ledger


class Simulated:
    """Kernels whose launches go to the simulated GPU; without a link there is no call either."""

    def __init__(self, link: DeviceLink | None) -> None:
        if link is not None:
            self._line = Line(link.channel, Scratch(link.scratch, SCRATCH))
            activate(self._line)
            self._imitated = imitate_host(self._line)

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        self._memory = map_arena(ticket, fd)
        self._line.map(self._memory)
        self.allocations = Allocations()
        start = self._memory.data_ptr()
        arena = Span(start, start + self._memory.numel(), "arena")
        # For as long as the worker lives: a kernel may reach what the file allocates at any time
        # by its bare address.
        self._modes = ExitStack()
        protected = Protected(self._memory)
        self._line.opened = protected.opened
        self._modes.enter_context(Opening(protected))
        self._modes.enter_context(Marking(self.allocations, arena, self._line.see))

    def argument(self, ref: Mapping[str, Any]) -> object:
        return tensor_at(self._memory, ref)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """Begin a call; the judge has named its arguments to the device."""
        self._line.begin()

    def in_other_order(self) -> AbstractContextManager[None]:
        return nullcontext()  # the judge asks the device

    def watching(self) -> AbstractContextManager[object]:
        return nullcontext()  # allocations are always recorded

    @contextmanager
    def counting(self, refs: list[Mapping[str, Any]]) -> Iterator[Ledger]:
        """Count what torch does to the arguments; the device counts what kernels do."""
        tensors = [(ref, tensor_at(self._memory, ref)) for ref in refs]
        ledger = Ledger((span_of(ref, tensor), tensor.element_size()) for ref, tensor in tensors)
        with Moving(ledger):
            yield ledger

    def logging(self) -> AbstractContextManager[None]:
        return nullcontext()  # programs have no threads to log

    def mark(self) -> None:
        """Do nothing: simulated kernels are not timed."""

    def observing(self) -> AbstractContextManager[None]:
        return nullcontext()  # what is compiled here has no registers

    def launched(self) -> tuple[Specialisation, ...]:
        return ()  # the judge asks the device

    def without_kernels(self) -> AbstractContextManager[Withheld]:
        return nullcontext(Withheld())  # the judge has the device withhold launches

    def synchronize(self) -> None:
        """Do nothing: the device has answered each launch."""

    def settle(self) -> None:
        """Do nothing: a simulator holds no memory of a GPU."""

    def root_cause(self, error: BaseException) -> BaseException:
        return root_cause(error)


def install() -> Callable[[DeviceLink | None], Simulated]:
    """Prepare this process before workers are forked; return a factory of backends for them."""
    torch.set_num_threads(1)
    # Torch fills what it does not initialise only while it is asked for determinism. The way to ask
    # that is for compiled code as well would import torch's compiler, which takes a second.
    torch.set_deterministic_debug_mode("warn")
    compiler.install()
    warned.install()
    return Simulated


preload = first_compilation.preload
