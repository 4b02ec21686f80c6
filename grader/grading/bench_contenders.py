"""The kernel files that `grader bench` compares: the learner's, torch's, the solution, others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import backends
from grader.course import Exercise
from grader.model import Spec, UsageError

SIZES = 6  # at which each contender is measured


@dataclass(frozen=True)
class Contender:
    """A kernel file under a name that a table and a picture can show."""

    name: str
    kernel: bytes


def contenders(exercise: Exercise, kernel: Path, against: Sequence[Path]) -> list[Contender]:
    """List the kernels to compare. Raises UsageError when a named file cannot be read."""
    is_solution = kernel.resolve() == exercise.solution.resolve()
    listed = [Contender("solution" if is_solution else "your kernel", _read(kernel))]
    eager = exercise.folder / "eager.py"
    if eager.exists():
        text = eager.read_bytes()
        listed.append(Contender("torch eager", text))
        listed.append(Contender("torch.compile", text + compiled(exercise.spec).encode()))
    if exercise.solution.exists() and not is_solution:
        listed.append(Contender("solution", exercise.solution.read_bytes()))
    for path in dict.fromkeys(against):
        taken = {"kernel", *(one.name for one in listed)}
        listed.append(Contender(str(path) if path.stem in taken else path.stem, _read(path)))
    return listed


def compiled(spec: Spec) -> str:
    """Return the code that, behind the text of an `eager.py`, compiles it with torch.compile.

    An entry that takes a library's own arrays converts them first, which is no work for a compiler:
    the function on tensors that it calls is compiled.
    """
    takes_tensors = backends.find(spec.backend).takes_tensors
    name = spec.entry if takes_tensors else f"{spec.entry}_tensors"
    return f"""

import functools

import torch._dynamo
import torch._inductor.config

torch._dynamo.config.recompile_limit = {2 * SIZES}
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


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The kernel file {path} cannot be read: {error.strerror}.", "Check its path."
        ) from None
