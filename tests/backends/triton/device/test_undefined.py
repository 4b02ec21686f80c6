"""Undefined values: no operation on floats drops them, whatever it does with another NaN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import libdevice as cuda

from grader.backends.triton.device import operations
from grader.backends.triton.device.provenance import Provenance
from grader.backends.triton.device.ttir.records import Site

from .launched import Gpu, simulated_gpu
from .memories import memory_of
from .single import followed

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]

# Element by element from floats to floats, and from how many.
ARITHMETIC: Mapping[str, int] = {
    **dict.fromkeys(
        [
            *("arith.extf", "arith.negf", "arith.truncf", "math.absf", "math.acos", "math.asin"),
            *("math.atan", "math.ceil", "math.cos", "math.cosh", "math.erf", "math.erfc"),
            *("math.exp", "math.exp2", "math.expm1", "math.floor", "math.log", "math.log10"),
            *("math.log1p", "math.log2", "math.round", "math.roundeven", "math.rsqrt"),
            *("math.sin", "math.sinh", "math.sqrt", "math.tan", "math.tanh", "math.trunc"),
            *("tt.fp_to_fp", "tt.precise_sqrt"),
        ],
        1,
    ),
    **dict.fromkeys(
        [
            *("arith.addf", "arith.divf", "arith.maximumf", "arith.maxnumf", "arith.minimumf"),
            *("arith.minnumf", "arith.mulf", "arith.remf", "arith.subf", "math.atan2"),
            *("math.copysign", "math.powf", "tt.precise_divf"),
        ],
        2,
    ),
    **dict.fromkeys(["math.fma", "tt.clampf"], 3),
}
# Tested below with a kernel, or a library's function.
COMBINED = {
    *("arith.cmpf", "arith.select", "tt.atomic_rmw", "tt.descriptor_reduce", "tt.dot"),
    *("tt.dot_scaled", "tt.extern_elementwise", "tt.map_elementwise", "tt.reduce", "tt.scan"),
}
# To or from integers, pointers or bits, which are not followed.
NOT_FOLLOWED = {
    *("arith.addi", "arith.addui_extended", "arith.andi", "arith.bitcast", "arith.ceildivsi"),
    *("arith.ceildivui", "arith.cmpi", "arith.constant", "arith.divsi", "arith.divui"),
    *("arith.extsi", "arith.extui", "arith.floordivsi", "arith.fptosi", "arith.fptoui"),
    *("arith.index_cast", "arith.index_castui", "arith.maxsi", "arith.maxui", "arith.minsi"),
    *("arith.minui", "arith.muli", "arith.mulsi_extended", "arith.mului_extended", "arith.ori"),
    *("arith.remsi", "arith.remui", "arith.shli", "arith.shrsi", "arith.shrui", "arith.sitofp"),
    *("arith.subi", "arith.trunci", "arith.uitofp", "arith.xori", "math.absi", "tt.addptr"),
    *("tt.atomic_cas", "tt.bitcast", "tt.elementwise_inline_asm", "tt.histogram"),
    *("tt.int_to_ptr", "tt.mulhiui", "tt.ptr_to_int"),
}
# They move values, and change none.
MOVED = {
    *("gpu.barrier", "llvm.intr.assume", "scf.for", "scf.if", "scf.while", "tt.assert"),
    *("tt.broadcast", "tt.call", "tt.cat", "tt.descriptor_gather", "tt.descriptor_load"),
    *("tt.descriptor_scatter", "tt.descriptor_store", "tt.expand_dims", "tt.gather"),
    *("tt.get_num_programs", "tt.get_program_id", "tt.join", "tt.load", "tt.make_range"),
    *("tt.make_tensor_descriptor", "tt.print", "tt.reshape", "tt.splat", "tt.split", "tt.store"),
    *("tt.trans", "tt.unsplat", "ttg.barrier", "ub.poison"),
}


def test_every_operation_is_in_one_of_the_groups() -> None:
    groups = [set(ARITHMETIC), COMBINED, NOT_FOLLOWED, MOVED]
    assert set().union(*groups) == operations.names()
    assert sum(map(len, groups)) == len(operations.names())


def watched() -> tuple[Any, Provenance]:
    provenance = Provenance([])
    return SimpleNamespace(memory=memory_of({"provenance": provenance})), provenance


def with_one_undefined(value: Tensor, provenance: Provenance) -> Tensor:
    """Return a copy of a value, (1, lanes), of which the last lane but one is undefined."""
    changed = value.clone()
    changed[0, -2] = provenance.undefined(value.dtype, Site("kernel.py", 1))
    return changed


def bits_of(value: Tensor) -> int:
    """Return the bits of one element, but for its sign."""
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[value.dtype.itemsize]
    return value.view(integer).item() & torch.iinfo(integer).max


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", sorted(ARITHMETIC))
@pytest.mark.parametrize("lanes", [4, 64])
def test_arithmetic_passes_on_the_bits(name: str, dtype: torch.dtype, lanes: int) -> None:
    run, provenance = watched()
    whole = torch.ones(1, lanes, dtype=dtype)
    for place in range(ARITHMETIC[name]):
        operands = [whole] * ARITHMETIC[name]
        operands[place] = with_one_undefined(whole, provenance)
        splats = [each[:, :1] if each is whole else each for each in operands]
        for given in (operands, splats):
            result = followed(name, *given, run=run)
            assert result.isnan()[0].nonzero().tolist() == [[lanes - 2]]
            assert bits_of(result[:, -2:-1]) == bits_of(operands[place][:, -2:-1])


TYPES = {"fp32": torch.float32, "fp64": torch.float64, "int32": torch.int32, "int64": torch.int64}
# As in `(core.dtype("fp32"), ): ("__nv_cosf", core.dtype("fp32"))`.
DECLARED = re.compile(
    r'\(((?:core\.dtype\("\w+"\),? ?)+)\):\s+\("(__nv_\w+)", core\.dtype\("(fp\d+)"\)'
)
SYMBOLS = {
    symbol: [TYPES[name] for name in [*re.findall(r'"(\w+)"', parameters), result]]
    for parameters, symbol, result in DECLARED.findall(Path(cuda.__file__).read_text())
    if "fp" in parameters
}


def test_the_library_declares_its_functions() -> None:
    assert len(SYMBOLS) > 150
    assert SYMBOLS["__nv_fmodf"] == [torch.float32] * 3
    assert SYMBOLS["__nv_ldexpf"] == [torch.float32, torch.int32, torch.float32]


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_functions_of_a_library_pass_on_the_bits(symbol: str) -> None:
    run, provenance = watched()
    *parameters, to = SYMBOLS[symbol]
    for place, dtype in enumerate(parameters):
        if dtype.is_floating_point:
            operands = [torch.ones(1, 4, dtype=each) for each in parameters]
            operands[place] = with_one_undefined(operands[place], provenance)
            result = followed("tt.extern_elementwise", *operands, to=to, run=run, symbol=symbol)
            assert result.dtype == to
            assert result.isnan()[0].tolist() == [False, False, True, False]


def test_a_nan_of_the_inputs_is_dropped_beside_an_undefined_value() -> None:
    run, provenance = watched()
    x = with_one_undefined(torch.tensor([[1.0, torch.nan, 0.0, 4.0]]), provenance)
    y = torch.tensor([[2.0, 2.0, 2.0, torch.nan]])
    largest = followed("arith.maxnumf", x, y, run=run)
    assert largest.isnan()[0].tolist() == [False, False, True, False]
    assert largest[0, [0, 1, 3]].tolist() == [2.0, 2.0, 4.0]


@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"])
def test_products_pass_on_undefined_rows_and_columns(precision: str) -> None:
    run, provenance = watched()
    undefined = provenance.undefined(torch.float32, Site("kernel.py", 1))
    for place, expected in enumerate([(2, slice(None)), (slice(None), 3), (2, 3)]):
        operands = [torch.ones(1, 16, 16) for _ in range(3)]
        operands[place][0, 2, 3] = undefined
        product = followed("tt.dot", *operands, run=run, inputPrecision=precision)
        right = torch.zeros(16, 16, dtype=torch.bool)
        right[expected] = True
        assert torch.equal(product[0].isnan(), right)
        assert {bits_of(each) for each in product[0][right]} == {bits_of(undefined)}


def test_more_loads_than_there_are_numbers() -> None:
    run, provenance = watched()
    for line in range(1, 80):
        undefined = provenance.undefined(torch.float32, Site("kernel.py", line))
        largest = followed("arith.maxnumf", undefined[None], torch.ones(1), run=run)
        assert largest.isnan(), line


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    with simulated_gpu(Path(tmp_path_factory.mktemp("cache"))) as gpu:
        yield gpu


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def from_lanes(x_ptr, out_ptr, n, N: tl.constexpr, KIND: tl.constexpr):
    """Store what comes of `n` of N elements, where some of the other lanes are undefined."""
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n)
    zeros = tl.zeros((N,), tl.float32)
    if KIND == "maximum":
        y = tl.maximum(x, -9.0)
    elif KIND == "minimum of halves":
        y = tl.minimum(x.to(tl.float16) * 2, 9.0).to(tl.float32)
    elif KIND == "maximum of bfloat16":
        y = tl.maximum(x.to(tl.bfloat16) + 1, 9.0).to(tl.float32)
    elif KIND == "clamp":
        y = tl.clamp(x, -9.0, 9.0)
    elif KIND == "where":
        y = tl.where(x > -9.0, x, -9.0)
    elif KIND == "where not":
        y = tl.where((i > 0) & ~(x <= 9.0), 9.0, x)
    elif KIND == "max":
        y = zeros + tl.max(x, 0)
    elif KIND == "min":
        y = zeros + tl.min(x.to(tl.float16), 0)
    elif KIND == "max of sums":
        y = zeros + tl.maximum(tl.sum(x, 0), -9.0)
    elif KIND == "value of argmax":
        y = zeros + tl.max(x, 0, return_indices=True)[0]
    elif KIND == "value of argmin":
        y = zeros + tl.min(tl.flip(x, 0), 0, return_indices=True)[0]
    elif KIND == "own reduction":
        y = zeros + tl.reduce(x, 0, larger)
    elif KIND == "scan":
        y = tl.associative_scan(x, 0, smaller, reverse=True)
    elif KIND == "product":
        square = tl.reshape(x.to(tl.float16), [16, N // 16])
        y = zeros + tl.max(tl.maximum(tl.dot(square, tl.trans(square)), -9.0))
    tl.store(out_ptr + i, y)


KINDS = re.findall(r'KIND == "(.*?)"', from_lanes.src)


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_cannot_drop_an_undefined_lane(gpu: Gpu, kind: str) -> None:
    x, out = torch.full((256,), -2.0), torch.zeros(256)
    gpu.launch(from_lanes, (1,), x, out, 256, N=256, KIND=kind)
    assert not out.isnan().any()
    gpu.launch(from_lanes, (1,), x, out, 200, N=256, KIND=kind)
    assert out[200:].isnan().all()
    [origin] = gpu.origins
    assert (origin.output, origin.name, origin.array) == ("out_ptr", "x", "")


@triton.jit
def lanes_dropped_by_the_kernel(x_ptr, out_ptr, n, N: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, N)
    inside = i < n
    x = tl.load(x_ptr + i, mask=inside)
    if KIND == "masked":
        y = tl.max(tl.where(inside, tl.maximum(x, -9.0), float("-inf")), 0)
    elif KIND == "masked with a comparison":
        y = tl.max(tl.where(inside & (x > -9.0), x, -9.0), 0)
    elif KIND == "branches":
        y = tl.sum(tl.where(x > -9.0, 0.5, 0.0), 0)
    tl.store(out_ptr, y)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("masked", -2.0), ("masked with a comparison", -2.0), ("branches", 99.5)],
)
def test_what_a_kernel_drops_itself(gpu: Gpu, kind: str, expected: float) -> None:
    x, out = torch.full((256,), -2.0), torch.zeros(1)
    x[7] = torch.nan
    gpu.launch(lanes_dropped_by_the_kernel, (1,), x, out, 200, N=256, KIND=kind)
    assert out.tolist() == [expected]


@triton.jit
def index_of_largest(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr, tl.argmax(tl.load(x_ptr + i, mask=i < n), 0))


def test_the_largest_is_at_an_undefined_lane(gpu: Gpu) -> None:
    out = torch.zeros(1, dtype=torch.int32)
    gpu.launch(index_of_largest, (1,), torch.full((256,), -2.0), out, 200, N=256)
    assert out.item() >= 200


@triton.jit
def into_one(x_ptr, out_ptr, n, N: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n)
    if KIND == "max":
        tl.atomic_max(out_ptr + i % 2, x)
    elif KIND == "min":
        tl.atomic_min(out_ptr + i % 2, x)
    elif KIND == "min of negative":
        tl.atomic_min(out_ptr + i % 2, -x)
    elif KIND == "apart":
        tl.atomic_min(out_ptr + i, x)
    else:
        tl.atomic_max(out_ptr + i % 2, x, mask=i < n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["max", "min", "min of negative", "apart", "masked"])
def test_atomic_operations_store_what_is_undefined(gpu: Gpu, kind: str, dtype: torch.dtype) -> None:
    x, out = torch.full((16,), -2.0, dtype=dtype), torch.full((16,), -3.0, dtype=dtype)
    gpu.launch(into_one, (1,), x, out, 11, N=16, KIND=kind)
    missing = {"apart": range(11, 16), "masked": ()}.get(kind, range(2))
    assert out.isnan().nonzero()[:, 0].tolist() == list(missing)
    assert [origin.output for origin in gpu.origins] == ["out_ptr"] * (kind != "masked")
