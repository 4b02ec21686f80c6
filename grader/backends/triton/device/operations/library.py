"""Functions of libraries, which a kernel calls by their symbols: those of libdevice."""

from __future__ import annotations

from torch import Tensor

from grader.backends.triton.device import libdevice
from grader.backends.triton.device.faults import NotSimulated
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.values import dtype_of


@operation("tt.extern_elementwise")
def extern_elementwise(op: Operation, operands: Operands, run: Run) -> Tensor:
    symbol = str(op.attributes.get("symbol"))
    function = libdevice.find(symbol, dtype_of(op.result_types[0]))
    if function is None:
        raise NotSimulated(f"the library function {symbol}")
    return function(*operands)
