"""numba's explanations, as a GPU's worker gets them, in one sentence each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda as untyped
from numba.cuda import compiler, types

from grader.backends.numba.refusals import NotCompiled, explained, not_compiled
from grader.worker.faults import describe

cuda: Any = untyped
HEAD = "the kernel cannot be compiled: "


def asks_numpy(x):
    x[0] = np.exp(x[0])


def makes_a_list(x):
    held = []
    held.append(x[0])


def is_fine(x):
    x[0] = math.exp(x[0])


def compiled(kernel: Callable[..., object]) -> BaseException | None:
    try:
        compiler.compile_cuda(kernel, types.void, (types.float32[::1],), cc=(9, 0))
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize(
    ("kernel", "said", "line"),
    [
        (asks_numpy, "np.exp works on whole arrays, and not on one number", 1),
        (makes_a_list, "a list has no append", 2),
    ],
)
def test_an_error_of_the_compiler_is_one_sentence_at_its_line(kernel, said, line):
    error = compiled(kernel)
    assert error is not None
    fault = describe(explained(error), __file__)
    assert (fault.kind, fault.message) == ("compile", HEAD + said)
    assert fault.frames[-1][0] == kernel.__code__.co_firstlineno + line


def test_an_error_that_no_compiler_raised_stays_as_it_is():
    error = ValueError("of the learner's own")
    assert explained(error) is error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "\x1b[1mFailed in cuda mode pipeline (step: nopython frontend)\n"
            "\x1b[1mUntyped global name 'f': Cannot determine Numba type "
            "of <class 'function'>\x1b[0m",
            "f is a plain function, without @cuda.jit(device=True)",
        ),
        (
            "Cannot unify Literal[int](1) and Tuple(int64, int64) for 'v.2', defined at k.py (3)",
            "v is 1 in one place and Tuple(int64, int64) in another",
        ),
        (
            "No implementation of function Function(<built-in function iadd>) found for signature:"
            "\n \n >>> iadd(float32, array(float32, 2d, A))\n \nThere are 18 candidate",
            "there is no += of float32 and a 2-dimensional array of float32",
        ),
        (
            "No implementation of function Function(<function npy_max at 0x7f00>) found for "
            "signature:\n \n >>> npy_max(array(float32, 1d, C))\n \nThere are 2 candidate",
            "max works on numbers, and here it gets an array of float32",
        ),
        ("something that nobody foresaw\nin two lines\n\nDuring: pass", "something that nobody "
         "foresaw in two lines"),
        ("", "ValueError"),
    ],
)  # fmt: skip
def test_explanations_in_our_words(text, said):
    refusal = not_compiled(ValueError(text))
    assert isinstance(refusal, NotCompiled)
    assert str(refusal) == HEAD + said
