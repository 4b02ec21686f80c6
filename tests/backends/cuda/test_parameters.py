"""The sizes of a kernel's parameters, in machine code, and arguments that do not fit them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from cuda.core import Program, ProgramOptions
from needs_nvrtc import NEEDS_NVRTC

from grader.backends.cuda import parameters
from grader.backends.cuda.refusals import LaunchRefused

SOURCE = """
struct Five { int values[5]; };
extern "C" __global__ void many(float* x, float s, Five five, short h, double d, long long n) {
    if (n) x[n] = s + five.values[2] + h + d;
}
extern "C" __global__ void none() {}
"""


@NEEDS_NVRTC
@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_machine_code_names_the_sizes(arch: str):
    cubin = Program(SOURCE, "c++", ProgramOptions(arch=arch)).compile("cubin").code
    assert parameters.sizes_of(cubin, "many") == (8, 4, 20, 2, 8, 8)
    assert parameters.sizes_of(cubin, "none") == ()
    assert parameters.sizes_of(cubin, "other") is None


@pytest.mark.parametrize(
    ("size", "argument"),
    [
        *((8, 3), (4, 3), (8, 2.0), (4, np.float32(2)), (4, ctypes.c_int(3)), (1, True)),
        *((2, np.float16(1)), (20, object()), (8, np.uint64(3))),
    ],
)
def test_what_fits_is_launched(size: int, argument: object):
    parameters.check("scale", [size], [argument])


@pytest.mark.parametrize(
    ("size", "argument", "said"),
    [
        (4, 2.0, "argument 1 of scale is float of 64 bits, and the parameter has 32"),
        (8, np.float32(2), "argument 1 of scale is float32 of 32 bits, and the parameter has 64"),
        (8, np.int32(3), "argument 1 of scale is int32 of 32 bits, and the parameter has 64"),
        (8, ctypes.c_int(3), "argument 1 of scale is c_int of 32 bits, and the parameter has 64"),
    ],
)
def test_what_would_be_another_number_is_refused(size: int, argument: object, said: str):
    with pytest.raises(LaunchRefused) as refused:
        parameters.check("scale", [size], [argument])
    assert str(refused.value) == said


def test_one_argument_for_each_parameter():
    with pytest.raises(LaunchRefused, match="the launch passes 1 of the 2 arguments of scale"):
        parameters.check("scale", [8, 8], [3])
    with pytest.raises(LaunchRefused, match="the launch passes 2 arguments to scale, which has 1"):
        parameters.check("scale", [8], [3, 4])
