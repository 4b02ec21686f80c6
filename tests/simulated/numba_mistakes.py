"""Common slips in numba's simulator; tests/backends/numba/test_simulator.py runs this file."""

import math

import numpy as np
import pytest
import torch
from numba import cuda, float32

from grader.backends.numba.refusals import NotCompiled
from grader.backends.numba.simulator import setup
from grader.backends.numba.simulator.device_arrays import device_array
from grader.backends.numba.simulator.launch_limits import LaunchRefused
from grader.sandbox.failures import from_fault
from grader.worker.faults import describe
from grader.worker.races import Race

setup.install()

WIDTH = 4
PAIR = (4, 5)
MISTAKEN = (
    TypeError,
    ValueError,
    IndexError,
    NameError,
    AttributeError,
    LaunchRefused,
    NotCompiled,
)
SOME = device_array(np.zeros(4, np.float32), lambda: None, "a")


@cuda.jit
def indexes_with_a_triple(x):
    i = cuda.threadIdx
    x[i] = 1.0


@cuda.jit
def forgets_cuda(x):
    x[threadIdx.x] = 1.0  # noqa: F821


@cuda.jit
def appends(x):
    x.append(1.0)


@cuda.jit
def divides_an_index(x):
    x[cuda.threadIdx.x / 2] = 1.0


@cuda.jit
def adds_arrays(x):
    x[0] = (x - x)[0]


@cuda.jit
def adds_to_an_array(x):
    x[0] = x + 1


@cuda.jit
def forgets_the_dtype(x):
    cuda.shared.array(4)


@cuda.jit
def forgets_the_dtype_of_its_own(x):
    cuda.local.array(4)


@cuda.jit
def asks_for_as_many_as_elements(x):
    cuda.shared.array((x.shape[0], 2), float32)


@cuda.jit
def asks_for_as_many_as_told(x):
    cuda.local.array(shape=len(x), dtype=float32)


@cuda.jit
def asks_for_one_more(x):
    cuda.shared.array((WIDTH, WIDTH + 1), float32)


@cuda.jit
def asks_for_what_it_computed(x):
    width = 2 * WIDTH
    cuda.local.array(width, float32)


@cuda.jit
def asks_for_a_block(x):
    cuda.shared.array(cuda.blockDim.x, float32)


@cuda.jit
def asks_for_the_larger(x):
    cuda.shared.array(max(WIDTH, 2), float32)


@cuda.jit
def exp_of_no_module(x):
    x[0] = exp(x[0])  # noqa: F821


@cuda.jit(device=True)
def fills(x):
    x[0] = 1.0


@cuda.jit
def indexes_nothing(x):
    x[0] = fills(x)[0]


@cuda.jit
def two_sizes(x):
    tile = cuda.shared.array(32, 33, float32)
    x[0] = tile[0, 0]


@cuda.jit
def returns_its_answer(x):
    return x[0]


@cuda.jit
def shuffles_by_a_fraction(x):
    x[0] = cuda.shfl_down_sync(0xFFFFFFFF, x[0], 16 / 2)


@cuda.jit
def shuffles_the_mask(x):
    x[0] = cuda.shfl_xor_sync(x[0], 0xFFFFFFFF, 1)


def no_kernel(x):
    """Nobody wrote @cuda.jit above it."""


@cuda.jit
def calls_a_number(x):
    x[cuda.threadIdx.x()] = 1.0


@cuda.jit
def calls_a_length(x):
    x[0] = x.size()


@cuda.jit
def forgets_an_index(x):
    x[0] = x


@cuda.jit
def has_an_index_too_many(x):
    x[0, 1] = 1.0


@cuda.jit
def asks_for_two_axes(x):
    i = cuda.grid(2)
    if i < x.size:
        x[i] = 1.0


@cuda.jit
def compares_with_a_shape(x):
    if cuda.grid(1) < x.shape:
        x[0] = 1.0


@cuda.jit
def reckons_with_triples(x):
    x[cuda.blockIdx * cuda.blockDim + cuda.threadIdx] = 1.0


@cuda.jit
def asks_torch(x):
    x[0] = torch.exp(x[0])


@cuda.jit
def nothing(x):
    cuda.shared.array(4, float32)


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "hint"),
    [
        (indexes_with_a_triple, 1, 1, "has the parts .x, .y and .z"),
        (forgets_cuda, 1, 1, "names of threads and blocks begin with `cuda.`"),
        (appends, 1, 1, "It cannot grow: write out[i] = value"),
        (divides_an_index, 1, 1, "/ gives no whole number, but // does"),
        (adds_arrays, 1, 1, "single elements, such as a[i], not with whole arrays"),
        (adds_to_an_array, 1, 1, "single elements, such as a[i], not with whole arrays"),
        (exp_of_no_module, 1, 1, "write `import math`"),
        (indexes_nothing, 1, 1, "call it alone"),
        (two_sizes, 1, 1, "one argument, a tuple"),
        (returns_its_answer, 1, 1, "writes its answer into an array"),
        (forgets_the_dtype, 1, 1, "such as cuda.shared.array(64, float32)"),
        (forgets_the_dtype_of_its_own, 1, 1, "such as cuda.shared.array(64, float32)"),
        (asks_for_as_many_as_elements, 1, 1, "a constant of the file"),
        (asks_for_as_many_as_told, 1, 1, "a constant of the file"),
        (asks_for_one_more, 1, 1, "outside of the kernel, such as WIDTH = TILE + 1"),
        (asks_for_what_it_computed, 1, 1, "outside of the kernel"),
        (asks_for_a_block, 1, 1, "outside of the kernel"),
        (asks_for_the_larger, 1, 1, "outside of the kernel"),
        (shuffles_by_a_fraction, 1, 1, "/ gives no whole number, but // does"),
        (shuffles_the_mask, 1, 1, "first comes a mask"),
        (no_kernel, 1, 1, "Only a function with @cuda.jit above it is a kernel"),
        (calls_a_number, 1, 1, "cuda.threadIdx.x and a.size, for example, are numbers"),
        (calls_a_length, 1, 1, "cuda.threadIdx.x and a.size, for example, are numbers"),
        (forgets_an_index, 1, 1, "is an index missing, as in a[i]?"),
        (has_an_index_too_many, 1, 1, "A row of elements takes one index, a[i]"),
        (asks_for_two_axes, 1, 1, "but cuda.grid(2) two: x, y = cuda.grid(2)"),
        (compares_with_a_shape, 1, 1, "one for each dimension, such as a.shape[0]"),
        (reckons_with_triples, 1, 1, "have the parts .x, .y and .z, each a number"),
        (asks_torch, 1, 1, "math.exp for torch.exp"),
        (nothing, 33 / 32, 32, "The number of blocks must be whole"),
        (nothing, None, 32, "which a function without `return` gives"),
        (nothing, 1, SOME, "neither may be an array, whose length is a.size"),
        (nothing, 0, 32, "Does the number of blocks round up?"),
        (nothing, 32, 0, "1 to 1,024 threads in each"),
        (nothing, 1, 64 / 2, "The number of threads must be whole"),
    ],
)
def test_a_common_mistake_has_a_hint(kernel, grid, block, hint):
    array = device_array(np.zeros(4, np.float32), lambda: None, "x")
    with pytest.raises(MISTAKEN) as caught:
        kernel[grid, block](array)
    failure = from_fault(describe(caught.value, __file__), "numba")
    assert hint in (failure.hint or "")


@cuda.jit
def asks_for_no_axis(x):
    x[0] = cuda.grid()


@cuda.jit
def leaves_the_mask_out(x):
    x[0] = cuda.shfl_down_sync(x[0], 1)


@cuda.jit
def adds_to_an_element(x):
    cuda.atomic.add(x[0], 1.0)


@cuda.jit
def names_no_operation(x):
    cuda.atomic(x, 0, 1.0)


@cuda.jit
def misspells_an_operation(x):
    cuda.atomic.ad(x, 0, 1.0)


@pytest.mark.parametrize(
    ("kernel", "message", "hint"),
    [
        (asks_for_no_axis, "cuda.grid() missing 1 required", "cuda.grid(2) gives two numbers"),
        (leaves_the_mask_out, "cuda.shfl_down_sync() missing 1", "(mask, value, by)"),
        (adds_to_an_element, "cuda.atomic.add() missing 1", "(array, index, value)"),
        (names_no_operation, "'cuda.atomic' object is not callable", "cuda.atomic.add(array"),
        (misspells_an_operation, "'cuda.atomic' object has no attribute 'ad'", "cuda.atomic.add("),
        (forgets_the_dtype, "cuda.shared.array() missing 1", "such as cuda.shared.array("),
        (forgets_the_dtype_of_its_own, "cuda.local.array() missing 1", "the type of its elements"),
    ],
)
def test_what_is_wrongly_called_has_the_name_by_which_it_was_called(kernel, message, hint):
    """And not one of the simulator's inside, which no file and no lesson mentions."""
    array = device_array(np.zeros(4, np.float32), lambda: None, "x")
    with pytest.raises((TypeError, AttributeError)) as caught:
        kernel[1, 1](array)
    failure = from_fault(describe(caught.value, __file__), "numba")
    assert message in failure.message
    assert "Fake" not in failure.message
    assert hint in failure.hint


@cuda.jit
def all_write_one(x):
    x[0] = cuda.threadIdx.x


@cuda.jit
def all_write_one_in_turns(x):
    for turn in range(2):
        x[0] = cuda.threadIdx.x + turn


@cuda.jit
def clears_and_writes(x):
    if cuda.threadIdx.x == 0:
        x[1] = 0.0
    if cuda.threadIdx.x == 1:
        x[1] = 1.0


@cuda.jit
def reads_a_neighbours(x):
    x[cuda.threadIdx.x] = x[cuda.threadIdx.x - 1]


@cuda.jit
def forgets_the_block(x):
    x[cuda.threadIdx.x] = cuda.blockIdx.x


BARRIER = "Put a barrier that all threads come to between the two"


@pytest.mark.parametrize(
    ("kernel", "blocks", "hint"),
    [
        (all_write_one, 1, "Let each thread write an element of its own, or only one of them"),
        (all_write_one_in_turns, 1, BARRIER),
        (clears_and_writes, 1, BARRIER),
        (reads_a_neighbours, 1, BARRIER),
        (forgets_the_block, 2, "is the block's number missing in the index?"),
    ],
)
def test_a_barrier_is_advised_only_where_one_can_help(kernel, blocks, hint):
    array = device_array(np.zeros(4, np.float32), lambda: None, "x")
    with pytest.raises(Race) as caught:
        kernel[blocks, 2](array)
    given = from_fault(describe(caught.value, __file__), "numba").hint
    assert hint in given
    assert (BARRIER in given) == (hint == BARRIER)


@cuda.jit
def asks_for_what_is_known(x):
    """All that numba-cuda 0.30 compiles."""
    width = WIDTH
    shared = cuda.shared.array((WIDTH, 2 + 1), float32)
    local = cuda.local.array(shape=width, dtype=float32)
    pair = cuda.local.array(PAIR, float32)
    part = cuda.local.array((PAIR[0], 2), float32)
    chosen = cuda.local.array(WIDTH if WIDTH > 3 else 1, float32)
    x[0] = shared.shape[1] + local.shape[0]
    x[1] = pair.size + part.size + chosen.size


def test_a_constant_of_the_file_is_known_before_the_kernel_runs():
    held = np.zeros(4, np.float32)
    asks_for_what_is_known[1, 1](device_array(held, lambda: None, "x"))
    assert held[0] == 7
    assert held[1] == 4 * 5 + 4 * 2 + 4


@pytest.mark.parametrize("brackets", [(3,), 3], ids=["a tuple of one", "a number"])
def test_a_launch_without_threads_has_a_hint(brackets):
    with pytest.raises((TypeError, ValueError)) as caught:
        appends[brackets](SOME)
    failure = from_fault(describe(caught.value, __file__), "numba")
    assert "kernel[blocks, threads](...)" in failure.hint


def test_an_error_of_another_kind_has_none():
    assert from_fault(describe(KeyError("speed"), __file__), "numba").hint is None


@cuda.jit
def adds_up_by_numpy(x):
    x[0] = np.dot(x, x)


@cuda.jit
def adds_up_by_a_ufunc(x):
    x[0] = np.add.reduce(x)


@cuda.jit
def goes_around(x):
    x[0] = x.base[0]


@cuda.jit
def knows_its_array(x):
    x[0] = x.ndim + x.strides[0] + x.nbytes + x.itemsize + math.sqrt(x[1])


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (adds_up_by_numpy, "this function of numpy's"),
        (adds_up_by_a_ufunc, "np.add.reduce"),
        (goes_around, ".base"),
    ],
)
def test_a_kernel_works_on_elements(kernel, what):
    """On a GPU none of these compiles; here numpy would do all the work, on one thread."""
    array = device_array(np.zeros(4, np.float32), lambda: None, "x")
    with pytest.raises(TypeError) as caught:
        kernel[1, 1](array)
    assert str(caught.value).startswith(f"{what} cannot be used on an array in a kernel: ")


def test_a_kernel_may_ask_what_its_array_is_like():
    held = np.array([0, 9], np.float32)
    knows_its_array[1, 1](device_array(held, lambda: None, "x"))
    assert held[0] == 1 + 4 + 8 + 4 + 3
