"""The judge records each tensor that a reference makes while it computes, and no input."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from grader.correctness.torch_memory import HeldByTorch, held_by_torch

SIZE = 4 * 100  # bytes of x


def held(reference) -> HeldByTorch:
    return held_by_torch(SimpleNamespace(reference=reference), {"x": torch.ones(100), "scale": 2.0})


def test_temporaries_come_and_go():
    def reference(inputs):
        total = (inputs["x"] * 2).exp().sum()
        return {"out": inputs["x"] / total}

    found = held(reference)
    assert found.outputs == SIZE
    sizes = [size for _, size in found.series.points]
    # x * 2 and its exp live at once; neither lives while the quotient is made.
    assert sizes == [0, SIZE, 2 * SIZE, SIZE, SIZE + 4, 4, 4 + SIZE, SIZE]


@pytest.mark.parametrize(
    ("reference", "sizes", "outputs"),
    [
        (lambda inputs: {"out": inputs["x"][10:]}, [0], 0),
        (lambda inputs: {"out": inputs["x"].view(10, 10).T}, [0], 0),
        (lambda inputs: {"out": (inputs["x"] + 1).view(10, 10)[:2]}, [0, SIZE], SIZE),
        (lambda inputs: dict.fromkeys(("a", "b"), inputs["x"] + 1), [0, SIZE], SIZE),
        (lambda inputs: {"out": inputs["x"].softmax(-1)}, [0, SIZE], SIZE),
    ],
    ids=["part of an input", "view of an input", "part of a new one", "one as two", "softmax"],
)
def test_memory_counts_once_and_inputs_never(reference, sizes: list[int], outputs: int):
    found = held(reference)
    assert [size for _, size in found.series.points] == sizes
    assert found.outputs == outputs


def test_inputs_keep_their_dtypes():
    seen = []
    held_by_torch(
        SimpleNamespace(reference=lambda inputs: {"out": seen.append(inputs["x"].dtype)}),
        {"x": torch.ones(4, dtype=torch.bfloat16)},
    )
    assert seen == [torch.bfloat16]


@pytest.mark.slow
def test_torchs_compiler_is_not_imported():
    """It takes a second of every check."""
    text = (
        "import sys, types, torch\n"
        "from grader.correctness import held_by_torch\n"
        "spec = types.SimpleNamespace(reference=lambda inputs: {'out': inputs['x'] + 1})\n"
        "held_by_torch(spec, {'x': torch.ones(3)})\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)
