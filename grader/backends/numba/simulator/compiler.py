"""The compilation of a kernel without a GPU: numba's types and LLVM code, for a target."""

from __future__ import annotations

from typing import Any

from grader.backends.numba.refusals import NotCompiled, not_compiled
from grader.backends.numba.simulator.internals import Compiled, argument_types, passable
from grader.backends.numba.simulator.not_simulated import NotSimulated


def compile_kernel(kernel: Any, sig: Any) -> Any:
    """Compile a kernel for arguments of these types, in place of numba's own `compile`.

    Raises numba's errors when no GPU could run it.
    """
    types = argument_types(sig)
    if kernel.specialized:
        return next(iter(kernel.overloads.values()))
    if types in kernel.overloads:
        return kernel.overloads[types]
    if not kernel._can_compile:
        raise NotCompiled("the kernel was compiled for arguments of other types, by its decorator")
    if kernel.targetoptions.get("link"):
        raise NotSimulated("code of other languages, which link= adds to a kernel, needs a GPU")
    for ty in types:
        if not passable(ty):
            raise NotCompiled(f"a launch passes numbers and arrays, and tuples of them, not {ty}")
    try:
        compiled = Compiled(kernel.py_func, types, **kernel.targetoptions)
    except Exception as error:
        raise not_compiled(error) from None
    kernel.add_overload(compiled, types)
    return compiled
