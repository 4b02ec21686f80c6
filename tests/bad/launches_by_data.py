"""Right: how many launches there are depends on the values. A row that begins below 0 takes two."""

import itertools

import triton
import triton.language as tl


@triton.jit
def copy_row(x_ptr, out_ptr, start, stop, BLOCK: tl.constexpr):
    offsets = start + tl.arange(0, BLOCK)
    inside = offsets < stop
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


def copy(x, out):
    rows, columns = x.shape
    for row in range(rows):
        cuts = [0, columns // 2, columns] if float(x[row, 0]) < 0 else [0, columns]
        for start, stop in itertools.pairwise(cuts):
            copy_row[(1,)](x[row], out[row], start, stop, BLOCK=triton.next_power_of_2(columns))
