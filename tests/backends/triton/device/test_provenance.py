"""Values that nobody defined, followed to the arguments that they reach."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import pytest
import torch

from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.provenance import Provenance
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.records import Site
from grader.backends.triton.driver.unwritten import mark
from grader.backends.triton.undefined import LARGEST_NUMBER
from grader.model.device_report import MOST_ORIGINS, Origin

from .memories import access, memory_of, span_of
from .single import followed

SOURCE = Source("kernel.py")
MASK = torch.tensor([[True, True, False, True]])
AT = torch.arange(4)[None]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


class Watched:
    """Memory of arguments `x` and `out`, and of `scratch`, which a file made by torch.empty."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.x, self.out, self.scratch = (torch.zeros(4, dtype=dtype) for _ in range(3))
        mark(self.scratch)
        self.provenance = Provenance([span_of("x", self.x), span_of("out", self.out)])
        observers = {
            "provenance": self.provenance,
            "scratch": [span_of("scratch", self.scratch)],
        }
        self.memory: Memory = memory_of(observers, x=self.x, out=self.out, scratch=self.scratch)

    @property
    def origins(self) -> tuple[Origin, ...]:
        return self.provenance.origins(SOURCE)

    def load(self, tensor: torch.Tensor, mask: torch.Tensor | None = None, line: int = 1):
        return self.memory.load(access("load", tensor, AT, mask, line=line))

    def store(
        self, tensor: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None = None
    ) -> None:
        self.memory.store(access("store", tensor, AT, mask), values)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_lanes_that_are_masked_off(dtype: torch.dtype) -> None:
    watched = Watched(dtype)
    watched.load(watched.x, MASK, line=3)
    loaded = watched.load(watched.x, MASK, line=7)
    assert loaded.isnan().tolist() == (~MASK).tolist()
    watched.store(watched.scratch, loaded)
    watched.store(watched.out, loaded, MASK)
    assert watched.origins == (), "the lane is masked off at the store, too"
    run = SimpleNamespace(memory=watched.memory)
    watched.store(watched.out, followed("arith.addf", loaded, loaded, run=run))
    assert watched.origins == (Origin("out", 7),)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_scratch_that_nothing_wrote(dtype: torch.dtype) -> None:
    watched = Watched(dtype)
    watched.store(watched.scratch, torch.ones(1, 1, dtype=dtype), MASK)
    loaded = watched.load(watched.scratch, line=5)
    assert loaded.isnan().tolist() == (~MASK).tolist()
    watched.store(watched.out, loaded, MASK)
    assert watched.origins == (), "what was written before is defined, and the rest was dropped"
    watched.store(watched.out, loaded)
    assert watched.origins == (Origin("out", 5, "", "scratch", 2),)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_integers_that_nothing_wrote(dtype: torch.dtype) -> None:
    watched = Watched(dtype)
    watched.load(watched.scratch, torch.tensor([[False, True, True, False]]), line=4)
    assert watched.origins == (Origin("", 4, "", "scratch", 1),)


def test_an_atomic_update_of_what_nothing_wrote() -> None:
    watched = Watched(torch.float32)

    def add(held, places, values):
        floats = held.view("f4")
        floats += values.view("f4")
        return held

    here = access("atomic", watched.scratch, AT, line=6)
    watched.memory.atomic(here, add, torch.ones(1, 4))
    watched.store(watched.out, watched.load(watched.scratch, line=9))
    assert watched.origins == (Origin("out", 6, "", "scratch", 0),)


def test_memory_that_the_file_filled() -> None:
    watched = Watched(torch.float32)
    watched.scratch.fill_(float("nan"))
    watched.store(watched.out, watched.load(watched.scratch))
    assert watched.origins == ()


def test_arguments_are_defined() -> None:
    watched = Watched(torch.float32)
    mark(watched.x)
    watched.store(watched.out, watched.load(watched.x))
    assert watched.origins == ()


@pytest.mark.parametrize(("dtype", "there"), list(permutations(FLOATS, 2)), ids=str)
@pytest.mark.parametrize("lanes", [4, 64])
def test_casts_keep_the_origin(dtype: torch.dtype, there: torch.dtype, lanes: int) -> None:
    watched = Watched(dtype)
    run = SimpleNamespace(memory=watched.memory)
    value = watched.load(watched.x, MASK, line=7).tile(lanes // 4)
    name = "arith.extf" if there.itemsize > dtype.itemsize else "arith.truncf"
    cast = followed(name, value, to=there, run=run)
    back = followed("tt.fp_to_fp", cast, to=dtype, run=run)
    watched.store(watched.out, back[:, -4:])
    assert watched.origins == (Origin("out", 7),)


def test_a_nan_of_the_inputs_has_no_origin() -> None:
    watched = Watched(torch.float32)
    watched.x.fill_(float("nan"))
    watched.load(watched.x, MASK, line=3)
    watched.store(watched.out, watched.load(watched.x, line=4) * 0)
    assert watched.origins == ()


def test_the_variable_and_the_line_of_the_outermost_call() -> None:
    site = Site("helpers.py", 3, "inner", (Site("kernel.py", 12, "value"),))
    provenance = Provenance([span_of("out", out := torch.zeros(4))])
    undefined = provenance.undefined(torch.float32, site)
    memory_of({"provenance": provenance}, out=out).store(
        access("store", out, AT), undefined.expand(1, 4)
    )
    assert provenance.origins(SOURCE) == (Origin("out", 12, "value"),)


def test_more_loads_than_there_are_numbers() -> None:
    watched = Watched(torch.float32)
    for line in range(1, LARGEST_NUMBER + 5):
        loaded = watched.load(watched.x, MASK, line=line)
        assert loaded[0, 2].isnan()
    watched.store(watched.out, loaded)
    assert watched.origins == ()


def test_more_origins_than_a_report_has() -> None:
    watched = Watched(torch.float32)
    for line in range(1, MOST_ORIGINS + 5):
        watched.store(watched.out, watched.load(watched.x, MASK, line=line))
    assert watched.origins == tuple(Origin("out", line) for line in range(1, MOST_ORIGINS + 1))
