"""The fast cross entropy of 06 on a GPU, with rows and values that no case of the exercise has."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from fast_rows import COLUMNS
from torch import Tensor

CrossEntropy = Callable[[Tensor, Tensor, Tensor, float], None]

ROOT = Path(__file__).parents[2]
IGNORED = -100

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


@pytest.fixture
def cross_entropy(monkeypatch: pytest.MonkeyPatch) -> CrossEntropy:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    module = importlib.import_module("in_turn").fast_solution("06_cross_entropy")
    return module.cross_entropy


@pytest.mark.parametrize("grad_scale", [0.5, 0.0, -3.0])
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_rows_with_infinities_and_ignored_targets(
    cross_entropy: CrossEntropy, dtype: torch.dtype, columns: int, grad_scale: float
):
    """A warp that sees only -inf must add 0, and not NaN."""
    logits = torch.randn(7, columns, device="cuda")
    logits[1, : columns // 2] = -torch.inf
    logits[2, columns // 3] = -torch.inf  # the target itself
    logits[3] = torch.nan
    logits[4, :-1] = -torch.inf
    logits[6] -= 1_000
    target = [0, columns - 1, columns // 3, IGNORED, columns - 1, columns // 2, columns // 8]
    assert_right(cross_entropy, logits.to(dtype), torch.tensor(target, device="cuda"), grad_scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_the_target_may_be_the_first_or_last_of_each_block(
    cross_entropy: CrossEntropy, dtype: torch.dtype
):
    """A row of 16,032 packs is divided among four blocks; eighths of it are tried."""
    packs, size = 16_032, 16 // dtype.itemsize
    firsts = [block * packs // 8 * size for block in range(8)]
    target = [*firsts, *(first - 1 for first in firsts[1:]), packs * size - 1]
    logits = torch.randn(len(target), packs * size, device="cuda", dtype=dtype)
    assert_right(cross_entropy, logits, torch.tensor(target, device="cuda"), 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_rows_at_an_odd_address(cross_entropy: CrossEntropy, dtype: torch.dtype):
    logits = torch.randn(5, 1_025, device="cuda", dtype=dtype)[:, 1:]
    target = torch.tensor([0, 1, 1_023, IGNORED, 512], device="cuda")
    assert_right(cross_entropy, logits, target, 1.0)


def assert_right(
    cross_entropy: CrossEntropy, logits: Tensor, target: Tensor, grad_scale: float
) -> None:
    """Compare loss and gradient with those in float64; eight columns behind a row stay as are."""
    tokens, columns = logits.shape
    exact, counts = logits.double(), target != IGNORED
    column = target.clamp(min=0).unsqueeze(-1)
    expected_loss = exact.logsumexp(-1) - exact.gather(-1, column).squeeze(-1)
    one_hot = torch.zeros_like(exact).scatter_(-1, column, 1.0)
    expected = grad_scale * (exact.softmax(-1) - one_hot)
    expected_loss[~counts], expected[~counts] = 0.0, 0.0

    padded = torch.full((tokens, columns + 8), -7.0, device=logits.device, dtype=logits.dtype)
    padded[:, :columns] = logits
    loss = torch.full((tokens,), -7.0, device=logits.device)
    cross_entropy(padded[:, :columns], target, loss, grad_scale)
    torch.testing.assert_close(loss.double(), expected_loss, rtol=1e-5, atol=1e-4)
    rtol = 1e-4 if logits.dtype == torch.float32 else 1e-2
    gradient = padded[:, :columns].double()
    torch.testing.assert_close(gradient, expected, rtol=rtol, atol=1e-6 * abs(grad_scale))
    assert (padded[:, columns:] == -7).all()
