"""The lines and causes that a failure names, by its own word, its kind or its sentences."""

from __future__ import annotations

import re

from grader.model.results import Failure

# Kinds of failures that state their cause, and how the table calls it.
STATED = {
    "divergent_barrier": "barrier_in_branch",
    "divergent_shuffle": "barrier_in_branch",
    "input_changed": "input_changed",
    "memory": "scratch_memory",
    "never_written": "never_written",
    "no_kernel": "no_launch",
    "race": "race",
    "traffic": "repeated_access",
    "instructions": "much_arithmetic",
    "uninitialised": "unwritten_read",
}
# Sentences that state a cause where the result has no word for it.
SAID = {
    "A block has a power of two elements": {"arange_not_power_of_two"},
    "A block has no single elements": {"pointer_indexed"},
    "A grid is a tuple": {"grid_not_tuple"},
    "Are x and y swapped": {"grid_axes_swapped"},
    "Are they swapped": {"grid_axes_swapped"},
    "Cannot access global variable": {"missing_constexpr"},
    "Does the number of blocks round up": {"tail", "grid_too_small", "loop_missing"},
    "Launch a kernel on a grid": {"no_grid"},
    "Only a function with @triton.jit above it is a kernel": {"host_function"},
    "Should each thread go on to further elements": {"loop_missing"},
    "The size of a block is part of the compiled kernel": {
        "missing_constexpr",
        "arange_not_constant",
    },
    "and their undefined values reached": {"masked_lanes"},
    "another stride used": {"row_stride", "missing_mask"},
    "as far as the first block reaches": {"first_block_only", "block_index"},
    "column more than it needs moves each row": {"bank_conflicts"},
    "does every block use its own number": {"program_id_unused"},
    "has the right size and the wrong sign": {"sign"},
    "is a bounds check missing": {"missing_mask"},
    "does its mask let them through": {"missing_mask"},
    "is an index off by one": {"off_by_one"},
    "is not known before the kernel runs": {"arange_not_constant"},
    "is the index one too large": {"off_by_one", "missing_mask"},
    "is the mask missing": {"missing_mask"},
    "its two indices exchanged": {"transposed", "missing_mask"},
    "launch configuration was not specified": {"no_grid"},
    "left 16 bits": {"offset_overflow"},
    "left 32 bits": {"offset_overflow"},
    "make both accesses atomic": {"race", "written_twice", "not_atomic"},
    "make both of them atomic": {"race", "not_atomic"},
    "math's functions take Python's numbers": {"python_math"},
    "not torch's, NumPy's or plain Python's": {"host_library", "host_function"},
    "returns a value, and nobody gets it": {"value_returned"},
    "this function of numpy's cannot be used": {"host_library"},
    "tl.load(pointer + offsets, mask=...) reads": {"pointer_indexed"},
    "tl.store(pointer + offsets, values, mask=...) writes": {"pointer_assigned"},
    "uses an index below 0": {"missing_mask"},
    "which nothing had written": {"unwritten_read"},
}
LINES = re.compile(r"\b[Ll]ines? (\d+(?:(?:, and |, | and | or |-)\d+)*)|\w\.py:(\d+)")


def lines_named(failure: Failure) -> set[int]:
    """Return the lines of the kernel file that a failure names in its frames and sentences."""
    told = " ".join(text for text in (failure.message, failure.hint) if text)
    texts = ["".join(groups) for groups in LINES.findall(told)]
    spoken = {int(number) for text in texts for number in re.findall(r"\d+", text)}
    return spoken | {frame.line for frame in failure.frames}


def causes_named(failure: Failure) -> set[str]:
    """Return the cause that a failure names: by its own word, its kind or its sentences."""
    own = getattr(failure, "cause", None)
    if own:
        return {own}
    told = f"{failure.message} {failure.hint}"
    said = {cause for words, causes in SAID.items() if words in told for cause in causes}
    return said or ({STATED[failure.kind]} if failure.kind in STATED else set())
