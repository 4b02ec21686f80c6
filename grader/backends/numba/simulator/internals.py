"""The private parts of numba-cuda that the simulation takes the place of: the one module that does.

numba.cuda itself is loaded as for a GPU: its decorators, options and compiler are real. Arrays
and streams on the host come from numba's own simulator. Importing this module raises
CannotGrade when the installed numba-cuda does not fit.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba.cuda.core import config
from numba.cuda.np import numpy_support

from grader.backends.numba import contract
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.model import CannotGrade
from grader.worker.requirements import require

if config.ENABLE_CUDASIM:
    raise CannotGrade(
        "numba was imported with its own CUDA simulator, in place of its compiler",
        next_step="Unset NUMBA_ENABLE_CUDASIM.",
    )

require(contract.SIMULATED, contract.GREENLETS)

# Imported by name, because these modules have hardly any types: here they are Any.
_cuda: Any = importlib.import_module("numba.cuda")
_api: Any = importlib.import_module("numba.cuda.simulator.api")
_args: Any = importlib.import_module("numba.cuda.simulator.args")
_devicearray: Any = importlib.import_module("numba.cuda.simulator.cudadrv.devicearray")
_reduction: Any = importlib.import_module("numba.cuda.simulator.reduction")
_devices: Any = importlib.import_module("numba.cuda.cudadrv.devices")
_dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
_cext: Any = importlib.import_module("numba.cuda.cext._dispatcher")
_driver: Any = importlib.import_module("numba.cuda.cudadrv.driver")
_nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
_codegen: Any = importlib.import_module("numba.cuda.codegen")
_types: Any = importlib.import_module("numba.cuda.types")
_vectorizers: Any = importlib.import_module("numba.cuda.vectorizers")
_typeof: Any = importlib.import_module("numba.cuda.typing.typeof")

ArgHint = _args.ArgHint
InOut = _args.InOut
FakeCUDAArray = _devicearray.FakeCUDAArray
Kernel = _dispatcher.CUDADispatcher
Compiled = _dispatcher._Kernel
make_device_array = _devicearray.device_array
Type = _types.Type
VECTORS: tuple[Any, ...] = tuple(importlib.import_module("numba.cuda.stubs")._vector_type_stubs)

# Of numba.cuda's names on the host, those that numba's simulator has without a GPU.
_HOST = {
    _api: "close default_stream defer_cleanup detect external_stream is_bfloat16_supported "
    "is_float16_supported is_fp8_supported is_supported_version legacy_default_stream "
    "per_thread_default_stream stream synchronize",
    _args: "In Out InOut",
    _devicearray: "device_array_like managed_array mapped_array pinned pinned_array "
    "pinned_array_like to_device",
    _reduction: "Reduce",
}


def put_in_place(
    call: Any,
    call_device_function: Any,
    compile_kernel: Any,
    context: Any,
    event: Any,
    device_array: Any,
) -> None:
    """Make launches, compilations, events and device arrays of this process use these."""
    Kernel.call, Kernel.__call__ = call, call_device_function
    Kernel.compile = compile_kernel
    # Up to LLVM's code numba needs no library of NVIDIA's, but for the version that it writes.
    _nvvm.NVVM = _WithoutNvvm
    _codegen.CUDACodeLibrary.get_asm_str = _verified
    _driver._to_core_stream = lambda stream: stream
    _dispatcher.ForAll._compute_thread_per_block = _threads_for_all
    _devices._runtime.get_or_create_context = lambda number: context
    _devices._runtime.ensure_context = context.entered
    for owner in (_devices._runtime, _devices, _cuda):
        owner.gpus = [context]
    ArgHint._numba_type_ = property(
        lambda hint: _typeof.typeof(hint.value, _typeof.Purpose.argument)
    )
    for module, names in _HOST.items():
        for name in names.split():
            setattr(_cuda, name, getattr(module, name))
    _cuda.reduce = _cuda.Reduce
    _cuda.is_available = lambda: True
    _cuda.event = event
    _cuda.as_cuda_array = _as_cuda_array
    _cuda.is_cuda_array = lambda obj: isinstance(obj, FakeCUDAArray)
    _vectorizers.CUDAUFuncMechanism.broadcast_device = _broadcast
    _cuda.profile_start = _cuda.profile_stop = lambda: None
    _cuda.device_array = _devicearray.device_array = device_array


class _WithoutNvvm:
    data_layout = _nvvm._datalayout

    def get_ir_version(self) -> tuple[int, int, int, int]:
        return 2, 0, 3, 2


# Functions of numba's memory management, which its launches link only on request.
_ALLOCATES = "NRT_"


def _verified(library: Any, cc: Any = None) -> str:
    """Let LLVM, which comes with numba, read a kernel's code, in place of a compilation by NVVM.

    Raises RuntimeError where a compiler for a GPU would refuse it.
    """
    for text in library.llvm_strs:
        module = llvm.parse_assembly(text)
        module.verify()
        for function in module.functions:
            if function.is_declaration and function.name.startswith(_ALLOCATES):
                raise RuntimeError("a thread cannot allocate memory")
    return ""


def code_of(compiled: Any) -> list[str]:
    """Return the modules of a compiled kernel as NVVM gets them, its own first."""
    return [_nvvm.llvm_replace(text) for text in compiled.library.llvm_strs]


def _threads_for_all(self: Any, kernel: Any) -> int:
    """Return the block's size for `forall`: the largest, which a GPU advises for small kernels."""
    return int(self.thread_per_block) or 1024


def _as_cuda_array(obj: Any, sync: bool = True) -> Any:
    return obj if isinstance(obj, FakeCUDAArray) else _cuda.to_device(obj)


def _broadcast(mechanism: Any, array: Any, shape: tuple[int, ...]) -> Any:
    raise NotSimulated("the broadcast of a device array by a function vectorised for the GPU")


def compiled_for(kernel: Any, args: tuple[Any, ...], configuration: Any) -> Any:
    """Return the specialisation of a kernel for these arguments; compile it where there is none."""
    before = configuration._push_args(args)
    try:
        if kernel.specialized:
            return next(iter(kernel.overloads.values()))
        launch = {_dispatcher._LAUNCH_CONFIG_KW: configuration}
        return _cext.Dispatcher._cuda_call(kernel, *args, **launch)
    finally:
        configuration._pop_args(before)


def argument_types(sig: Any) -> tuple[Any, ...]:
    types, _ = _dispatcher.sigutils.normalize_signature(sig)
    return tuple(types)


def passable(ty: Any) -> bool:
    """Report whether a launch can pass an argument of this type (numba's `_prepare_args`)."""
    if isinstance(ty, _types.BaseTuple):
        return all(map(passable, ty))
    if isinstance(ty, _types.EnumMember):
        return passable(ty.dtype)
    return isinstance(ty, _PASSED) or ty in _PASSED_SCALARS


_PASSED = (_types.Array, _types.CPointer, _types.Integer, _types.Complex, _types.Record,
           _types.NPDatetime, _types.NPTimedelta)  # fmt: skip
_PASSED_SCALARS = (_types.float16, _types.float32, _types.float64, _types.boolean)


def call_in_errors(public: str, *classes: type) -> None:
    """Let Python's errors name these classes, and their methods, as a kernel file does."""
    for each in classes:
        each.__name__ = public
        for name, function in vars(each).items():
            if isinstance(function, FunctionType) and not name.startswith("_"):
                function.__qualname__ = f"{public}.{name}"


def numpy_type(dtype: Any) -> Any:
    """Translate numba's types for numpy; return any other dtype unchanged."""
    return numpy_support.as_dtype(dtype) if isinstance(dtype, Type) else dtype
