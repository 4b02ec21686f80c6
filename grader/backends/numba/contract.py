"""Private names of numba-cuda, and of greenlet, that its launches and its simulator rely on."""

from __future__ import annotations

from grader.backends.numba import BACKEND
from grader.worker.requirements import Library, touchpoints

_, NUMBA_CUDA, GREENLET = BACKEND.packages
_SIMULATOR = "backends/numba/simulator"
_INTERNALS = f"{_SIMULATOR}/internals.py"
_ARRAYS = "numba.cuda.simulator.cudadrv.devicearray"

COMPILED = Library(
    NUMBA_CUDA,
    touchpoints(
        "numba.cuda.dispatcher",
        "backends/numba/launches.py",
        "_Kernel.launch(self, args, griddim, blockdim, stream, sharedmem)",
        *("_Kernel.regs_per_thread", "_Kernel.shared_mem_per_block"),
        "_Kernel.local_mem_per_thread",
    ),
)

SIMULATED = Library(
    NUMBA_CUDA,
    (
        *touchpoints(
            "numba.cuda.dispatcher",
            _INTERNALS,
            "CUDADispatcher.call(self, args, launch_config)",
            *("CUDADispatcher.__call__", "CUDADispatcher.compile(self, sig)"),
            *("_Kernel(py_func, argtypes, link, debug, lineinfo)", "_Kernel.library"),
            *("ForAll._compute_thread_per_block(self, dispatcher)", "_LAUNCH_CONFIG_KW"),
            "_LaunchConfiguration._push_args(self, args)",
            "_LaunchConfiguration._pop_args(self, prev)",
            "sigutils.normalize_signature(sig)",
        ),
        *touchpoints(
            "numba.cuda.dispatcher",
            f"{_SIMULATOR}/compiler.py",
            *("CUDADispatcher.add_overload(self, kernel, argtypes)", "CUDADispatcher.specialized"),
        ),
        *touchpoints("numba.cuda.cext._dispatcher", _INTERNALS, "Dispatcher._cuda_call"),
        *touchpoints(
            "numba.cuda.cudadrv.devices",
            _INTERNALS,
            *("_runtime.get_or_create_context(devnum)", "_runtime.ensure_context()"),
            *("_runtime.gpus", "gpus"),
        ),
        *touchpoints("numba.cuda.cudadrv.driver", _INTERNALS, "_to_core_stream(stream)"),
        *touchpoints(
            "numba.cuda.cudadrv.nvvm", _INTERNALS, "NVVM()", "_datalayout", "llvm_replace(llvmir)"
        ),
        *touchpoints(
            "numba.cuda.codegen",
            _INTERNALS,
            *("CUDACodeLibrary.get_asm_str(self, cc)", "CUDACodeLibrary.llvm_strs"),
        ),
        *touchpoints("numba.cuda.simulator.args", _INTERNALS, "InOut(value)", "In", "Out"),
        *touchpoints(
            "numba.cuda.simulator.args",
            f"{_SIMULATOR}/device_arrays.py",
            "ArgHint.to_device(self, retr, stream)",
        ),
        *touchpoints(
            "numba.cuda.simulator.api",
            _INTERNALS,
            *("close()", "default_stream", "defer_cleanup()", "detect()"),
            *("external_stream(ptr)", "stream", "synchronize()"),
        ),
        *touchpoints("numba.cuda.simulator.reduction", _INTERNALS, "Reduce"),
        *touchpoints("numba.cuda.stubs", _INTERNALS, "_vector_type_stubs"),
        *touchpoints("numba.cuda.libdevicefuncs", f"{_SIMULATOR}/libdevice.py", "functions"),
        *touchpoints(
            _ARRAYS,
            f"{_SIMULATOR}/device_arrays.py",
            *("FakeCUDAArray(ary, stream)", "FakeCUDAArray.__getitem__(self, idx)"),
            *("FakeCUDAArray.__setitem__(self, idx, val)", "device_array"),
        ),
        *touchpoints(
            _ARRAYS,
            _INTERNALS,
            *("to_device(ary, stream, copy, to)", "device_array_like(ary, stream)"),
        ),
        *touchpoints("numba.cuda", _INTERNALS, "device_array", "is_cuda_array(obj)"),
        *touchpoints(
            "numba.cuda.vectorizers",
            _INTERNALS,
            "CUDAUFuncMechanism.broadcast_device(self, ary, shape)",
        ),
        *touchpoints("numba.cuda.np.numpy_support", _INTERNALS, "as_dtype(nbtype)"),
    ),
)

# A thread's own context: numpy's handling of Inf and NaN in one thread does not affect another.
GREENLETS = Library(
    GREENLET,
    touchpoints(
        "greenlet",
        f"{_SIMULATOR}/thread.py",
        *("greenlet.gr_context", "greenlet.switch", "greenlet.throw", "greenlet.parent"),
    ),
)
