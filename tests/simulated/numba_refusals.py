"""What numba refuses to compile, in our words; tests/backends/numba/test_simulator.py runs this.

Python runs each of these kernels, or fails in it by another reason than a GPU would.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import cuda, int32

from grader.backends.numba.simulator import setup
from grader.backends.numba.simulator.device_arrays import device_array
from grader.backends.numba.simulator.launch_limits import LaunchRefused
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.sandbox.failures import from_fault
from grader.worker.faults import describe

setup.install()

NUMBERS = [1.0, 2.0]
TABLE = np.zeros(4, np.float32)


def plain_helper(value):
    return value + 1


@cuda.jit
def votes_by_a_bool(x):
    x[0] = cuda.syncthreads_count(x[0] > 0)  # here


@cuda.jit
def counts_up(counter):
    cuda.atomic.inc(counter, 0, 7)  # here


@cuda.jit
def adds_at_a_tuple_of_one(x):
    i = (cuda.grid(1),)
    cuda.atomic.add(x, i, 1.0)  # here


@cuda.jit
def asks_numpy(x):
    x[0] = np.exp(x[0])  # here


@cuda.jit
def calls_a_plain_function(x):
    x[0] = plain_helper(x[0])  # here


@cuda.jit
def makes_a_list(x):
    held = []
    held.append(x[0])  # here
    x[0] = held[0]


@cuda.jit
def reads_a_list_of_the_file(x):
    x[0] = NUMBERS[1]  # here


@cuda.jit
def writes_a_table_of_the_file(x):
    TABLE[0] = 1.0  # here


@cuda.jit
def imports(x):
    import math as mathematics  # here

    x[0] = mathematics.pi


@cuda.jit(device=True)
def asks_numpy_below(value):
    return np.sqrt(value)  # here


@cuda.jit
def calls_below(x):
    x[0] = asks_numpy_below(x[0])


@cuda.jit
def is_fine(x):
    x[0] = math.exp(x[0])


@cuda.jit(device=True)
def sum_without_return(value):
    value += 1.0


@cuda.jit
def stores_none(x):
    total = sum_without_return(x[0])
    x[0] = total  # here


# The refusal after "the kernel cannot be compiled: ", the function that it is in, a part of a hint.
REFUSED = {
    votes_by_a_bool: ("cuda.syncthreads_count takes no (bool)", "1 if x > 0 else 0"),
    counts_up: ("cuda.atomic.inc takes no (an array of int32, 0, 7)", "uint32 and uint64"),
    adds_at_a_tuple_of_one: (
        "a tuple of 1 int64 stands where int64 is needed",
        "without the comma",
    ),
    asks_numpy: ("np.exp works on whole arrays, and not on one number", "math.exp for np.exp"),
    calls_a_plain_function: (
        "plain_helper is a plain function, without @cuda.jit(device=True)",
        "above each function that a kernel calls",
    ),
    makes_a_list: ("a list has no append", "Threads have no lists"),
    reads_a_list_of_the_file: (
        "NUMBERS is a list, which a kernel cannot take from outside",
        "a tuple, or an array as an argument",
    ),
    writes_a_table_of_the_file: (
        "an array that is not an argument of the kernel cannot be changed",
        "as an argument",
    ),
    imports: ("no compiler for a GPU takes `import` in a kernel", "a part of Python"),
    stores_none: ("none cannot be stored in an element of an array of float32", "without `return`"),
    calls_below: ("np.sqrt works on whole arrays, and not on one number", "math.exp for np.exp"),
}


def launched(kernel, *grid: object):
    dtype = np.int32 if kernel is counts_up else np.float32
    kernel[grid or (1, 1)](device_array(np.ones(4, dtype), lambda: None, "x"))


def line_below(kernel) -> int:
    """The line with `# here` of a kernel, or of the function that it calls."""
    function = asks_numpy_below if kernel is calls_below else kernel
    first = function.py_func.__code__.co_firstlineno
    with open(__file__, encoding="utf-8") as lines:
        return next(n for n, line in enumerate(lines, 1) if n > first and "# here" in line)


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.py_func.__name__)
def test_what_numba_refuses_is_refused_at_its_line_in_one_sentence(kernel):
    said, hint = REFUSED[kernel]
    with pytest.raises(Exception) as caught:  # noqa: PT011  of any kind: the judge describes it
        launched(kernel)
    failure = from_fault(describe(caught.value, __file__), "numba")
    assert (failure.kind, failure.message) == ("compile", f"the kernel cannot be compiled: {said}")
    assert failure.frames[-1].line == line_below(kernel)
    assert hint in failure.hint


def test_a_refusal_is_found_once_for_each_kind_of_arguments():
    launched(is_fine)
    overloads = dict(is_fine.overloads)
    launched(is_fine)
    assert len(overloads) == len(is_fine.overloads) == 1


@pytest.mark.parametrize("grid", [(np.int64(1), 1), (1, np.int32(1))], ids=["blocks", "threads"])
def test_a_launch_takes_whole_numbers_of_pythons(grid):
    kernel = cuda.jit(is_fine.py_func)  # numba takes 1 of numpy's where it took Python's before
    with pytest.raises(LaunchRefused, match=r"is a number of numpy's, np\.int.*Python's: int"):
        launched(kernel, *grid)


@pytest.mark.parametrize("given", [None, "text", [1.0], {"a": 1}, plain_helper])
def test_an_argument_that_no_launch_passes_is_refused(given):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        is_fine[1, 1](given)
    assert describe(caught.value, __file__).kind in ("compile", "exception")


@cuda.jit
def asserts(x):
    assert x[0] < 0, "below zero"


def test_an_assertion_of_the_learners_own_is_theirs():
    with pytest.raises(AssertionError, match="below zero"):
        launched(asserts)


@cuda.jit
def divides_whole_numbers(x):
    x[0] = x.size // (x.size - x.size)


@cuda.jit
def divides_floats(x):
    zero = 0.0
    x[0] = 1.0 / zero


def test_a_whole_number_over_0_is_the_learners_and_a_float_is_not():
    with pytest.raises(ZeroDivisionError):
        launched(divides_whole_numbers)
    because = "numba compiles this kernel, and the simulator cannot run it .float division by zero"
    with pytest.raises(NotSimulated, match=because):
        launched(divides_floats)


@cuda.jit
def links(x):
    x[0] = int32(1)


def test_code_of_other_languages_is_not_simulated():
    kernel = cuda.jit(links.py_func, link=["other.cu"])
    with pytest.raises(NotSimulated, match="link="):
        launched(kernel)
