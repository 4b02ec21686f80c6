"""The fast softmax of 04 on a GPU, with rows and values that no case of the exercise has."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from fast_rows import COLUMNS
from torch import Tensor

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("in_turn")


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_rows_with_infinities_and_nan(bench: ModuleType, columns: int, dtype: torch.dtype):
    """Leave a block of four with one row. A warp that sees only -inf must give 0, and not NaN."""
    x = torch.randn(5, columns, device="cuda")
    x[0] -= 1_000
    x[0, : columns // 2] = -torch.inf
    x[1, 1:] = -torch.inf
    x[2] = -torch.inf
    x[3, -1] = torch.nan
    x[4, 0] = torch.inf
    assert_right(bench.fast_softmax(), x.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_rows_at_an_odd_address(bench: ModuleType, dtype: torch.dtype):
    assert_right(bench.fast_softmax(), torch.randn(5, 1_025, device="cuda", dtype=dtype)[:, 1:])


def assert_right(softmax: Callable[[Tensor, Tensor], None], x: Tensor) -> None:
    rows, columns = x.shape
    out = torch.full((rows, columns + 8), -7.0, device=x.device, dtype=x.dtype)
    softmax(x, out[:, :columns])
    expected = torch.softmax(x.double(), -1)
    rtol = 1e-5 if x.dtype == torch.float32 else 1e-2
    torch.testing.assert_close(
        out[:, :columns].double(), expected, rtol=rtol, atol=1e-30, equal_nan=True
    )
    assert (out[:, columns:] == -7).all()
