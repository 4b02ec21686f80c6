"""Functions of triton.language in compiled kernels, expression by expression, against torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from .launched import Gpu, simulated_gpu

N = 64
KERNEL = """
@triton.jit
def kernel_{number}(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(out_ptr + i, {expression})
"""

Expected = Callable[[Tensor, Tensor], Tensor]

FLOATS: dict[str, Expected] = {
    "x + y": lambda x, y: x + y,
    "-x / y": lambda x, y: -x / y,
    "x % y": torch.fmod,
    "1 / x": lambda x, y: 1 / x,
    "tl.where(x > y, x, 2.0)": lambda x, y: torch.where(x > y, x, 2.0),
    "tl.where((x < 0) & ~(y < 0), 1.0, 0.0)": lambda x, y: ((x < 0) & ~(y < 0)).float(),
    "tl.maximum(x, y)": torch.maximum,
    "tl.minimum(x, 0)": lambda x, y: x.clamp(max=0),
    "tl.clamp(x, -0.5, 0.5)": lambda x, y: x.clamp(-0.5, 0.5),
    "tl.abs(x)": lambda x, y: x.abs(),
    "tl.exp(x)": lambda x, y: x.exp(),
    "tl.exp2(x)": lambda x, y: x.exp2(),
    "tl.log(tl.abs(x))": lambda x, y: x.abs().log(),
    "tl.log2(tl.abs(x))": lambda x, y: x.abs().log2(),
    "tl.sqrt(tl.abs(x))": lambda x, y: x.abs().sqrt(),
    "tl.sqrt_rn(tl.abs(x))": lambda x, y: x.abs().sqrt(),
    "tl.rsqrt(tl.abs(x))": lambda x, y: x.abs().rsqrt(),
    "tl.div_rn(x, y)": lambda x, y: x / y,
    "tl.fdiv(x, y)": lambda x, y: x / y,
    "tl.fma(x, y, x)": lambda x, y: (x.double() * y + x).float(),
    "tl.sin(x)": lambda x, y: x.sin(),
    "tl.cos(x)": lambda x, y: x.cos(),
    "tl.erf(x)": lambda x, y: x.erf(),
    "tl.floor(x * 9)": lambda x, y: (x * 9).floor(),
    "tl.ceil(x * 9)": lambda x, y: (x * 9).ceil(),
    "tl.sigmoid(x)": lambda x, y: x.sigmoid(),
    "tl.softmax(x, 0)": lambda x, y: x.softmax(0),
    "tl.sum(x, 0) + x * 0": lambda x, y: x * 0 + x.sum(),
    "tl.flip(x, 0)": lambda x, y: x.flip(0),
    "tl.sort(x)": lambda x, y: x.sort().values,
    "tl.sort(x, descending=True)": lambda x, y: x.sort(descending=True).values,
    "tl.cumsum(x)": lambda x, y: x.cumsum(0),
    "tl.gather(x, N - 1 - i, 0)": lambda x, y: x.flip(0),
    "tl.reshape(tl.trans(tl.reshape(x, [8, N // 8])), [N])": lambda x, y: x.view(8, -1).T.flatten(),
    "tl.ravel(tl.permute(tl.reshape(x, [2, 4, N // 8]), (2, 0, 1)))": (
        lambda x, y: x.view(2, 4, -1).permute(2, 0, 1).flatten()
    ),
    "tl.ravel(tl.broadcast_to(tl.sum(tl.reshape(x, [8, 8]), 0)[None, :], [8, 8]))": (
        lambda x, y: x.view(8, 8).sum(0).repeat(8)
    ),
    "tl.ravel(tl.reshape(x, [8, 8]) + tl.max(tl.reshape(y, [8, 8]), 1, keep_dims=True))": (
        lambda x, y: (x.view(8, 8) + y.view(8, 8).amax(1, keepdim=True)).flatten()
    ),
    "tl.interleave(*tl.split(tl.reshape(x, [N // 2, 2])))": lambda x, y: x,
    "tl.split(tl.join(x, y))[1]": lambda x, y: y,
    "x.to(tl.float16).to(tl.float32)": lambda x, y: x.half().float(),
    "x.to(tl.bfloat16).to(tl.float32)": lambda x, y: x.bfloat16().float(),
    "x.to(tl.float8e5).to(tl.float32)": lambda x, y: x.to(torch.float8_e5m2).float(),
    "x.to(tl.float8e4nv).to(tl.float32)": lambda x, y: x.to(torch.float8_e4m3fn).float(),
    "x.to(tl.float64).to(tl.float32)": lambda x, y: x,
    "(x * 100).to(tl.int32).to(tl.float32)": lambda x, y: (x * 100).trunc(),
    "x.to(tl.int32, bitcast=True).to(tl.float32, bitcast=True)": lambda x, y: x,
    "(x > y).to(tl.float32)": lambda x, y: (x > y).float(),
}
INTEGERS: dict[str, Expected] = {
    "x // y": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "x % y": torch.fmod,
    "tl.cdiv(x, y)": lambda x, y: torch.div(x + y - 1, y, rounding_mode="trunc"),
    "(x << 3) ^ (y >> 1) | ~x & 7": lambda x, y: (x << 3) ^ (y >> 1) | ~x & 7,
    "x.to(tl.uint32) >> 28": lambda x, y: (x.long() & 0xFFFFFFFF) >> 28,
    "x.to(tl.uint32) // 3": lambda x, y: (x.long() & 0xFFFFFFFF) // 3,
    "x * 1103515245 + y": lambda x, y: x * 1103515245 + y,
    "x.to(tl.int8).to(tl.int32)": lambda x, y: x.to(torch.int8).int(),
    "x.to(tl.uint8).to(tl.int32)": lambda x, y: x & 255,
    "tl.umulhi(x, y)": lambda x, y: ((x.long() & 0xFFFFFFFF) * (y.long() & 0xFFFFFFFF)) >> 32,
    "tl.argmax(x, 0) + x * 0": lambda x, y: x * 0 + x.argmax(),
    "tl.xor_sum(x, 0) + x * 0": lambda x, y: x * 0 + int(np.bitwise_xor.reduce(x.numpy())),
    "tl.histogram(x & 63, N)": lambda x, y: (x & 63).bincount(minlength=N),
    "tl.cat(tl.arange(0, N // 2), tl.arange(0, N // 2), can_reorder=True)": (
        lambda x, y: torch.arange(N // 2).repeat(2)
    ),
    "tl.randint(7, i)": lambda x, y: philox(7)[0],
    "tl.randint4x(7, i)[3]": lambda x, y: philox(7)[3],
    "tl.swizzle2d(x & 7, y & 7, 8, 8, 4)[0] * 8 + tl.swizzle2d(x & 7, y & 7, 8, 8, 4)[1]": (
        lambda x, y: swizzled(x & 7, y & 7)
    ),
}


def philox(seed: int) -> Tensor:
    """Philox4x32-10 (Salmon et al., 2011) of the counters (i, 0, 0, 0), in its 32-bit words."""
    keys = np.uint64(seed), np.uint64(0)
    words = [np.arange(N, dtype=np.uint64), *(np.zeros(N, np.uint64) for _ in range(3))]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        first = words[0] * np.uint64(0xD2511F53)
        second = words[2] * np.uint64(0xCD9E8D57)
        words = [
            (second >> np.uint64(32)) ^ words[1] ^ keys[0],
            second & low,
            (first >> np.uint64(32)) ^ words[3] ^ keys[1],
            first & low,
        ]
        keys = (keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low
    return torch.from_numpy(np.stack(words).astype(np.uint32).view(np.int32))


def swizzled(i: Tensor, j: Tensor) -> Tensor:
    """The documentation's definition of tl.swizzle2d, for 8 x 8 in groups of 4 rows."""
    ij = i * 8 + j
    group = ij // 32
    return (group * 4 + ij % 32 % 4) * 8 + ij % 32 // 4


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a kernel for each expression; Triton reads their text from a file."""
    file = tmp_path_factory.mktemp("kernels") / "kernels_of_expressions.py"
    expressions = list(FLOATS | INTEGERS)
    text = [
        KERNEL.format(number=i, expression=expression) for i, expression in enumerate(expressions)
    ]
    file.write_text("import triton\nimport triton.language as tl\n" + "".join(text))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {each: getattr(module, f"kernel_{i}") for i, each in enumerate(expressions)}


@pytest.mark.slow
@pytest.mark.parametrize("expression", FLOATS)
def test_floats(gpu: Gpu, kernels: dict[str, Any], expression: str) -> None:
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(N, generator=generator), torch.randn(N, generator=generator)
    out = torch.full_like(x, torch.nan)
    gpu.launch(kernels[expression], (1,), x, y, out, N=N)
    torch.testing.assert_close(out, FLOATS[expression](x, y), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("expression", INTEGERS)
def test_integers(gpu: Gpu, kernels: dict[str, Any], expression: str) -> None:
    generator = torch.Generator().manual_seed(4)
    x, y = (torch.randint(-(2**31), 2**31, (N,), generator=generator).int() for _ in range(2))
    y = y >> 20 | 1
    out = torch.full_like(x, -77)
    gpu.launch(kernels[expression], (1,), x, y, out, N=N)
    assert out.tolist() == INTEGERS[expression](x, y).to(torch.int32).tolist()
