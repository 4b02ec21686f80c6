"""Every operation of a kernel, with memory accesses checked and bfloat16 right.

Triton's interpreter keeps a block as a numpy array. Its memory accesses go to raw addresses without
a check, and bfloat16, which numpy lacks, is kept as uint16 and calculated with as if it were one.
Both are put right here, in one subclass of the interpreter's builder: every operation of a kernel
is a method of the builder.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import triton
import triton.language as tl
from numpy.typing import NDArray

from grader.backends.triton.simulator import float8
from grader.backends.triton.simulator.bfloat16 import (
    from_bfloat16,
    is_bfloat16,
    narrow,
    round_to_odd,
    to_bfloat16,
    widen,
)
from grader.backends.triton.simulator.internals import Handle, interpreter
from grader.backends.triton.simulator.races import Programs
from grader.worker.bounds import Access, Addresses, AddressGuard
from grader.worker.races import mirrored
from grader.worker.source_sites import learners_site

VOLATILE = 3  # the place of `is_volatile` among what create_masked_load takes after the mask
_LIBRARIES = (os.path.dirname(triton.__file__), os.path.dirname(__file__))


class NotSimulated(Exception):
    """The kernel uses an operation that exists on a GPU but not in the simulator."""


def _active(lanes: NDArray[Any], mask: Any) -> NDArray[Any]:
    """Return the elements of the lanes that the mask lets take part."""
    if mask is not None:
        # Triton 3.6 hands over the bare array for descriptors, whose .data is its buffer.
        active = np.asarray(mask.data)
        if not active.all():
            lanes = lanes[active]
    return lanes


class Builder(interpreter.InterpreterBuilder):
    """Takes the place of the interpreter's builder, in the object that is there."""

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
            volatile = options["is_volatile"] if "is_volatile" in options else rest[VOLATILE]
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
        if is_bfloat16(val):
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
                releases=both or sem == order.RELEASE,
                acquires=both or sem == order.ACQUIRE,
            )

    def _checked(self, ptrs: Any, mask: Any, itemsize: int, what: Access) -> Addresses:
        """Return the addresses of the active lanes; raise OutOfBounds if one may not be touched."""
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
        return narrow(self.get_fp64(value))

    def cast_impl(self, src: Any, dst_type: Any) -> Any:
        src = widen(src)
        if dst_type.scalar == tl.bfloat16:
            return narrow(src)
        return super().cast_impl(src, dst_type)

    def create_fp_to_fp(self, src: Any, dst_type: Any, rounding: Any) -> Any:
        """Casts with a rounding mode, those from and to 8-bit floats, and between 16-bit ones."""
        src, target = widen(src), dst_type.scalar
        if float8.known(src.dtype):
            src = Handle(float8.from_float8(src.data, src.dtype), tl.float32)
        if float8.known(target):
            nearest = rounding != interpreter._ir.ROUNDING_MODE.RTZ
            return Handle(float8.to_float8(src.data, target, nearest), target)
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
        upper = round_to_odd(src.data.astype(np.float64)).view(np.uint32) >> np.uint32(16)
        return Handle(upper.astype(np.uint16), tl.bfloat16)

    def binary_op(self, lhs: Any, rhs: Any, op: Any) -> Any:
        found = super().binary_op(widen(lhs), widen(rhs), op)
        if found.data.dtype == np.bool_:
            # Triton gives a comparison the type of what it compares: a mask made of one of int64
            # and one of int32 is then no mask.
            return Handle(found.data, tl.int1)
        return narrow(found) if is_bfloat16(lhs) else found

    def unary_op(self, arg: Any, op: Any) -> Any:
        if not is_bfloat16(arg):
            return super().unary_op(arg, op)
        return narrow(super().unary_op(widen(arg), op))

    def ternary_op(self, lhs: Any, rhs: Any, other: Any, op: Any) -> Any:
        if op is np.where or not is_bfloat16(other):  # where only moves bits
            return super().ternary_op(lhs, rhs, other, op)
        return narrow(super().ternary_op(widen(lhs), widen(rhs), widen(other), op))

    def create_fma(self, x: Any, y: Any, z: Any) -> Any:
        if not is_bfloat16(z):
            return super().create_fma(x, y, z)
        # float64 holds the product exactly, and the sum so closely that one rounding is left.
        wide = [from_bfloat16(each.data).astype(np.float64) for each in (x, y, z)]
        return Handle(to_bfloat16(wide[0] * wide[1] + wide[2]), tl.bfloat16)

    def create_dot(self, a: Any, b: Any, d: Any, *options: Any) -> Any:
        return super().create_dot(widen(a), widen(b), d, *options)

    # Texts that a learner sees, and operations that need a GPU.

    def create_print(self, prefix: Any, as_hex: Any, values: Any, signed: Any) -> Any:
        return super().create_print(prefix, as_hex, [widen(value) for value in values], signed)

    def create_inline_asm(self, *parts: Any) -> Any:
        raise NotSimulated("inline assembly needs a GPU")

    def create_extern_elementwise(self, library: Any, path: Any, symbol: str, *rest: Any) -> Any:
        raise NotSimulated(f"the GPU library function {symbol} needs a GPU: use tl.math instead")
