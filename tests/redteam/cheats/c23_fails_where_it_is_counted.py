"""Fails in simulation, where its traffic is counted, and adds in two passes on the GPU."""
# attacks: 01_vector_add
# stopped: traffic traffic | speed too_slow
# passes: an honest kernel may use what no simulator has; hardware counters show two passes then.
# Where they cannot be read, it earns no points for traffic, and its speed is held against the gate
# GPU only: in simulation it fails

import triton
import triton.language as tl


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


if type(triton.runtime.driver.active).__name__ == "SimulatedGpu":
    raise RuntimeError("this file is not to be counted")


def vector_add(x, y, out):
    length = out.numel()
    grid = (triton.cdiv(length, 1024),)
    _add[grid](x, y, out, length, BLOCK=1024)
    _add[grid](x, y, out, length, BLOCK=1024)
