"""NVRTC's logs in one plain sentence, at the line of the kernel file."""

from __future__ import annotations

import pytest

from grader.backends.cuda.refusals import sentence

HOST = (
    "A function without execution space annotations (__host__/__device__/__global__) is considered "
    "a host function, and host functions are not allowed in JIT mode. Consider using -default-"
    "device flag to process unannotated functions as __device__ functions in JIT mode"
)


@pytest.mark.parametrize(
    ("log", "words", "line"),
    [
        ('\nkernel.py(12): error: expected a ";"\n  }\n  ^\n', 'expected a ";"', 12),
        (
            "kernel.py(3): warning #177-D: variable x was declared\n\nkernel.py(7): error: b\n",
            "b",
            7,
        ),
        ("kernel.py(5): error #20: c is undefined\n", "c is undefined", 5),
        (
            f"kernel.py(4): error: {HOST}\n",
            "this function has neither __global__ nor __device__ before it",
            4,
        ),
        (
            'kernel.py(2): catastrophic error: cannot open source file "stdio.h"\n',
            "there is no header stdio.h",
            2,
        ),
        ("/usr/include/cuda_fp16.h(9): error: d\n", "d (cuda_fp16.h, line 9)", None),
        ("default_program(9): error: e\n", "e (line 9 of the source)", None),
        (
            '__nv_name_map(2): error: identifier "axpi" is undefined\n'
            "__nv_name_map(2): error: expected an expression\n",
            'identifier "axpi" is undefined (in name_expressions)',
            None,
        ),
        (
            "__nv_name_map(2): error: expected an identifier\n\n"
            "kernel.py(16): error: closing brace of template definition not found\n",
            "closing brace of template definition not found",
            16,
        ),
        (
            "/usr/cub/warp.cuh(67): error: f\n          detected during:\n"
            '            instantiation of class "A" at line 3 of /usr/cub/block.cuh\n'
            '            instantiation of class "B" at line 20 of kernel.py\n\n'
            "kernel.py(30): error: g\n",
            "f (warp.cuh, line 67)",
            20,
        ),
        (
            "/usr/cub/warp.cuh(67): error: f\n\nkernel.py(9): error: g\n          detected during "
            'instantiation of "h" at line 20 of kernel.py\n',
            "f (warp.cuh, line 67)",
            None,
        ),
        (
            "ptxas error   : Entry function 'f' uses too much shared data (0x61a80 bytes, 0xc000 "
            "max)\n",
            "f declares 400,000 bytes of shared memory, and a block may declare 49,152",
            None,
        ),
        (
            "ptxas error   : Entry function '_Z4axpyIfEvfPKT_S2_PS0_x' uses too much shared data "
            "(0x13880 bytes, 0xc000 max)\n",
            "axpy declares 80,000 bytes of shared memory, and a block may declare 49,152",
            None,
        ),
        (
            "ptxas application ptx input, line 23; error   : Unknown modifier '.bar'\n",
            "Unknown modifier '.bar' (in inline PTX)",
            None,
        ),
        ("\0\n", "NVRTC refuses it", None),
    ],
)
def test_the_first_error_is_said(log: str, words: str, line: int | None):
    assert sentence(log) == (words, line)
