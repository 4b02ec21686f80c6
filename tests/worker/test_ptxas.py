"""The words of NVIDIA's assembler and disassembler, read."""

from __future__ import annotations

import pytest

from grader.worker import ptxas, sass
from grader.worker.compile_jobs import Refused

# From nvdisasm's listings of 01 for sm_90 and of a matrix product for sm_80.
LISTING = """
//--------------------- .text._add --------------------------
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0150*/               @P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0160*/              @!P1 LDG.E.U16.CONSTANT R8, desc[UR4][R2.64+0x10] ;
        /*0170*/                   LDG.E R9, desc[UR4][R2.64] ;
        /*0180*/                   LDG.E.64.SYS R10, [R2] ;
        /*0190*/                   LDGSTS.E.BYPASS.LTC128B.64 [R7], [R2.64], P0 ;
        /*01a0*/                   LDG.E.ENL2.256 R12, R16, desc[UR4][R2.64] ;
        /*01b0*/                   STG.E.S8 desc[UR4][R2.64], R4 ;
        /*01c0*/               @P0 STG.E.128 desc[UR4][R2.64], R4 ;
        /*01d0*/                   STS.128 [R2], R4 ;
        /*01e0*/                   LDS R4, [R2] ;
"""
# From a kernel that calls a function of libdevice, with names cut.
LOG = """
ptxas-blackwell info    : 16 bytes gmem
ptxas-blackwell info    : Compiling entry function 'dot' for 'sm_90a'
ptxas-blackwell info    : Function properties for dot
    0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas-blackwell info    : Used 30 registers, used 1 barriers, 1024 bytes smem
ptxas-blackwell info    : Function properties for __internal_trig_reduction_slowpathf
    0 bytes stack frame, 0 bytes spill stores, 16 bytes spill loads
"""


def test_each_width_of_global_loads_and_stores_is_counted():
    found = sass.listed(LISTING)
    assert found.loads == {128: 1, 16: 1, 32: 1, 64: 2, 256: 1}
    assert found.stores == {8: 1, 128: 1}


def test_the_log_has_a_kernel_s_registers_spills_and_shared_memory():
    found = ptxas.figures(LOG, sass.listed(LISTING))
    assert (found["registers"], found["spills"]) == (30, 16)
    assert found["stores"] == {8: 1, 128: 1}
    assert ptxas.static_shared(LOG) == 1024
    assert ptxas.static_shared("Used 30 registers, used 1 barriers") == 0


def test_a_log_without_a_kernel_is_no_result():
    with pytest.raises(Refused, match="does not report the registers"):
        ptxas.figures("ptxas info    : 0 bytes gmem", None)


def test_a_line_of_ptx_leads_to_the_line_of_the_kernel_file():
    said = "ptxas /folder/a.ptx, line 4; error   : Feature 'cvt.e4m3x2' requires .target sm_89"
    ptx = '.file 1 "/home/kernel-1/kernel.py"\n.loc 1 21 0\n.loc 1 33 5\ncvt.e4m3x2;\n.loc 1 40 0'
    found = ptxas.refusal(said, ptx)
    assert found is not None
    assert (str(found), found.line) == ("Feature 'cvt.e4m3x2' requires .target sm_89", 33)
    assert ptxas.refusal(LOG, ptx) is None
