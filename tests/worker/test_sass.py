"""The widths that are read from machine code are those of nvdisasm's listing."""

from __future__ import annotations

import importlib.util
import subprocess
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


def cubin(folder: Path, target: int) -> Path:
    ptx, made = folder / "k.ptx", folder / "k.cubin"
    ptx.write_text(PTX.format(target=target))
    ptxas = TOOLS / ("ptxas-blackwell" if target >= 100 else "ptxas")
    subprocess.run([ptxas, f"--gpu-name=sm_{target}", "-o", made, ptx], check=True)
    return made


@pytest.mark.parametrize("target", [*KNOWN, OTHER])
def test_the_widths_are_those_that_nvdisasm_lists(tmp_path: Path, target: int):
    made, nvdisasm = cubin(tmp_path, target), str(TOOLS / "nvdisasm")
    listed = subprocess.run([nvdisasm, "-c", made], capture_output=True, text=True, check=True)
    found = sass.widths_of(made, target, "no tool" if target in KNOWN else nvdisasm)
    assert found == sass.widths(listed.stdout)
    assert set(found.loads) == set(found.stores) == ALL
