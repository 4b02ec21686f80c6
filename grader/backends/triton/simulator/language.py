"""Triton's language inside a kernel: patched once a launch, with tensors that Python can ask."""

from __future__ import annotations

from typing import Any

from grader.backends.triton.simulator.internals import interpreter
from grader.backends.triton.simulator.reductions import BlockAsTruth, ReduceOps

already_patched: set[int] = set()  # which modules' view of Triton, in the current launch
_patch_lang = interpreter._patch_lang
_patch_lang_tensor = interpreter._patch_lang_tensor


def patch_lang_once(function: Any) -> Any:
    """Triton patches its language again at each call of a helper, tl.sum included: 1 ms each."""
    view = id(function.__globals__)
    if view in already_patched:
        return interpreter._LangPatchScope()
    already_patched.add(view)
    return _patch_lang(function)


def patch_tensor(tensor: Any, scope: Any) -> None:
    """Give tensors what Triton gives them, and what Python asks an index and a condition for."""
    _patch_lang_tensor(tensor, scope)
    # range(0, n, BLOCK): Triton 3.6 relies on a conversion that NumPy 2.4 removed.
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))
    scope.set_attr(tensor, "__bool__", _truth)


def _truth(tensor: Any) -> bool:
    if tensor.handle.data.size == 1:
        return bool(tensor.handle.data.item())
    if ReduceOps.combining_blocks:
        raise BlockAsTruth
    return True  # Triton's own code asks `if mask` and means `if mask is not None`
