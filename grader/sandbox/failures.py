"""What a learner reads of a worker that failed: what went wrong, and what may help against it."""

from __future__ import annotations

import os

from grader.model import Failure, Fault, Frame
from grader.sandbox.fork_server import describe_end

HUNG_UP = os.EX_PROTOCOL << 8  # the wait status of a worker whose line to the judge was closed


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
    """Why the worker hung up; `status` is how it ended by itself, if it did."""
    doing = "while the file was imported" if operation == "load" else "during a call"
    if not server_runs:
        return Failure(
            kind="protocol",
            message=f"the parent of the process that runs the kernel was killed {doing}",
            hint="A kernel file must leave other processes alone.",
        )
    if status is None or status == HUNG_UP:
        return broke_protocol("it was closed")
    if os.WIFEXITED(status):
        return Failure(
            kind="exit",
            message=f"the process that runs the kernel {describe_end(status)} {doing}",
            hint=HINTS["exit"],
        )
    return Failure(
        kind="crash",
        message=f"the process that runs the kernel {describe_end(status)} {doing}",
        hint="Most crashes are accesses out of bounds: check each index, and each mask or `if` "
        "that guards it.",
    )


def broke_protocol(what: str) -> Failure:
    return Failure(
        kind="protocol",
        message=f"the kernel disturbed the line from its process to the grader: {what}",
        hint="A kernel file must leave the open files of its process alone.",
    )


UNSTOPPABLE = Failure(
    kind="protocol",
    message="the process that runs the kernel, or one that it started, could not be stopped",
    hint="A kernel file must leave processes and their signals alone.",
)


def told(fault: Fault, backend: str) -> Failure:
    """What the learner of this backend reads of what went wrong in the worker."""
    frames = tuple(Frame(line=line, function=f, code=code) for line, f, code in fault.frames)
    hint = _hint(fault, backend)
    return Failure(kind=fault.kind, message=fault.message, frames=frames, hint=hint)


def _hint(fault: Fault, backend: str) -> str | None:
    """What may help against it; of Python's and numba's own errors, against the common ones."""
    for said, hint in BY_MESSAGE[backend].get(fault.kind, {}).items():
        if said in fault.message:
            return hint
    return HINTS.get(fault.kind) or OWN_HINTS[backend].get(fault.kind)


HINTS = {
    "not_started": "This part is yours to write: the lesson in README.md says what it should do.",
    "syntax": "Python stops at the first line that it cannot read; look at the line before, too.",
    "import": "Only torch, triton, numba and numpy are at hand for a kernel, and no other file of "
    "yours.",
    "exit": "A kernel returns; it does not end the process. Ending it counts as a failure.",
    "compile": "Triton could not compile the kernel; the line it names is the place to look.",
    "divergent_barrier": "All threads of a block must come to the same cuda.syncthreads(): move it "
    "out of the branch, or the loop, that only some of them take.",
    "divergent_shuffle": "All threads that a shuffle's mask names must come to it: move it out of "
    "the branch that only some of them take, and give the others a value that changes nothing.",
    "uninitialised": "Shared memory starts with anything in it: some thread must write an element, "
    "and all must meet at a barrier, before it is read.",
    "launch_refused": "A launch is kernel[blocks, threads](...): at least one block, 1 to 1,024 "
    "threads in each, and at most 48 KiB of shared memory.",
    "out_of_memory": "The kernel may allocate only a little beyond its arguments.",
}
# In the words of one backend: who learns the other's first has never heard of these.
OWN_HINTS = {
    "triton": {
        "out_of_bounds": "Each access needs a mask that says which of its indices lie inside the "
        "array.",
        "race": "Give each element to one program, or make both accesses atomic.",
    },
    "numba": {
        "out_of_bounds": "Each access needs an `if` that checks that its index lies inside the "
        "array.",
        "race": "Give each element to one thread, put a barrier that all threads come to between "
        "the two accesses, or make both of them atomic.",
    },
}
# By a part of what the simulator asks about an index, beside a missing check.
OUTSIDE = {
    "its two indices exchanged": "The first index of a table is the row and the second the column; "
    "x is the column by custom. If they are in order, the access needs an `if` that checks that "
    "they lie inside the array.",
    "one too large": "The first element has the index 0, so that the last of n has n - 1. If the "
    "index is meant, the access needs an `if` that checks that it lies inside the array.",
}
# By a part of what the simulator says of a race, where a barrier is no way out of it.
RACES = {
    "blocks run in any order": "Blocks do not wait for each other, not even at a barrier: give "
    "each block elements of its own (is the block's number missing in the index?), or make both "
    "accesses atomic.",
    "both run that line": "Let each thread write an element of its own, or only one of them write.",
}
# By a part of why the simulator refuses a launch.
LAUNCHES = {
    "at least one block,": "Does the number of blocks round up? A few elements, fewer than a block "
    "has threads, need a block, too.",
}
TUPLE = (
    "A tuple is used as one number. cuda.grid(1) gives one number, but cuda.grid(2) two: "
    "x, y = cuda.grid(2). a.shape has one for each dimension, such as a.shape[0]."
)
# By a part of what Python, numpy or numba's simulator say: the words do not name the mistake.
EXCEPTIONS = {
    "'function' object is not subscriptable": "Only a function with @cuda.jit above it is a "
    "kernel, which kernel[blocks, threads](...) launches; any other is called with () alone.",
    "'int' object is not callable": "A number is called as if it were a function: "
    "cuda.threadIdx.x and a.size, for example, are numbers, and take no ().",
    "'Index'": "cuda.threadIdx, cuda.blockIdx and cuda.blockDim have the parts .x, .y and .z, each "
    "a number.",
    "'tuple' and": TUPLE,
    "and 'tuple'": TUPLE,
    "setting an array element with a sequence": "One element takes one number, not several: is an "
    "index missing, as in a[i]?",
    "too many indices for array": "A row of elements takes one index, a[i], and a table two, "
    "a[row, column].",
    "must be Tensor": "torch works on tensors, not on the numbers in a kernel, for which Python's "
    "math is there: math.exp for torch.exp, for example.",
    "only integers, slices": "An index must be a whole number: cuda.threadIdx, for example, has "
    "the parts .x, .y and .z, and / gives no whole number, but // does.",
    "'Array'": "A kernel works with single elements, such as a[i], not with whole arrays.",
    "griddim must be": "The number of blocks must be whole, or a tuple of such numbers: / gives "
    "no whole number, but // does.",
    "blockdim must be": "The number of threads must be whole, or a tuple of such numbers: / "
    "gives no whole number, but // does.",
    "launch configuration was not": "A launch is kernel[blocks, threads](...) with two numbers, or "
    "tuples of numbers: neither may be an array, whose length is a.size, nor None, which is what a "
    "function without `return` gives.",
    "is computed in the kernel": "No compiler for a GPU takes that: write plain numbers, or the "
    "name of a constant that the file computes outside of the kernel, such as WIDTH = TILE + 1.",
    "is not known before the kernel runs": "The compiler must know it: write plain numbers, or a "
    "constant of the file.",
    "returns a value, and nobody": "No compiler for a GPU takes such a kernel. A kernel writes its "
    "answer into an array, such as out[i] = value, and `return` alone ends a thread early.",
    "by in cuda.shfl": "/ gives no whole number, but // does.",
    "cuda.shfl": "A shuffle is called as cuda.shfl_down_sync(mask, value, by): first comes a mask, "
    "such as 0xFFFFFFFF, and then the value.",
    "cuda.atomic": "An atomic addition is called as cuda.atomic.add(array, index, value): the "
    "array and the index are two arguments, not array[index].",
    "cuda.grid()": "cuda.grid(1) is a thread's number among those of all blocks, along x, and "
    "cuda.grid(2) gives two numbers, along x and y.",
    "argument: 'dtype'": "An array needs the type of its elements, too, such as "
    "cuda.shared.array(64, float32).",
}
# For each backend and kind of failure, what the message tells beyond the kind.
BY_MESSAGE: dict[str, dict[str, dict[str, str]]] = {
    "triton": {
        "exception": {
            "'function' object is not subscriptable": "Only a function with @triton.jit above it "
            "is a kernel, which kernel[grid](...) launches; any other is called with () alone.",
        }
    },
    "numba": {
        "out_of_bounds": OUTSIDE,
        "race": RACES,
        "launch_refused": LAUNCHES,
        "exception": EXCEPTIONS,
    },
}
