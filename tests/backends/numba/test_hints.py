"""Hints about mistakes in numba kernels that a message alone shows."""

from __future__ import annotations

from grader.model import Fault
from grader.sandbox.failures import from_fault


def test_blocks_that_store_to_one_element_may_be_meant_to_add_up() -> None:
    message = (
        "thread 0 of block 1 writes another value to element 0 of out, which thread 0 of block 0 "
        "wrote in line 28 (out[t] = counts[t]): blocks run in any order, so it is left to chance "
        "which comes first"
    )
    failure = from_fault(Fault(kind="race", message=message), "numba")
    assert failure.hint == (
        "Blocks do not wait for each other, not even at a barrier. Give each block elements of its "
        "own: is the block's number missing in the index? If the results of all blocks belong "
        "into one element, add them with cuda.atomic.add(array, index, value)."
    )
