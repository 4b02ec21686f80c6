"""Private names of Triton that its launches and the simulated GPU's driver rely on."""

from __future__ import annotations

from grader.backends.triton import BACKEND
from grader.worker.contract import TORCH
from grader.worker.requirements import Library, touchpoints

(TRITON,) = BACKEND.packages
_DRIVER = "backends/triton/driver"
_COMPILE = "backends/triton/compile_ttir.py"

COMPILED = Library(
    TRITON,
    (
        *touchpoints(
            "triton.compiler",
            "backends/triton/launches.py",
            "CompiledKernel.run.fget(self)",  # a property, whose value starts the kernel
            "CompiledKernel.launch_metadata(self, grid, stream, args)",
        ),
        # A recorded launch has the parameters that this launcher takes, and passes on.
        *touchpoints(
            "triton.backends.nvidia.driver",
            "backends/triton/recording.py",
            "CudaLauncher.__call__",
        ),
    ),
)

# A worker notes a failure here, and does without.
PRELOADED = Library(
    TRITON,
    (
        *touchpoints(
            "triton.backends.compiler",
            "backends/triton/preload.py",
            "GPUTarget(backend, arch, warp_size)",
        ),
        *touchpoints("triton.compiler", "backends/triton/preload.py", "ASTSource(fn, signature)"),
        *touchpoints(
            "triton", "backends/triton/preload.py", "knobs.cache.scope()", "knobs.cache.dir"
        ),
        *touchpoints("triton.backends.nvidia.driver", "backends/triton/preload.py", "CudaDriver()"),
        *touchpoints("triton.runtime", "backends/triton/preload.py", "driver.set_active(driver)"),
    ),
)

# What the driver of the simulated GPU builds on, in the words of Triton 3.6 and 3.7.
DRIVER = Library(
    TRITON,
    (
        *touchpoints(
            "triton.backends", f"{_DRIVER}/compiler.py", "backends", "Backend(compiler, driver)"
        ),
        *touchpoints(
            "triton.backends.nvidia.compiler",
            f"{_DRIVER}/compiler.py",
            *("CUDABackend(target)", "CUDABackend.hash(self)"),
            "CUDABackend.add_stages(self, stages, options, language)",
        ),
        *touchpoints(
            "triton.runtime.cache",
            f"{_DRIVER}/compiler.py",
            *("FileCacheManager.put(self, data, filename, binary)", "triton_key()"),
        ),
        *touchpoints("triton", f"{_DRIVER}/compiler.py", "knobs.cache.manager_class"),
        *touchpoints(
            "triton.compiler.code_generator",
            f"{_DRIVER}/diagnostics.py",
            "ast_to_ttir(fn, src, context, options, codegen_fns, module_map)",
        ),
        *touchpoints(
            "triton.compiler.errors",
            f"{_DRIVER}/diagnostics.py",
            "CompilationError(src, node, error_message)",
        ),
        *touchpoints("triton.runtime.jit", f"{_DRIVER}/diagnostics.py", "get_jit_fn_file_line(fn)"),
        *touchpoints(
            "triton.backends.compiler",
            f"{_DRIVER}/driver.py",
            "GPUTarget(backend, arch, warp_size)",
        ),
        *touchpoints("triton.backends.driver", f"{_DRIVER}/driver.py", "DriverBase()"),
        *touchpoints("triton.runtime", f"{_DRIVER}/driver.py", "driver.set_active(driver)"),
        *touchpoints(
            "triton.testing",
            f"{_DRIVER}/driver.py",
            "do_bench(fn, warmup, rep, grad_to_none, quantiles, return_mode)",
            "do_bench_cudagraph(fn, rep, grad_to_none, quantiles, return_mode)",
        ),
        # The runtime calls our launcher like this one.
        *touchpoints(
            "triton.backends.nvidia.driver",
            f"{_DRIVER}/launcher.py",
            "CudaLauncher.__call__",
        ),
        *touchpoints(
            "triton.compiler", f"{_DRIVER}/preload.py", "ASTSource(fn, signature, constexprs)"
        ),
        *touchpoints("triton", f"{_DRIVER}/preload.py", "knobs.cache.scope()", "knobs.cache.dir"),
        *touchpoints("triton.language", f"{_DRIVER}/preload.py", "standard"),
        *touchpoints(
            "triton.runtime.jit", "backends/triton/compile_errors.py", "JITCallable.cache_key"
        ),
    ),
)

# What the step `compile` uses in a process of the judge's.
MACHINE_CODE = Library(
    TRITON,
    (
        *touchpoints(
            "triton.backends.nvidia.compiler",
            _COMPILE,
            *("CUDABackend(target)", "CUDABackend.parse_options(self, opts)"),
            "CUDABackend.add_stages(self, stages, options, language)",
            "CUDABackend.load_dialects(self, ctx)",
        ),
        *touchpoints(
            "triton.backends.compiler",
            _COMPILE,
            "GPUTarget(backend, arch, warp_size)",
            "Language.TRITON",
        ),
        *touchpoints(
            "triton._C.libtriton",
            _COMPILE,
            "ir.context",
            "ir.load_dialects",
            "ir.parse_mlir_module",
        ),
        *touchpoints(
            "triton", _COMPILE, "knobs.nvidia.dump_ptxas_log", "knobs.nvidia.nvdisasm.path"
        ),
    ),
)
DRIVER_OF_TORCH = Library(
    TORCH,
    (
        *touchpoints(
            "torch.multiprocessing.reductions",
            f"{_DRIVER}/scratch.py",
            *("StorageWeakRef(storage)", "StorageWeakRef.expired(self)"),
        ),
        *touchpoints("torch", f"{_DRIVER}/scratch.py", "UntypedStorage._new_with_weak_ptr"),
        *touchpoints("torch", f"{_DRIVER}/host.py", "_C.TensorBase"),
        *touchpoints(
            "torch.overrides",
            f"{_DRIVER}/host.py",
            "TorchFunctionMode.__torch_function__(self, func, types, args, kwargs)",
        ),
    ),
)
