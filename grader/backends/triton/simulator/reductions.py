"""Reductions and scans, which Triton's interpreter does outside the builder."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from grader.backends.triton.simulator.internals import interpreter


class BlockAsTruth(BaseException):
    """A combine function asked whether a whole block is true: it needs one element at a time.

    Not an Exception, because the interpreter wraps those.
    """


class ReduceOps(interpreter.ReduceOps):
    """Reductions, of bfloat16 too."""

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
        ReduceOps.combining_blocks = True
        try:
            while blocks[0].shape[axis] > 1:
                blocks = self._halve(blocks, axis, dtypes)
        except BlockAsTruth:
            return super().generic_reduce(input)
        finally:
            ReduceOps.combining_blocks = False
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


class ScanOps(interpreter.ScanOps):
    """Scans, including those of bfloat16."""

    def cumsum(self, input: Any) -> Any:
        if input.dtype == tl.bfloat16:
            return self.generic_scan((input,))
        return super().cumsum(input)

    def cumprod(self, input: Any) -> Any:
        if input.dtype == tl.bfloat16:
            return self.generic_scan((input,))
        return super().cumprod(input)
