"""Widths and arithmetic that are read from machine code agree with nvdisasm's listing."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader.worker import sass

TRITON = Path(importlib.util.find_spec("triton").origin).parent
TOOLS = TRITON / "backends" / "nvidia" / "bin"
# Each width of loads, stores and asynchronous copies, with and without a predicate, a hint to the
# caches and an order.
PTX = """
.version 8.6
.target sm_{target}
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {{
  .reg .b64 %a, %b, %c, %d<5>; .reg .b32 %r<9>, %s, %t, %n; .reg .b16 %h<4>; .reg .pred %p;
  .shared .align 16 .b8 held[32];
  ld.param.u64 %a, [p]; ld.param.u64 %b, [q]; ld.param.u32 %n, [n];
  cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b; mov.u32 %s, held;
  mov.u32 %t, %tid.x; mul.wide.u32 %c, %t, 128; add.u64 %a, %a, %c; add.u64 %b, %b, %c;
  setp.gt.s32 %p, %n, 5;
  ld.global.u8 %h1, [%a]; ld.global.s8 %h2, [%a+1]; ld.global.u16 %h3, [%a+2];
  ld.global.s16 %r1, [%a+4]; ld.global.b32 %r2, [%a+8]; ld.global.nc.b64 %d1, [%a+16];
  @%p ld.global.nc.v4.b32 {{%r3, %r4, %r5, %r6}}, [%a+32]; ld.volatile.global.b32 %r7, [%a+48];
  ld.acquire.gpu.global.b32 %r8, [%a+52]; ld.global.cv.b64 %d2, [%a+64];
  ld.global.v2.b64 {{%d3, %d4}}, [%a+80];
  cp.async.ca.shared.global [%s], [%a+96], 4; cp.async.ca.shared.global [%s+8], [%a+104], 8;
  cp.async.cg.shared.global [%s+16], [%a+112], 16; cp.async.wait_all;
  st.global.u8 [%b], %h1; st.global.u8 [%b+1], %h2; st.global.u16 [%b+2], %h3;
  st.global.b32 [%b+4], %r1; st.global.b32 [%b+8], %r2; st.global.b64 [%b+16], %d1;
  @%p st.global.v4.b32 [%b+32], {{%r3, %r4, %r5, %r6}}; st.volatile.global.b32 [%b+48], %r7;
  st.release.gpu.global.b32 [%b+52], %r8; st.global.cs.b64 [%b+64], %d2;
  st.global.v2.b64 [%b+80], {{%d3, %d4}};
  ld.shared.v4.b32 {{%r3, %r4, %r5, %r6}}, [%s]; st.global.v4.b32 [%b+96], {{%r3, %r4, %r5, %r6}};
  ret;
}}
"""
KNOWN = (80, 86, 87, 89, 90)  # those of DECODED that ptxas compiles for
OTHER = 100  # its asynchronous copies have their width in other bits
ALL = {8, 16, 32, 64, 128}


# Each kind of arithmetic that counts, a loop, a call of a library's division, and whole numbers and
# numbers of 16 bits, which do not count.
SUMS = """
.version 8.6
.target sm_{target}
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {{
  .reg .b64 %a, %b; .reg .f32 %x<12>; .reg .f64 %d<8>; .reg .b32 %n, %t<5>; .reg .pred %p;
  .reg .b16 %h<3>; .reg .b64 %w;
  ld.param.u64 %b, [p]; ld.param.u32 %n, [n]; cvta.to.global.u64 %b, %b;
  mov.u32 %t1, %tid.x; mul.wide.u32 %a, %t1, 8; add.u64 %a, %a, %b;
  ld.global.f32 %x1, [%a]; ld.global.f32 %x2, [%a+4];
again:
  fma.rn.f32 %x3, %x1, %x2, %x1; add.f32 %x4, %x3, %x1; mul.f32 %x5, %x4, %x2;
  min.NaN.f32 %x6, %x5, %x1; setp.lt.f32 %p, %x6, %x2; selp.f32 %x7, %x6, %x5, %p;
  ex2.approx.f32 %x8, %x7; div.rn.f32 %x9, %x8, %x5; cvt.rni.f32.f32 %x10, %x9;
  cvt.f64.f32 %d1, %x10; fma.rn.f64 %d2, %d1, %d1, %d1; add.f64 %d3, %d2, %d1;
  mul.f64 %d4, %d3, %d2; setp.gt.f64 %p, %d4, %d1; selp.f64 %d5, %d4, %d3, %p;
  cvt.rzi.s32.f32 %t2, %x10; cvt.rzi.s64.f64 %w, %d5; cvt.rn.f64.s64 %d6, %w;
  cvt.rn.f32.s32 %x11, %t2; cvt.rn.f32.f64 %x1, %d6; add.f32 %x1, %x1, %x11;
  cvt.rn.f16.f32 %h1, %x1; cvt.f32.f16 %x2, %h1; mad.lo.s32 %n, %n, %t2, 3;
  setp.gt.s32 %p, %n, 7; @%p bra again;
  st.global.f32 [%a], %x1; ret;
}}
"""


def cubin(folder: Path, target: int, text: str = PTX) -> Path:
    ptx, made = folder / "k.ptx", folder / "k.cubin"
    ptx.write_text(text.format(target=target))
    ptxas = TOOLS / ("ptxas-blackwell" if target >= 100 else "ptxas")
    subprocess.run([ptxas, f"--gpu-name=sm_{target}", "-o", made, ptx], check=True)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("target", [*KNOWN, OTHER])
def test_the_widths_are_those_that_nvdisasm_lists(tmp_path: Path, target: int):
    made, nvdisasm = cubin(tmp_path, target), str(TOOLS / "nvdisasm")
    listed = subprocess.run([nvdisasm, "-c", made], capture_output=True, text=True, check=True)
    found = sass.count_instructions(made, target, "no tool" if target in KNOWN else nvdisasm)
    assert replace(found, arithmetic=None) == sass.listed(listed.stdout)
    assert set(found.loads) == set(found.stores) == ALL


@pytest.mark.slow
@pytest.mark.parametrize("target", KNOWN)
def test_the_arithmetic_is_that_which_nvdisasm_lists(tmp_path: Path, target: int):
    """A code that was read as another instruction would be counted, or left out."""
    made = cubin(tmp_path, target, SUMS)
    command = [str(TOOLS / "nvdisasm"), "-c", str(made)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)", listed, re.MULTILINE)
    counted = [name for name in names if name in sass.ARITHMETIC.values()]
    assert sass.count_instructions(made, target, "no tool").arithmetic == len(counted)
    assert {"FFMA", "FMNMX", "MUFU", "DFMA", "FRND", "BRA", "CALL", "F2I", "I2F"} <= {*counted}
    assert {"IMAD", "STG"} <= {*names} - {*counted}


def test_arithmetic_that_is_not_decoded_is_not_counted(tmp_path: Path):
    made = cubin(tmp_path, OTHER, SUMS)
    assert sass.count_instructions(made, OTHER, str(TOOLS / "nvdisasm")).arithmetic is None
