"""Private names of numba-cuda, and of greenlet, that its launches and its simulator rely on."""

from __future__ import annotations

from grader.backends.numba import BACKEND
from grader.worker.requirements import Library, touchpoints

_, NUMBA_CUDA, GREENLET = BACKEND.packages
_SIMULATOR = "backends/numba/simulator"
_KERNEL, _API = "numba.cuda.simulator.kernel", "numba.cuda.simulator.kernelapi"
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
            _KERNEL,
            f"{_SIMULATOR}/internals.py",
            "_get_kernel_context()",
            "BlockManager(f, grid_dim, block_dim, debug)",
            "FakeCUDAModule(grid_dim, block_dim, dynshared_size)",
            "FakeWithinKernelCUDAArray(item)",
            "FakeCUDAKernel(fn, device, fastmath, extensions, debug)",
            "InOut(value)",
        ),
        *touchpoints(_KERNEL, f"{_SIMULATOR}/block.py", "BlockManager.run(self, grid_point, args)"),
        *touchpoints(
            _KERNEL,
            f"{_SIMULATOR}/setup.py",
            "FakeCUDAKernel.__call__(self, args)",
            "FakeCUDAKernel.__getitem__(self, configuration)",
        ),
        *touchpoints(
            _KERNEL,
            f"{_SIMULATOR}/device_arrays.py",
            "ArgHint.to_device(self, retr, stream)",
        ),
        *touchpoints(
            _API,
            f"{_SIMULATOR}/module.py",
            *("FakeCUDAModule.threadIdx", "FakeCUDAModule.blockIdx", "FakeCUDAModule.laneid"),
            *("FakeCUDAModule.cg", "FakeCUDAModule.local", "FakeCUDAModule.shared"),
            *("FakeCUDAModule.atomic", "FakeCUDAModule.threadfence(self)"),
            "FakeCUDAModule.threadfence_system(self)",
            "FakeCUDAModule.syncthreads(self)",
            "FakeCUDAModule.syncthreads_count(self, val)",
            "FakeCUDAModule.syncthreads_and(self, val)",
            "FakeCUDAModule.syncthreads_or(self, val)",
            "FakeCUDAAtomic",
        ),
        *touchpoints(
            _API,
            f"{_SIMULATOR}/memory.py",
            *("FakeCUDALocal.array(self, shape, dtype)", "FakeCUDAShared(dynshared_size)"),
            "FakeCUDAShared.array(self, shape, dtype)",
        ),
        *touchpoints(_API, f"{_SIMULATOR}/internals.py", "types.Type"),
        *touchpoints(_API, f"{_SIMULATOR}/thread.py", "Dim3(x, y, z)"),
        *touchpoints(
            _ARRAYS,
            f"{_SIMULATOR}/device_arrays.py",
            *("FakeCUDAArray(ary, stream)", "FakeCUDAArray.__getitem__(self, idx)"),
            *("FakeCUDAArray.__setitem__(self, idx, val)", "device_array"),
        ),
        *touchpoints("numba.cuda", f"{_SIMULATOR}/internals.py", "device_array"),
        *touchpoints(
            "numba.cuda.np.numpy_support", f"{_SIMULATOR}/internals.py", "as_dtype(nbtype)"
        ),
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
