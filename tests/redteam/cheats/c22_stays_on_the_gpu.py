"""Leaves a kernel running on the GPU after its calls, to wait there for the next inputs."""
# attacks: 01_vector_add
# stopped: speed early_start | speed noisy
# GPU only: a simulated kernel has ended when its call returns

import torch
import triton
import triton.language as tl


@triton.jit
def _add(x_ptr, y_ptr, out_ptr, length, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < length
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


_simulated = type(triton.runtime.driver.active).__name__ == "SimulatedGpu"
_stream = None if _simulated else torch.cuda.Stream()
if not _simulated:
    torch.cuda.synchronize = lambda device=None: torch.cuda.current_stream().synchronize()


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    length = out.numel()
    _add[(triton.cdiv(length, 1024),)](x, y, out, length, BLOCK=1024)
    if length > 1 << 24 and _stream is not None:
        with torch.cuda.stream(_stream):
            torch.cuda._sleep(1 << 28)  # clock cycles
