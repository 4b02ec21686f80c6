"""Values that a mask leaves undefined, followed to the arguments that they reach."""

from __future__ import annotations

import pytest
import torch

from grader.backends.triton.device.provenance import MOST_ORIGINS, Provenance
from grader.backends.triton.device.sites import Source

from .memories import access, memory_of, span_of

LINE_OF = Source("kernel.py").line_of
MASK = torch.tensor([[True, True, False, True]])
AT = torch.arange(4)[None]


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
def test_the_line_of_the_load(dtype: torch.dtype) -> None:
    x, out, scratch = (torch.zeros(4, dtype=dtype) for _ in range(3))
    provenance = Provenance([span_of("x", x), span_of("out", out)])
    memory = memory_of({"provenance": provenance}, x=x, out=out, scratch=scratch)
    memory.load(access("load", x, AT, MASK, line=3))
    loaded = memory.load(access("load", x, AT, MASK, line=7))
    assert loaded.isnan().tolist() == (~MASK).tolist()
    memory.store(access("store", scratch, AT), loaded)
    memory.store(access("store", out, AT, MASK), loaded)
    assert provenance.facts(LINE_OF) == {}, "the lane is masked off at the store, too"
    # Torch's arithmetic on 16 bits, and its casts to them, lose the origin.
    changed = loaded * 2 + 1 if dtype.itemsize > 2 else loaded
    memory.store(access("store", out, AT), changed)
    assert provenance.facts(LINE_OF) == {"undefined.out": 7}


def test_a_nan_of_the_inputs_has_no_line() -> None:
    x, out = torch.full((4,), float("nan")), torch.zeros(4)
    provenance = Provenance([span_of("out", out)])
    memory = memory_of({"provenance": provenance}, x=x, out=out)
    memory.load(access("load", x, AT, MASK, line=3))
    memory.store(access("store", out, AT), memory.load(access("load", x, AT, line=4)) * 0)
    assert provenance.facts(LINE_OF) == {}


def test_more_loads_than_there_are_bits() -> None:
    x = torch.zeros(4)
    provenance = Provenance([span_of("x", x)])
    memory = memory_of({"provenance": provenance}, x=x)
    for line in range(1, MOST_ORIGINS + 5):
        loaded = memory.load(access("load", x, AT, MASK, line=line))
        assert loaded[0, 2].isnan()
    memory.store(access("store", x, AT), loaded)
    assert provenance.facts(LINE_OF) == {}
