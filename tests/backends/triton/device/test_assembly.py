"""Inline PTX: instructions one by one, and in compiled kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from grader.backends.triton.device import ptx
from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.ptx_text import instructions

from .launched import Gpu, simulated_gpu


@pytest.fixture
def gpu(tmp_path: Path) -> Iterator[Gpu]:
    with simulated_gpu(tmp_path) as gpu:
        yield gpu


def f32(*values: float) -> torch.Tensor:
    return ptx.written(torch.tensor(values))


def run(text: str, *operands: torch.Tensor | int) -> torch.Tensor:
    """Run a text whose `$0` is the result."""
    registers = {
        f"${i + 1}": torch.tensor([each]) if isinstance(each, int) else each
        for i, each in enumerate(operands)
    }
    ptx.run(instructions(text), registers)
    return registers["$0"]


@pytest.mark.parametrize(
    ("text", "operands", "expected"),
    [
        ("add.f32 $0, $1, $2;", (1.5, 2.0), 3.5),
        ("sub.ftz.f32 $0, $1, $2;", (1.5, 2.0), -0.5),
        ("mul.rn.f32 $0, $1, 0f40000000;", (1.5,), 3.0),
        ("fma.rn.f32 $0, $1, $2, $3;", (2.0, 3.0, 1.0), 7.0),
        ("add.sat.f32 $0, $1, $2;", (2.0, 3.0), 1.0),
        ("fma.rn.sat.f32 $0, $1, $2, $3;", (2.0, -3.0, 1.0), 0.0),
        ("mul.sat.f32 $0, $1, $2;", (math.inf, 0.0), 0.0),
        ("cvt.sat.f32.f32 $0, $1;", (1.5,), 1.0),
        ("cvt.rni.f32.f32 $0, $1;", (2.5,), 2.0),
        ("cvt.rmi.f32.f32 $0, $1;", (-2.5,), -3.0),
        ("cvt.rpi.f32.f32 $0, $1;", (2.25,), 3.0),
        ("cvt.rzi.f32.f32 $0, $1;", (-2.75,), -2.0),
        ("div.full.f32 $0, $1, $2;", (3.0, 2.0), 1.5),
        ("min.f32 $0, $1, $2;", (3.0, math.nan), 3.0),
        ("max.f32 $0, $1, $2;", (3.0, 2.0), 3.0),
        ("neg.f32 $0, $1;", (3.0,), -3.0),
        ("ex2.approx.ftz.f32 $0, $1;", (3.0,), 8.0),
        ("lg2.approx.f32 $0, $1;", (8.0,), 3.0),
        ("rcp.approx.f32 $0, $1;", (4.0,), 0.25),
        ("rsqrt.approx.f32 $0, $1;", (4.0,), 0.5),
        ("sqrt.rn.f32 $0, $1;", (9.0,), 3.0),
        ("tanh.approx.f32 $0, $1;", (0.0,), 0.0),
        ("{ .reg .f32 t; mul.f32 t, $1, $1; add.f32 $0, t, $1; }", (3.0,), 12.0),
        ("{ .reg .pred p; setp.gt.f32 p, $1, $2; selp.f32 $0, $1, $2, p; }", (3.0, 5.0), 5.0),
        ("mov.f32 $0, $1; setp.lt.f32 p, $1, $2; @p add.f32 $0, $0, $2;", (3.0, 5.0), 8.0),
        ("mov.f32 $0, $1; setp.lt.f32 p, $1, $2; @!p add.f32 $0, $0, $2;", (3.0, 5.0), 3.0),
    ],
)
def test_instructions_of_floats(text: str, operands: tuple[float, ...], expected: float) -> None:
    result = run(text, *(f32(each) for each in operands))
    assert ptx.read(result, "f32").tolist() == [expected]


@pytest.mark.parametrize(
    ("text", "operands", "expected"),
    [
        ("add.u32 $0, $1, $2;", (2**32 - 1, 2), 1),
        ("mul.lo.s32 $0, $1, $2;", (2**31, 2), 0),
        ("mul.hi.u32 $0, $1, $2;", (2**31, 4), 2),
        ("mul.wide.s32 $0, $1, $2;", (2**32 - 1, 4), -4),
        ("mad.lo.u32 $0, $1, $2, $3;", (3, 4, 5), 17),
        ("div.u32 $0, $1, $2;", (2**32 - 1, 2), 2**31 - 1),
        ("rem.s32 $0, $1, $2;", (2**32 - 7, 4), 2**32 - 3),
        ("min.s32 $0, $1, $2;", (2**32 - 1, 2), 2**32 - 1),
        ("min.u32 $0, $1, $2;", (2**32 - 1, 2), 2),
        ("and.b32 $0, $1, 0xF0;", (0x1234,), 0x30),
        ("not.b32 $0, $1;", (0,), 2**32 - 1),
        ("shl.b32 $0, $1, $2;", (1, 32), 0),
        ("shl.b32 $0, $1, 4;", (1,), 16),
        ("shl.b64 $0, $1, $2;", (3, 63), -(2**63)),
        ("shl.b64 $0, $1, $2;", (1, 64), 0),
        ("shr.u64 $0, $1, $2;", (-1, 64), 0),
        ("shr.s64 $0, $1, $2;", (-5, 70), -1),
        ("shr.u32 $0, $1, $2;", (2**31, 40), 0),
        ("shr.u32 $0, $1, $2;", (2**31, 31), 1),
        ("shr.s32 $0, $1, $2;", (2**31, 31), 2**32 - 1),
        ("popc.b32 $0, $1;", (0xFF,), 8),
        ("clz.b32 $0, $1;", (1,), 31),
        ("brev.b32 $0, $1;", (1,), 2**31),
        ("prmt.b32 $0, $1, $2, 0x7250;", (0x33221100, 0x77665544), 0x77225500),
        ("lop3.b32 $0, $1, $2, $3, 0xE8;", (0b1100, 0b1010, 0b0110), 0b1110),
        ("cvt.u32.u8 $0, $1;", (0x1FF,), 0xFF),
        ("cvt.s32.s8 $0, $1;", (0xFF,), 2**32 - 1),
        ("setp.lt.u32 p, $1, $2; selp.b32 $0, 1, 2, p;", (2**32 - 1, 1), 2),
    ],
)
def test_instructions_of_integers(text: str, operands: tuple[int, ...], expected: int) -> None:
    assert run(text, *operands).tolist() == [expected]


def test_conversions() -> None:
    assert run("cvt.rni.s32.f32 $0, $1;", f32(2.5)).tolist() == [2]
    assert run("cvt.rzi.s32.f32 $0, $1;", f32(-2.5)).tolist() == [2**32 - 2]
    assert run("cvt.rn.f32.s32 $0, $1;", 2**24 + 3).tolist() == f32(2.0**24 + 4).tolist()
    assert run("cvt.rz.f32.s32 $0, $1;", 2**24 + 3).tolist() == f32(2.0**24 + 2).tolist()
    assert run("cvt.rz.f32.u32 $0, $1;", 2**32 - 1).tolist() == f32(2.0**32 - 256).tolist()
    assert run("cvt.rn.f16.f32 $0, $1;", f32(1.0)).tolist() == [0x3C00]
    assert run("cvt.rn.bf16x2.f32 $0, $1, $2;", f32(1.0), f32(2.0)).tolist() == [0x3F804000]
    assert run("add.f16x2 $0, $1, $1;", 0x3C004000).tolist() == [0x40004400]


@pytest.mark.parametrize(
    "text",
    [
        "mov.u32 $0, %smid;",
        "ld.global.f32 $0, [$1];",
        "bar.sync 0;",
        "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;",
        "mov.b32 $0, {$1, $2};",
        "shfl.sync.bfly.b32 $0, $1, 16, 31, -1;",
        "add.rz.f32 $0, $1, $2;",
        "add.sat.s32 $0, $1, $2;",
        "cvt.sat.u8.s32 $0, $1;",
        "cvt.rn.relu.f16.f32 $0, $1;",
        "cvt.rz.f32.s64 $0, $1;",
        "fma.rn.relu.f16 $0, $1, $2, $1;",
        "setp.lo.u32 $0, $1, $2;",
        "griddepcontrol.other;",
        "nothing",
    ],
)
def test_other_assembly_is_not_simulated(text: str) -> None:
    with pytest.raises(NotSimulated):
        run(text, 1, 2)


def test_comments_are_no_instructions() -> None:
    assert len(instructions("mov.b32 $0, $1; // {a, b}\n/* ld.global; */ mov.b32 $0, $1;")) == 2
    with pytest.raises(Malformed):
        instructions("mov.b32 $0, $1; /* mov.b32 $0, $2;")


def test_assembly_has_a_limit() -> None:
    with pytest.raises(Malformed):
        instructions("add.f32 $0, $1, $1;" * 3000)


@triton.jit
def two_results(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    total, difference = tl.inline_asm_elementwise(
        "add.f32 $0, $2, $3; sub.f32 $1, $2, $3;",
        "=f,=f,f,f",
        [x, x * 3],
        dtype=(tl.float32, tl.float32),
        is_pure=True,
        pack=1,
    )
    tl.store(y_ptr + i, total * 10 + difference)


@pytest.mark.slow
def test_a_kernel_has_two_results_of_assembly(gpu: Gpu) -> None:
    x = torch.randn(16)
    y = torch.empty(16)
    gpu.launch(two_results, (1,), x, y, BLOCK=16)
    torch.testing.assert_close(y, 38 * x)


@triton.jit
def dependent(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    tl.store(y_ptr + i, tl.load(x_ptr + i) + 1)
    tl.extra.cuda.gdc_launch_dependents()


def test_a_launch_that_depends_on_another_waits_for_nothing(gpu: Gpu) -> None:
    x, y = torch.randn(16), torch.empty(16)
    gpu.launch(dependent, (1,), x, y, BLOCK=16)
    assert torch.equal(y, x + 1)


@triton.jit
def packed(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise(
        "xor.b32 $0, $1, 0x80808080;", "=r,r", [x], dtype=tl.int8, is_pure=True, pack=4
    )
    tl.store(y_ptr + i, y)


def test_four_bytes_share_a_register(gpu: Gpu) -> None:
    x = torch.arange(-8, 8, dtype=torch.int8)
    y = torch.empty_like(x)
    gpu.launch(packed, (1,), x, y, BLOCK=16)
    assert y.tolist() == (x ^ -128).tolist()
