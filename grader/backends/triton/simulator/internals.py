"""The one module that imports Triton's interpreter, and hands it to the others.

Importing this module raises CannotGrade when the installed Triton does not fit.
"""

from __future__ import annotations

import triton
from triton.runtime import autotuner, errors, interpreter

from grader.worker.requirements import require

__all__ = ["Handle", "autotuner", "errors", "interpreter"]

_VERSIONS = {"found": f"Triton {triton.__version__}", "known": "Triton 3.6, Triton 3.9"}

require(triton, "knobs", **_VERSIONS)
require(errors, "InterpreterError", **_VERSIONS)
require(autotuner, "Autotuner", **_VERSIONS)
require(
    interpreter,
    *("InterpreterBuilder", "interpreter_builder", "TensorHandle", "GridExecutor", "ReduceOps"),
    *("ScanOps", "FunctionRewriter", "ASTTransformer"),
    *("_ir", "_patch_lang", "_patch_lang_tensor", "_LangPatchScope"),
    **_VERSIONS,
)
require(
    interpreter.InterpreterBuilder,
    *("create_masked_load", "create_masked_store", "create_atomic_rmw", "create_atomic_cas"),
    *("set_grid_idx", "create_descriptor_load", "binary_op", "unary_op", "ternary_op", "cast_impl"),
    *("create_fp_to_fp", "create_fma", "create_dot", "create_print", "create_inline_asm"),
    *("create_extern_elementwise",),
    **_VERSIONS,
)
require(interpreter.FunctionRewriter, "ast_transformer", **_VERSIONS)
require(interpreter.GridExecutor, "_init_args_hst", "_restore_args_dev", **_VERSIONS)
require(interpreter.ReduceOps, "apply_impl", "generic_reduce", "to_tensor", **_VERSIONS)
require(interpreter.ScanOps, "generic_scan", "cumsum", "cumprod", **_VERSIONS)

Handle = interpreter.TensorHandle
