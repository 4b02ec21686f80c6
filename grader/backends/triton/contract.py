"""Private names of Triton that its launches and its simulator rely on."""

from __future__ import annotations

from grader.backends.triton import BACKEND
from grader.worker.contract import TORCH
from grader.worker.requirements import Library, touchpoints

(TRITON,) = BACKEND.packages
_DRIVER = "backends/triton/driver"
_SIMULATOR = "backends/triton/simulator"
_INTERPRETER = "triton.runtime.interpreter"

COMPILED = Library(
    TRITON,
    touchpoints(
        "triton.compiler",
        "backends/triton/launches.py",
        "CompiledKernel.run.fget(self)",  # a property, whose value starts the kernel
        "CompiledKernel.launch_metadata(self, grid, stream, args)",
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
DRIVER_OF_TORCH = Library(
    TORCH,
    (
        *touchpoints(
            "torch.multiprocessing.reductions",
            f"{_DRIVER}/scratch.py",
            *("StorageWeakRef(storage)", "StorageWeakRef.expired(self)"),
        ),
        *touchpoints("torch", f"{_DRIVER}/scratch.py", "UntypedStorage._new_with_weak_ptr"),
    ),
)

SIMULATED = Library(
    TRITON,
    (
        *touchpoints(
            _INTERPRETER,
            f"{_SIMULATOR}/builder.py",
            "InterpreterBuilder.set_grid_idx(self, x, y, z)",
            # The last one is taken by its position.
            "InterpreterBuilder.create_masked_load"
            "(self, ptrs, mask, other, cache_modifier, eviction_policy, is_volatile)",
            "InterpreterBuilder.create_masked_store"
            "(self, ptrs, value, mask, cache_modifier, eviction_policy)",
            "InterpreterBuilder.create_atomic_rmw(self, rmwOp, ptr, val, mask, sem, scope)",
            "InterpreterBuilder.create_atomic_cas(self, ptr, cmp, val, sem, scope)",
            "InterpreterBuilder.create_descriptor_load"
            "(self, desc, indices, cache_modifier, eviction_policy)",
            "InterpreterBuilder.get_fp64(self, value)",
            "InterpreterBuilder.cast_impl(self, src, dst_type)",
            "InterpreterBuilder.create_fp_to_fp(self, src, dst_type, rounding_mode)",
            "InterpreterBuilder.binary_op(self, lhs, rhs, op)",
            "InterpreterBuilder.unary_op(self, arg, op)",
            "InterpreterBuilder.ternary_op(self, lhs, rhs, other, op)",
            "InterpreterBuilder.create_fma(self, x, y, z)",
            "InterpreterBuilder.create_dot(self, a, b, d, input_precision, max_num_imprecise_acc)",
            "InterpreterBuilder.create_print(self, prefix, hex, values, isSigned)",
            "InterpreterBuilder.create_inline_asm",
            "InterpreterBuilder.create_extern_elementwise"
            "(self, libName, libPath, symbol, argList, retType, isPure)",
            *("_ir.MEM_SEMANTIC.ACQUIRE", "_ir.MEM_SEMANTIC.RELEASE"),
            *("_ir.MEM_SEMANTIC.ACQUIRE_RELEASE", "_ir.ROUNDING_MODE.RTZ"),
            "_ir.PADDING_OPTION.PAD_NAN",
        ),
        *touchpoints(
            _INTERPRETER,
            f"{_SIMULATOR}/language.py",
            *("_patch_lang(fn)", "_patch_lang_tensor(tensor, scope)", "_LangPatchScope()"),
            "_LangPatchScope.set_attr(self, obj, name, value)",
        ),
        *touchpoints(
            _INTERPRETER,
            f"{_SIMULATOR}/launch.py",
            *("interpreter_builder", "GridExecutor.__call__(self, args_dev, kwargs)"),
            "GridExecutor._init_args_hst(self, args_dev, kwargs)",
            "GridExecutor._restore_args_dev(self, args_dev, args_hst, kwargs, kwargs_hst)",
        ),
        *touchpoints(
            "triton.runtime.autotuner",
            f"{_SIMULATOR}/launch.py",
            "Autotuner.run(self, args, kwargs)",
        ),
        *touchpoints(_INTERPRETER, f"{_SIMULATOR}/internals.py", "TensorHandle(data, dtype)"),
        *touchpoints(_INTERPRETER, f"{_SIMULATOR}/setup.py", "FunctionRewriter.ast_transformer"),
        *touchpoints(
            _INTERPRETER, f"{_SIMULATOR}/logic.py", "ASTTransformer.generic_visit(self, node)"
        ),
        *touchpoints(
            _INTERPRETER,
            f"{_SIMULATOR}/reductions.py",
            *("ReduceOps.apply_impl(self, input)", "ReduceOps.generic_reduce(self, input)"),
            *("ReduceOps.to_tensor(self, ret, dtype)", "ScanOps.generic_scan(self, input)"),
            *("ScanOps.cumsum(self, input)", "ScanOps.cumprod(self, input)"),
        ),
        *touchpoints("triton.runtime.errors", f"{_SIMULATOR}/unwrap.py", "InterpreterError"),
        *touchpoints("triton", f"{_SIMULATOR}/setup.py", "knobs.runtime.interpret"),
    ),
)
