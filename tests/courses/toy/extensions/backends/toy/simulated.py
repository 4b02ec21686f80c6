"""Toy kernels run by Python, on torch tensors that view the arena."""

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from types import ModuleType

import torch

from grader.worker.allocations import Allocations
from grader.worker.arena_mapping import map_arena, span_of, tensor_at
from grader.worker.launches import Withheld
from grader.worker.torch_operations import Moving
from grader.worker.traffic_counter import Ledger


class Kernel:
    """A function with `@toy.kernel` above it."""

    withheld = None

    def __init__(self, function):
        self._function = function

    def __getitem__(self, programs):
        return partial(self._launch, programs)

    def _launch(self, programs, *arguments):
        if Kernel.withheld is not None:
            Kernel.withheld.launch()
            return
        for number in range(programs):
            self._function(number, *arguments)


class Simulated:
    def map(self, ticket, fd):
        self._memory = map_arena(ticket, fd)
        self.allocations = Allocations()

    def argument(self, ref):
        return tensor_at(self._memory, ref)

    def before_call(self, refs):
        pass

    def in_other_order(self):
        return nullcontext()

    def watching(self):
        return nullcontext()

    @contextmanager
    def counting(self, refs):
        tensors = [(ref, self.argument(ref)) for ref in refs]
        ledger = Ledger((span_of(ref, tensor), tensor.element_size()) for ref, tensor in tensors)
        with Moving(ledger):
            yield ledger

    def logging(self):
        return nullcontext()

    def mark(self):
        return None

    def observing(self):
        return nullcontext()

    @contextmanager
    def without_kernels(self):
        Kernel.withheld = Withheld()
        try:
            yield Kernel.withheld
        finally:
            Kernel.withheld = None

    def synchronize(self):
        pass

    def settle(self):
        pass

    def root_cause(self, error):
        return error


def install():
    assert os.environ["TOY_SIMULATES"] == "1"
    torch.set_num_threads(1)
    sys.modules["toy"] = ModuleType("toy")
    sys.modules["toy"].kernel = Kernel
    return Simulated
