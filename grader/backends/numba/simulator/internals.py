"""The private parts of numba's CUDA simulator: the one module that touches them.

Importing this module raises CannotGrade when the installed numba-cuda does not fit.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

from numba import cuda
from numba.cuda.core import config
from numba.cuda.np import numpy_support

from grader.backends.numba import contract
from grader.model import CannotGrade
from grader.worker.requirements import require

if not config.ENABLE_CUDASIM:
    raise CannotGrade(
        "numba was imported without its CUDA simulator",
        next_step="Set NUMBA_ENABLE_CUDASIM=1 before numba is imported.",
    )

# Imported by name, because these modules have hardly any types: here they are Any.
_kernel: Any = importlib.import_module("numba.cuda.simulator.kernel")
_kernelapi: Any = importlib.import_module("numba.cuda.simulator.kernelapi")
_devicearray: Any = importlib.import_module("numba.cuda.simulator.cudadrv.devicearray")

require(contract.SIMULATED, contract.GREENLETS)

# The simulator's own classes, before `put_in_place` replaces them.
ArgHint = _kernel.ArgHint
Dim3 = _kernelapi.Dim3
FakeCUDAArray = _devicearray.FakeCUDAArray
FakeCUDAAtomic = _kernelapi.FakeCUDAAtomic
FakeCUDAKernel = _kernel.FakeCUDAKernel
FakeCUDALocal = _kernelapi.FakeCUDALocal
FakeCUDAModule = _kernelapi.FakeCUDAModule
FakeCUDAShared = _kernelapi.FakeCUDAShared
InOut = _kernel.InOut
make_device_array = _devicearray.device_array


def put_in_place(
    block_manager: type, cuda_module: type, as_kernels_see_it: Any, new_device_array: Any
) -> None:
    """Make launches and kernel files use these instead of the simulator's own."""
    _kernel.BlockManager = block_manager
    _kernel.FakeCUDAModule = cuda_module
    _kernel.FakeWithinKernelCUDAArray = as_kernels_see_it
    _devicearray.device_array = new_device_array
    cuda.device_array = new_device_array


def call_in_errors(public: str, *classes: type) -> None:
    """Let Python's errors name these classes, and their methods, as a kernel file does."""
    for each in classes:
        each.__name__ = public
        for name, function in vars(each).items():
            if isinstance(function, FunctionType) and not name.startswith("_"):
                function.__qualname__ = f"{public}.{name}"


def launched() -> Any:
    return _kernel._get_kernel_context()  # None outside of a launch


def numpy_type(dtype: Any) -> Any:
    """Translate numba's types for numpy; return any other dtype unchanged."""
    return numpy_support.as_dtype(dtype) if isinstance(dtype, _kernelapi.types.Type) else dtype
