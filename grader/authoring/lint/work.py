"""Rules about work that a library does in place of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule, uses, within
from grader.authoring.lint.source import Source
from grader.authoring.lint.torch_api import (
    COPIES,
    COPYING_METHODS,
    FETCHING_METHODS,
    KNOWN_METHODS,
    SURELY_COMPUTE,
    SURELY_COPY,
    is_operation,
    words,
)

# numpy's types and small tables are not work, nor is rounding a number of blocks. Another rule
# covers numpy's files.
_NUMPY_ALLOWED = words(
    "arange array asarray bool_ ceil dtype e empty finfo float16 float32 float64 floating floor "
    "full iinfo inf int16 int32 int64 int8 integer intp log2 nan ndarray newaxis number ones pi "
    "prod random uint16 uint32 uint64 uint8 zeros",
    "fromfile load loadtxt memmap save savez",
)
_LIBRARIES = words(
    "apex bitsandbytes cudf cuml cupy cupyx cutlass flash_attn flashinfer jax keras liger_kernel "
    "onnxruntime opt_einsum quack scipy sklearn tensorflow tensorrt thunder torchao torchvision "
    "transformer_engine transformers unsloth vllm xformers"
)


def torch_operations(source: Source) -> Iterator[Match]:
    for node, paths in source.references:
        if (found := sorted(filter(is_operation, paths))) and not source.on_gpu(node):
            yield Match(node, f"`{found[0]}`")
    for call, method, value in _methods(source):
        unknown = method not in KNOWN_METHODS and source.is_tensor(value)
        if unknown or method in SURELY_COMPUTE:
            yield Match(call, f"`.{method}()` of a tensor")
    for part in source.nodes:
        if _is_arithmetic(source, part) and not source.on_gpu(part):
            yield Match(part, "Arithmetic between tensors")


def _methods(source: Source) -> Iterator[tuple[ast.Call, str, ast.expr]]:
    """Yield each method call on the host: the call, the method's name and its object.

    A function of a module is not a method.
    """
    for node in source.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and not source.names.paths(node.func)
            and not source.on_gpu(node)
        ):
            yield node, node.func.attr, node.func.value


def _is_arithmetic(source: Source, node: ast.AST) -> bool:
    """Return whether this is the outermost of nested operations on a tensor."""
    if isinstance(node, ast.AugAssign):
        return source.is_tensor(node.target) or source.is_tensor(node.value)
    nested = isinstance(source.parent(node), ast.BinOp | ast.UnaryOp | ast.AugAssign)
    if isinstance(node, ast.BinOp):
        return source.is_tensor(node) and not nested
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return source.is_tensor(node.operand) and not nested
    return False


def torch_copies(source: Source) -> Iterator[Match]:
    for node, paths in source.references:
        if found := sorted(paths & {f"torch.{name}" for name in COPIES}):
            yield Match(node, f"`{found[0]}`")
    for call, method, value in _methods(source):
        if method in SURELY_COPY or (method in COPYING_METHODS and source.is_tensor(value)):
            yield Match(call, f"`.{method}()`")
    for place in source.nodes:
        if (
            isinstance(place, ast.Subscript)
            and isinstance(place.ctx, ast.Store)
            and not isinstance(source.parent(place), ast.AugAssign)
            and not source.on_gpu(place)
            and source.is_tensor(place.value)
        ):
            yield Match(place, "An assignment to elements of a tensor")


def numpy_operations(source: Source) -> Iterator[Match]:
    for node, paths in source.references:
        for path in sorted(paths):
            first, *rest = path.split(".")
            works = first == "numpy" and rest and rest[0] not in _NUMPY_ALLOWED
            if works and not source.on_gpu(node):
                yield Match(node, f"`{path}`")


def fetches(source: Source) -> Iterator[Match]:
    for call, method, value in _methods(source):
        if method == "copy_to_host" or (method in FETCHING_METHODS and source.is_tensor(value)):
            yield Match(call, f"`.{method}()`")


def other_libraries(source: Source) -> Iterator[Match]:
    ready_made = [path for names in libraries() for path in names.ready_made]
    for node in source.nodes:
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            named = [node.module]
        else:
            continue
        for name in named:
            if name.split(".")[0] in _LIBRARIES or within(name, ready_made):
                yield Match(node, f"`{name}`")


def no_launch(source: Source) -> Iterator[Match]:
    host = [function for function in source.functions if function.name in source.entries]
    if host and not source.launches and not _is_stub(source):
        yield Match(host[-1], f"`{host[-1].name}`")


def _is_stub(source: Source) -> bool:
    """Return whether the file raises NotImplementedError: its unused parts may still be used."""
    return any(
        "builtins.NotImplementedError"
        in source.names.paths(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        for node in source.nodes
        if isinstance(node, ast.Raise) and node.exc is not None
    )


def unused_kernels(source: Source) -> Iterator[Match]:
    if not source.launches or _is_stub(source):
        return
    used = set[str]()
    for node in source.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            inside = source.function(node)
            own = {inside.name} if inside else set()
            used |= source.local(node) - own
    for function in source.functions:
        if function.name in source.jitted.keys() - used:
            yield Match(function, f"`{function.name}`")


RULES = (
    Rule(
        "KG101",
        "torch-operation",
        Level.WARNING,
        "{what} is computed outside of the kernels of this file.",
        "The exercise asks for a kernel: what torch computes is torch's work, and each such "
        "operation reads and writes all of its data once more. The traffic step looks for it too.",
        "Move the computation into a kernel. Making scratch memory with `torch.empty` is fine.",
        torch_operations,
    ),
    Rule(
        "KG102",
        "torch-compile",
        Level.WARNING,
        "{what} has torch write the kernel.",
        "A kernel that torch compiles is not one that its author wrote, and the exercise is "
        "about writing one.",
        "Write the kernel yourself; `grader bench` compares it with what `torch.compile` makes.",
        uses("torch.compile", "torch.compiler", "torch._dynamo", "torch._inductor", "torch.jit"),
    ),
    Rule(
        "KG103",
        "other-library",
        Level.WARNING,
        "{what} brings ready-made kernels or mathematics.",
        "The exercise asks for a kernel of your own, and a machine that grades need not have "
        "this library.",
        "Use only torch, numpy, the kernel's language and Python's own modules.",
        other_libraries,
    ),
    Rule(
        "KG104",
        "fetch-to-host",
        Level.NOTE,
        "{what} brings data from the GPU to the CPU, in the middle of a call.",
        "The CPU waits until the GPU has finished all work given to it, and the GPU idles until "
        "the CPU has given it more.",
        "Keep the value on the GPU and let a kernel read it there.",
        fetches,
    ),
    Rule(
        "KG105",
        "numpy-operation",
        Level.WARNING,
        "{what} computes on the CPU.",
        "The exercise asks for a kernel: numpy works on the CPU, and its data must travel there "
        "and back.",
        "Move the computation into a kernel. numpy's types and small constant tables are fine.",
        numpy_operations,
    ),
    Rule(
        "KG106",
        "tensor-copy",
        Level.NOTE,
        "{what} copies data outside of the kernels of this file.",
        "A copy reads and writes every element once more, and takes memory. A copy of one tensor "
        "into another may also be all that a function does.",
        "Have the kernel read the data where it lies, with its strides, and write to `out` itself.",
        torch_copies,
    ),
    Rule(
        "KG107",
        "no-launch",
        Level.WARNING,
        "No kernel is launched in this file, so {what} cannot get its output from one.",
        "The exercise asks for an output that a kernel of this file computes.",
        "Launch a kernel: `kernel[grid](...)`.",
        no_launch,
    ),
    Rule(
        "KG108",
        "unused-kernel",
        Level.NOTE,
        "The kernel {what} is never used.",
        "It may be left over, or it may be there to look at while something else does the work.",
        "Remove it, or launch it.",
        unused_kernels,
    ),
)
