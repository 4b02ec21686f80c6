"""As many programs as the GPU holds, by its properties; each takes block after block."""

import torch
import triton
import triton.language as tl

BLOCK = 2048
WARPS = 8


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    blocks = tl.cdiv(n, BLOCK)
    for block in tl.range(tl.program_id(0), blocks, tl.num_programs(0), num_stages=STAGES):
        offsets = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
        y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
        tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    properties = torch.cuda.get_device_properties(x.device)
    at_once = properties.max_threads_per_multi_processor // (WARPS * properties.warp_size)
    most = properties.multi_processor_count * at_once
    stages = 4 if properties.shared_memory_per_block_optin > 200_000 else 2
    add_kernel[(min(most, triton.cdiv(n, BLOCK)),)](
        x, y, out, n, BLOCK=BLOCK, STAGES=stages, num_warps=WARPS
    )
