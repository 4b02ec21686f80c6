"""Messages for a learner about a worker that failed: the fault, and a hint against it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import replace

from grader import backends
from grader.model import Advice, Backend, Failure, Fault, Frame
from grader.sandbox.fork_server import describe_end

HUNG_UP = os.EX_PROTOCOL << 8  # wait status of a worker after its line to the judge was closed


def too_long(operation: str, limit_s: float) -> Failure:
    doing = "importing the file" if operation == "load" else "one call"
    return _timeout(f"{doing} took longer than {limit_s:g} s and was stopped")


def too_long_in_all(limit_s: float) -> Failure:
    return _timeout(
        f"the calls of this check took longer than {limit_s:g} s together and were stopped"
    )


def _timeout(message: str) -> Failure:
    return Failure(
        kind="timeout",
        message=message,
        hint="Look for a loop that never ends, a kernel that waits for itself, or far more blocks "
        "than the work needs.",
    )


def ended(operation: str, status: int | None, server_runs: bool) -> Failure:
    """Explain why the worker ended; `status` is its wait status, if it ended by itself."""
    doing = "while the file was imported" if operation == "load" else "during a call"
    if not server_runs:
        return Failure(
            kind="protocol",
            message=f"the parent of the kernel's process was killed {doing}",
            hint="A kernel file must leave other processes alone.",
        )
    if status is None or status == HUNG_UP:
        return broke_protocol("it was closed")
    if os.WIFEXITED(status):
        return Failure(
            kind="exit",
            message=f"the kernel's process {describe_end(status)} {doing}",
            hint=HINTS["exit"],
        )
    return Failure(
        kind="crash",
        message=f"the kernel's process {describe_end(status)} {doing}",
        hint=HINTS["own_memory" if os.WTERMSIG(status) in _OWN_MEMORY else "crash"],
    )


def broke_protocol(what: str) -> Failure:
    return Failure(
        kind="protocol",
        message=f"the kernel broke the connection from its process to the grader: {what}",
        hint="A kernel file must leave the open files of its process alone.",
    )


def switched_off(failure: Failure) -> Failure:
    """Say of a call that went wrong that no launch had an effect in it."""
    message = f"with the launches of all kernels switched off, {failure.message}"
    return failure.model_copy(update={"message": message})


def too_many_kernels(listed: int, more: int, backend: str) -> Failure:
    message = f"one call launches more kernels than are compiled: {listed}, and {more} more"
    return from_fault(Fault("compile", message), backend)


UNSTOPPABLE = Failure(
    kind="protocol",
    message="the kernel's process, or one that it started, could not be stopped",
    hint="A kernel file must leave processes and their signals alone.",
)


def from_fault(fault: Fault, backend: str) -> Failure:
    frames = tuple(Frame(line=line, function=f, code=code) for line, f, code in fault.frames)
    cause, hint = _advice(fault, backends.find(backend))
    return Failure(kind=fault.kind, message=fault.message, frames=frames, hint=hint, cause=cause)


def from_device(fault: Fault, kernel: bytes, backend: str) -> Failure:
    """Build the failure for a device's fault, which names lines and does not know their text."""
    if fault.kind == "protocol":  # the judge's own words, for the file broke both connections
        return broke_protocol(fault.message)
    source = kernel.decode(errors="replace").splitlines()
    frames = tuple(
        (line, function_around(source, line), source[line - 1].strip())
        for line, _, _ in fault.frames
        if 0 < line <= len(source)
    )
    return from_fault(replace(fault, frames=frames), backend)


_DEF = re.compile(r"(?P<indent>\s*)(?:async )?def (?P<name>\w+)")


def function_around(source: Sequence[str], line: int) -> str:
    """Return the name of the function that a line belongs to, as its indentation shows."""
    text = source[line - 1]
    indent = len(text) - len(text.lstrip())
    for above in reversed(source[: line - 1]):
        found = _DEF.match(above)
        if found is not None and len(found["indent"]) < indent:
            return found["name"]
    return ""


def _advice(fault: Fault, backend: Backend) -> tuple[str | None, str | None]:
    """Return the cause that a fault names, if it names one, and a hint."""
    for text, hint in backend.hints.messages.get(fault.kind, {}).items():
        if text in fault.message:
            if isinstance(hint, Advice):
                return hint.cause, hint.text
            return CAUSES.get(fault.kind), hint
    if fault.kind == "import":
        return None, NO_SUCH_NAME if "cannot import name" in fault.message else _importable()
    general = backend.hints.faults.get(fault.kind) or HINTS.get(fault.kind)
    return CAUSES.get(fault.kind), general


NO_SUCH_NAME = (
    "The library is installed, and its version has no such name: look at the name's spelling."
)


def _importable() -> str:
    libraries = [module for backend in backends.every() for module in backend.modules]
    return (
        f"A kernel can import torch, {', '.join(libraries)} and numpy only, and no other file of "
        "yours."
    )


_OWN_MEMORY = (signal.SIGSEGV, signal.SIGBUS)  # what a kernel touches wrongly, a GPU reports
# Kinds of failures that are causes themselves.
CAUSES = {
    "divergent_barrier": "barrier_in_branch",
    "divergent_shuffle": "barrier_in_branch",
    "race": "race",
    "uninitialised": "unwritten_read",
    "wrapped_offset": "offset_overflow",
}
HINTS = {
    "not_started": "This part is yours to write: the lesson in README.md says what it should do. "
    "If you have written it, delete the line that raises.",
    "syntax": "Python stops at the first line that it cannot read; look at the line before, too.",
    "exit": "A kernel returns; it does not end the process. Ending it counts as a failure.",
    "crash": "Most crashes are accesses out of bounds: check each index, and the mask or `if` "
    "that guards it.",
    "own_memory": "Look at the code beside the kernel: an argument's address lies on the GPU, "
    "where neither numpy nor ctypes reaches it. Use a kernel or a torch operation, or copy the "
    "argument to the host first.",
    "uninitialised": "Shared memory starts with arbitrary contents. Some thread must write an "
    "element, and all must meet at a barrier, before a thread reads it.",
    "out_of_memory": "The kernel may allocate only a little beyond its arguments.",
}
