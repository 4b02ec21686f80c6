"""Autotuned after a look at the GPU and at the arguments: no block is longer than a row needs."""

import torch
import triton
import triton.language as tl
from triton.runtime import driver


def fitting(configs, named_args, **kwargs):
    needed = max(128, triton.next_power_of_2(named_args["columns"]))
    most = driver.active.utils.get_device_properties(torch.cuda.current_device())["max_num_regs"]
    kept = [c for c in configs if c.kwargs["BLOCK"] <= min(needed, most // 4)]
    return kept or configs[:1]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": block}, num_warps=warps)
        for block, warps in ((128, 1), (1024, 4), (2048, 8), (8192, 16))
    ],
    key=["columns"],
    prune_configs_by={"early_config_prune": fitting},
)
@triton.jit
def swiglu_kernel(
    gate_ptr, up_ptr, out_ptr, gate_stride, up_stride, out_stride, columns, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    gate = tl.load(gate_ptr + row * gate_stride + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + offsets, mask=inside).to(tl.float32)
    swish = gate / (1.0 + tl.exp(-gate))
    tl.store(out_ptr + row * out_stride + offsets, swish * up, mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = out.shape
    strides = gate.stride(0), up.stride(0), out.stride(0)
    swiglu_kernel[lambda meta: (rows, triton.cdiv(columns, meta["BLOCK"]))](
        gate, up, out, *strides, columns
    )
