"""The code that has torch.compile make a kernel of an exercise in plain torch."""

from __future__ import annotations

from grader import backends
from grader.model import Spec


def compiled_name(spec: Spec) -> str:
    """Return the name of the function on tensors, which is compiled."""
    takes_tensors = backends.find(spec.backend).takes_tensors
    return spec.entry if takes_tensors else f"{spec.entry}_tensors"


def compiled(spec: Spec, sizes: int = 2) -> str:
    """Return the code that, behind the text of an `eager.py`, compiles it with torch.compile.

    Up to `sizes` sizes are compiled separately, each for the scored rows and the spare ones. A call
    of one more fails: torch.compile would go on without compiling.

    An entry that takes a library's own arrays converts them first, which torch.compile cannot do:
    the function on tensors that it calls is compiled.
    """
    name = compiled_name(spec)
    # A number that turns out to be another one in each call is compiled for once more.
    forms = 2 * sizes + sum(argument.role == "scalar" for argument in spec.arguments)
    return f"""

import functools

import torch._dynamo
import torch._inductor.config

torch._dynamo.config.recompile_limit = {forms}
torch._dynamo.config.fail_on_recompile_limit_hit = True
torch._inductor.config.compile_threads = 1  # in this process: a pool would outlive the call
_compiled = torch.compile({name})


def _taken(argument):
    if not isinstance(argument, torch.Tensor):
        return argument  # a number: one compiled form serves all, as `dynamic=False` would not have
    # With a storage of its own: the compiler does not take changes to one of several tensors of
    # different types in one memory.
    tensor = torch.from_dlpack(argument)
    torch._dynamo.mark_static(tensor)  # each size is compiled for itself
    return tensor


@functools.wraps({name})
def {name}(*arguments):
    _compiled(*map(_taken, arguments))
"""
