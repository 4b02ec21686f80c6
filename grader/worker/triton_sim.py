"""The one module that reaches into Triton's interpreter: checked accesses, right bfloat16.

Triton's interpreter keeps a block as a numpy array. Its memory accesses go to raw addresses without
a check, and bfloat16, which numpy lacks, is kept as uint16 and calculated with as if it were one.
Both are put right here, in one subclass of the interpreter's builder: every operation of a kernel
is a method of the builder.

Importing this module raises CannotGrade when the installed Triton does not fit.
"""

from __future__ import annotations

import ast
import ctypes
import os
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from numpy.typing import NDArray
from triton.runtime import autotuner, errors, interpreter

from grader.errors import CannotGrade
from grader.worker.adapt import require
from grader.worker.guard import Access, Addresses, AddressGuard, Span
from grader.worker.races import mirrored
from grader.worker.sites import learners_site
from grader.worker.triton_races import Programs

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

_Handle = interpreter.TensorHandle


class NotSimulated(Exception):
    """The kernel uses an operation that exists on a GPU but not in the simulator."""


# --- bfloat16, the upper half of a float32 ------------------------------------------------------


def from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The float32 of the same value: exact, NaN payloads included."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Round once, to nearest, ties to even, as a GPU converts; a NaN stays a NaN.

    `values` are of any real dtype. (int64 beyond 2**53 is rounded to float64 first.)
    """
    if values.dtype != np.float32:
        values = _round_to_odd(values.astype(np.float64))
    bits = values.view(np.uint32)
    upper = bits >> np.uint32(16)
    # Adding just under half, and one more if the upper half is odd, carries exactly when the
    # nearest upper half (the even one of two) is the next one. Overflow carries into Inf.
    rounded = (bits + np.uint32(0x7FFF) + (upper & np.uint32(1))) >> np.uint32(16)
    quiet = upper | np.uint32(0x0040)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def _round_to_odd(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """float64 to float32 such that rounding that to bfloat16 is as good as rounding once.

    Truncates, and sets the last bit if anything was lost: a value just beside a tie of bfloat16
    then never becomes the tie. (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
    proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008.)
    """
    near = values.astype(np.float32)
    wide = near.astype(np.float64)
    bits = near.view(np.uint32)
    too_large = np.abs(wide) > np.abs(values)
    inexact = (wide != values) & ~np.isnan(values)
    odd = (bits - too_large.astype(np.uint32)) | np.uint32(1)
    return np.where(inexact, odd, bits).view(np.float32)


def _is_bfloat16(handle: Any) -> bool:
    return bool(handle.dtype.scalar == tl.bfloat16)


def _widen(handle: Any) -> Any:
    return _Handle(from_bfloat16(handle.data), tl.float32) if _is_bfloat16(handle) else handle


def _narrow(handle: Any) -> Any:
    return _Handle(to_bfloat16(np.asarray(handle.data)), tl.bfloat16)


# --- the builder --------------------------------------------------------------------------------


def _active(lanes: NDArray[Any], mask: Any) -> NDArray[Any]:
    """What belongs to the lanes that the mask lets take part."""
    if mask is not None:
        # Triton 3.6 hands over the bare array for descriptors, whose .data is its buffer.
        active = np.asarray(mask.data)
        if not active.all():
            lanes = lanes[active]
    return lanes


_LIBRARIES = (os.path.dirname(triton.__file__), os.path.dirname(__file__))


class _Builder(interpreter.InterpreterBuilder):
    guard: AddressGuard
    programs: Programs  # of the launch that runs
    backwards = False  # whether programs run from the last of the grid to the first

    def set_grid_idx(self, x: int, y: int, z: int) -> None:
        if self.backwards:
            x, y, z = mirrored((x, y, z), self.grid_dim)
        super().set_grid_idx(x, y, z)
        self.programs.enter((x, y, z), self.grid_dim)

    # Memory: every load and store passes through the first two methods. An access is looked at
    # before it happens, so that one that is refused changes nothing.

    def create_masked_load(self, ptrs: Any, mask: Any, *rest: Any, **options: Any) -> Any:
        itemsize = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
        addresses = self._checked(ptrs, mask, itemsize, "load")
        if addresses.size:
            volatile = options.get("is_volatile", rest[-1])
            follow = self.programs.look if volatile else self.programs.load
            follow(addresses, itemsize, learners_site(_LIBRARIES))
        return super().create_masked_load(ptrs, mask, *rest, **options)

    def create_masked_store(
        self, ptrs: Any, value: Any, mask: Any, *rest: Any, **options: Any
    ) -> Any:
        addresses = self._checked(ptrs, mask, value.data.itemsize, "store")
        if addresses.size:
            values = _active(np.broadcast_to(value.data, ptrs.data.shape), mask)
            self.programs.store(addresses, values, learners_site(_LIBRARIES))
        return super().create_masked_store(ptrs, value, mask, *rest, **options)

    def create_atomic_store(self, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
        addresses = self._checked(ptr, mask, val.data.itemsize, "store")
        self._update(addresses, val.data.itemsize, sem)
        return super().create_masked_store(ptr, val, mask, None)

    def create_atomic_rmw(
        self, op: Any, ptr: Any, val: Any, mask: Any, sem: Any, *rest: Any
    ) -> Any:
        if _is_bfloat16(val):
            raise NotSimulated("an atomic on bfloat16 cannot be simulated: use float32")
        addresses = self._checked(ptr, mask, val.data.itemsize, "atomic")
        self._update(addresses, val.data.itemsize, sem)
        return super().create_atomic_rmw(op, ptr, val, mask, sem, *rest)

    def create_atomic_cas(self, ptr: Any, cmp: Any, val: Any, sem: Any, *rest: Any) -> Any:
        addresses = self._checked(ptr, None, val.data.itemsize, "atomic")
        self._update(addresses, val.data.itemsize, sem)
        return super().create_atomic_cas(ptr, cmp, val, sem, *rest)

    def _update(self, addresses: Addresses, itemsize: int, sem: Any) -> None:
        if addresses.size:
            order = interpreter._ir.MEM_SEMANTIC
            both = sem == order.ACQUIRE_RELEASE
            self.programs.update(
                addresses,
                itemsize,
                learners_site(_LIBRARIES),
                publishes=both or sem == order.RELEASE,
                hears=both or sem == order.ACQUIRE,
            )

    def _checked(self, ptrs: Any, mask: Any, itemsize: int, what: Access) -> Addresses:
        """The addresses of the active lanes, all of which may be touched."""
        addresses: Addresses = _active(ptrs.data, mask)
        self.guard.check(addresses, itemsize, what)
        return addresses

    def create_descriptor_load(self, desc: Any, indices: Any, *policy: Any) -> Any:
        padding = interpreter._ir.PADDING_OPTION
        if desc.base.get_element_ty() == tl.bfloat16 and desc.padding == padding.PAD_NAN:
            raise NotSimulated("a bfloat16 descriptor padded with NaN cannot be simulated")
        return super().create_descriptor_load(desc, indices, *policy)

    # Arithmetic: bfloat16 goes through float32, and is rounded after every operation.

    def get_bf16(self, value: float) -> Any:
        return _narrow(self.get_fp64(value))

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        src = _widen(src)
        if dst_type.scalar == tl.bfloat16:
            return _narrow(src)
        return super().cast_impl(src, dst_type)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding: Any) -> Any:
        """Casts with a rounding mode, those from and to 8-bit floats, and between 16-bit ones."""
        src, target = _widen(src), dst_type.scalar
        small = src.dtype.scalar.is_fp8() or target.is_fp8()
        nearest = rounding != interpreter._ir.ROUNDING_MODE.RTZ
        if target != tl.bfloat16:
            if nearest and not small:
                return self.cast_impl(src, dst_type)
            return super().create_fp_to_fp(src, dst_type, rounding)
        if small:
            src = super().create_fp_to_fp(src, tl.float32, rounding)
        if nearest:
            return self.cast_impl(src, dst_type)
        upper = _round_to_odd(src.data.astype(np.float64)).view(np.uint32) >> np.uint32(16)
        return _Handle(upper.astype(np.uint16), tl.bfloat16)

    def binary_op(self, lhs: Any, rhs: Any, op: Any) -> Any:
        found = super().binary_op(_widen(lhs), _widen(rhs), op)
        if found.data.dtype == np.bool_:
            # Triton gives a comparison the type of what it compares: a mask made of one of int64
            # and one of int32 is then no mask.
            return _Handle(found.data, tl.int1)
        return _narrow(found) if _is_bfloat16(lhs) else found

    def unary_op(self, arg: Any, op: Any) -> Any:
        if not _is_bfloat16(arg):
            return super().unary_op(arg, op)
        return _narrow(super().unary_op(_widen(arg), op))

    def ternary_op(self, lhs: Any, rhs: Any, other: Any, op: Any) -> Any:
        if op is np.where or not _is_bfloat16(other):  # where only moves bits
            return super().ternary_op(lhs, rhs, other, op)
        return _narrow(super().ternary_op(_widen(lhs), _widen(rhs), _widen(other), op))

    def create_fma(self, x: Any, y: Any, z: Any) -> Any:
        if not _is_bfloat16(z):
            return super().create_fma(x, y, z)
        # float64 holds the product exactly, and the sum so closely that one rounding is left.
        wide = [from_bfloat16(each.data).astype(np.float64) for each in (x, y, z)]
        return _Handle(to_bfloat16(wide[0] * wide[1] + wide[2]), tl.bfloat16)

    def create_dot(self, a: Any, b: Any, d: Any, *options: Any) -> Any:
        return super().create_dot(_widen(a), _widen(b), d, *options)

    # What a learner sees, or needs to be told.

    def create_print(self, prefix: Any, as_hex: Any, values: Any, signed: Any) -> Any:
        return super().create_print(prefix, as_hex, [_widen(value) for value in values], signed)

    def create_inline_asm(self, *parts: Any) -> Any:
        raise NotSimulated("inline assembly needs a GPU")

    def create_extern_elementwise(self, library: Any, path: Any, symbol: str, *rest: Any) -> Any:
        raise NotSimulated(f"the GPU library function {symbol} needs a GPU: use tl.math instead")


# --- reductions and scans, which Triton's interpreter does outside the builder --------------------


class _BlockAsTruth(BaseException):
    """A combine function asked whether a whole block is true: it needs one element at a time.

    Not an Exception, because the interpreter wraps those.
    """


class _ReduceOps(interpreter.ReduceOps):
    combining_blocks = False

    def apply_impl(self, input: Any) -> Any:
        # Triton's shortcuts, such as np.sum, are for the dtypes that numpy has.
        if any(arg.dtype == tl.bfloat16 for arg in input):
            return self.generic_reduce(input)
        return super().apply_impl(input)

    def generic_reduce(self, input: Any) -> Any:
        """Combine neighbours, then neighbours of the results, and so on: a whole level at a time.

        A GPU's rounding errors grow like a tree's too. Triton's interpreter goes one element after
        the other: slow, and a bfloat16 sum stops growing after 256 equal terms.
        """
        axis = self.axis or 0
        blocks = [arg.handle.data for arg in input]
        if self.axis is None:
            blocks = [block.reshape(-1) for block in blocks]
        dtypes = [arg.dtype for arg in input]
        _ReduceOps.combining_blocks = True
        try:
            while blocks[0].shape[axis] > 1:
                blocks = self._halve(blocks, axis, dtypes)
        except _BlockAsTruth:
            return super().generic_reduce(input)
        finally:
            _ReduceOps.combining_blocks = False
        if not self.keep_dims:
            blocks = [block.squeeze(axis)[()] for block in blocks]
        elif self.axis is None:
            blocks = [block.reshape([1] * len(input[0].shape)) for block in blocks]
        return [self.to_tensor(*each) for each in zip(blocks, dtypes, strict=True)]

    def _halve(self, blocks: list[Any], axis: int, dtypes: list[Any]) -> list[Any]:
        """`blocks` have a power of two of elements along `axis`, as all of Triton's have."""
        left, right = (
            [
                self.to_tensor(block.take(range(start, block.shape[axis], 2), axis), dtype)
                for block, dtype in zip(blocks, dtypes, strict=True)
            ]
            for start in (0, 1)
        )
        combined = self.combine_fn.fn(*left, *right)
        if not isinstance(combined, tuple):
            combined = (combined,)
        shape = left[0].handle.data.shape
        return [np.broadcast_to(each.handle.data, shape) for each in combined]


class _ScanOps(interpreter.ScanOps):
    def cumsum(self, input: Any) -> Any:
        if input.dtype == tl.bfloat16:
            return self.generic_scan((input,))
        return super().cumsum(input)

    def cumprod(self, input: Any) -> Any:
        if input.dtype == tl.bfloat16:
            return self.generic_scan((input,))
        return super().cumprod(input)


# --- a launch -----------------------------------------------------------------------------------


class _GridExecutor(interpreter.GridExecutor):
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        named = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        scratch = [span for name, value in named.items() for span in _storage(name, value)]
        builder = interpreter.interpreter_builder
        _already_patched.clear()
        with (
            builder.guard.launch(scratch) as allowed,
            # A GPU does not stop at Inf and NaN to say so.
            np.errstate(all="ignore"),
            warnings.catch_warnings(action="ignore", category=RuntimeWarning),
        ):
            builder.programs = Programs(allowed)
            with _restored(allowed) if _undoing else nullcontext():
                super().__call__(*args, **kwargs)

    # The tensors are in host memory already: Triton would copy each one's whole storage.

    def _init_args_hst(self, args: Any, kwargs: Any) -> Any:
        return args, kwargs

    def _restore_args_dev(self, *args_and_copies: Any) -> None:
        pass


_undoing = False  # whether launches that end leave memory as they found it


@contextmanager
def undoing() -> Iterator[None]:
    """Meanwhile a launch runs, and may raise, but leaves memory as it found it."""
    global _undoing
    _undoing = True
    try:
        yield
    finally:
        _undoing = False


@contextmanager
def _restored(spans: Iterable[Span]) -> Iterator[None]:
    """Put back what these bytes held; no kernel can write any others."""
    kept = [(span.start, ctypes.string_at(span.start, span.stop - span.start)) for span in spans]
    try:
        yield
    finally:
        for start, held in kept:
            ctypes.memmove(start, held, len(held))


def _storage(name: str, value: Any) -> Iterator[Span]:
    """The memory behind an argument of a launch, or behind each part of it."""
    if isinstance(value, tuple):
        for part in value:
            yield from _storage(name, part)
    elif hasattr(value, "base"):  # a tensor descriptor, or a tensor seen as another dtype
        yield from _storage(name, value.base)
    elif isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        yield Span(storage.data_ptr(), storage.data_ptr() + storage.nbytes(), name)


# --- smaller mends of Triton's interpreter --------------------------------------------------------

_already_patched: set[int] = set()  # which modules' view of Triton, in the current launch
_patch_lang = interpreter._patch_lang
_patch_lang_tensor = interpreter._patch_lang_tensor


def _patch_lang_once(function: Any) -> Any:
    """Triton patches its language again at each call of a helper, tl.sum included: 1 ms each."""
    view = id(function.__globals__)
    if view in _already_patched:
        return interpreter._LangPatchScope()
    _already_patched.add(view)
    return _patch_lang(function)


def _patch_tensor(tensor: Any, scope: Any) -> None:
    _patch_lang_tensor(tensor, scope)
    # range(0, n, BLOCK): Triton 3.6 relies on a conversion that NumPy 2.4 removed.
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))
    scope.set_attr(tensor, "__bool__", _truth)


def _truth(tensor: Any) -> bool:
    if tensor.handle.data.size == 1:
        return bool(tensor.handle.data.item())
    if _ReduceOps.combining_blocks:
        raise _BlockAsTruth
    return True  # Triton's own code asks `if mask` and means `if mask is not None`


class _Transformer(interpreter.ASTTransformer):
    """Rewrites a kernel's text before it is run."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        rewritten: ast.AST = self.generic_visit(_Logic().visit(node))
        return rewritten


class _Logic(ast.NodeTransformer):
    """`and`, `or` and `not` of blocks act on each element on a GPU, but Python cannot say so."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        operands: list[ast.expr] = [ast.Lambda(args=nothing, body=value) for value in node.values]
        return _call(_both if isinstance(node.op, ast.And) else _either, operands, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call(_neither, [node.operand], node) if isinstance(node.op, ast.Not) else node


def _call(function: Callable[..., Any], operands: list[ast.expr], place: ast.expr) -> ast.AST:
    name = ast.Name(id=function.__name__, ctx=ast.Load())
    return ast.copy_location(ast.Call(func=name, args=operands, keywords=[]), place)


def _is_block(value: Any) -> bool:
    return isinstance(value, tl.tensor) and value.handle.data.size > 1


def _both(*operands: Callable[[], Any]) -> Any:
    return _chain(operands, "logical_and", lambda left, right: left and right())


def _either(*operands: Callable[[], Any]) -> Any:
    return _chain(operands, "logical_or", lambda left, right: left or right())


def _chain(
    operands: tuple[Callable[[], Any], ...],
    of_blocks: str,
    of_scalars: Callable[[Any, Callable[[], Any]], Any],
) -> Any:
    first, *others = operands
    result = first()
    for other in others:
        if _is_block(result):
            result = getattr(result, of_blocks)(other())
        else:
            result = of_scalars(result, other)
    return result


def _neither(operand: Any) -> Any:
    return operand == 0 if _is_block(operand) else not operand


class _Autotuner(autotuner.Autotuner):
    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Take the first configuration: trying which is fastest needs a GPU."""
        del self.configs[1:]
        return super().run(*args, **kwargs)


# --- what the worker calls ------------------------------------------------------------------------


def install(guard: AddressGuard) -> None:
    """Make the Triton kernels of this process run checked by `guard`, with right bfloat16.

    Call it once, in a process that set TRITON_INTERPRET=1 before importing Triton. Scratch that a
    learner allocates with torch.empty and the like is filled with NaN (integers: the largest).
    Raises CannotGrade when Triton is not in interpreter mode.
    """
    if not triton.knobs.runtime.interpret:
        raise CannotGrade(
            "Triton was imported without its interpreter",
            next_step="Set TRITON_INTERPRET=1 before Triton is imported.",
        )
    interpreter.interpreter_builder.__class__ = _Builder
    interpreter.interpreter_builder.guard = guard
    interpreter.GridExecutor = _GridExecutor
    interpreter.ReduceOps = _ReduceOps
    interpreter.ScanOps = _ScanOps
    interpreter.FunctionRewriter.ast_transformer = _Transformer()
    for function in (_both, _either, _neither):
        # Triton hands every name of its interpreter to the kernels that it rewrites.
        setattr(interpreter, function.__name__, function)
    interpreter._patch_lang = _patch_lang_once
    interpreter._patch_lang_tensor = _patch_tensor
    autotuner.Autotuner = _Autotuner
    # Torch fills what it does not initialise only while it is asked for determinism. The way to ask
    # that is for compiled code as well would import torch's compiler, which takes a second.
    torch.set_deterministic_debug_mode("warn")


def run_programs(backwards: bool) -> None:
    """In which order the programs of launches run from now on."""
    _Builder.backwards = backwards


def root_cause(error: BaseException) -> BaseException:
    """The exception that the kernel raised, with the frames of every wrapper before its own.

    Triton's interpreter wraps an exception at each call of a kernel or helper; the lines that led
    there, the learner's own among them, are then spread over the wrappers' tracebacks.
    """
    steps: list[types.TracebackType] = []
    while True:
        step = error.__traceback__
        while step is not None:
            steps.append(step)
            step = step.tb_next
        if not isinstance(error, errors.InterpreterError) or error.__cause__ is None:
            break
        error = error.__cause__
    joined = None
    for each in reversed(steps):
        joined = types.TracebackType(joined, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return error.with_traceback(joined)
