"""Hand-made traces for the tests of the pictures: what a simulator would tell of small kernels.

`python tests/traces.py FOLDER` writes each as a page and as a drawing, to be looked at. With the
folder tests/drawings it writes the drawings that the tests hold the code to.
"""

from __future__ import annotations

from grader.model.results import Failure
from grader.model.trace import Access, Array, Launch, Trace, Wrong

MAP = """\
from numba import cuda


@cuda.jit
def add_ten_kernel(a, out):
    i = cuda.threadIdx.x
    out[i] = a[i] + 10


def add_ten(a, out):
    add_ten_kernel[1, 4](a, out)
"""
GUARD = MAP.replace("cuda.threadIdx.x", "cuda.grid(1)").replace("[1, 4]", "[2, 3]")
SWAP = """\
from numba import cuda


@cuda.jit
def copy_kernel(a, out):
    x, y = cuda.grid(2)
    if x < 2 and y < 2:
        out[x, y] = a[y, x]


def copy(a, out):
    copy_kernel[(2, 1), (2, 2)](a, out)
"""
TWO_STEPS = """\
from numba import cuda, float32


@cuda.jit
def reverse_kernel(a, out):
    tile = cuda.shared.array(4, float32)
    i = cuda.threadIdx.x
    start = cuda.blockIdx.x * 4
    tile[i] = a[start + i]
    cuda.syncthreads()
    out[start + i] = tile[3 - i]


def reverse(a, out):
    reverse_kernel[2, 4](a, out)
"""
BACK = MAP.replace("a[i] + 10", "a[i] + a[i - 1]").replace("add_ten", "pairs").replace("4]", "3]")
RACE = TWO_STEPS.replace("    cuda.syncthreads()\n", "")


def _touch(array: int, element: int | None, kind: str, line: int, **more: object) -> dict:
    fields = {"launch": 0, "step": 0, "block": 0, "thread": 0}
    return fields | {"array": array, "element": element, "kind": kind, "line": line} | more


def _trace(source: str, accesses: list[dict], **more: object) -> Trace:
    return Trace(
        source=tuple(source.splitlines()),
        accesses=tuple(Access(**access) for access in accesses),
        **more,
    )


def _array(name: str, role: str, *shape: int) -> Array:
    space = "shared" if role == "shared" else "global"
    return Array(name=name, space=space, shape=shape, role=role)


def good_map() -> Trace:
    """Each thread reads its element and writes its element."""
    return _trace(
        MAP,
        [
            _touch(array, i, kind, 7, thread=i)
            for i in range(4)
            for array, kind in ((0, "read"), (1, "write"))
        ],
        exercise="p01_map",
        case="4 float32",
        launches=(Launch(kernel="add_ten_kernel", grid=(1, 1, 1), block=(4, 1, 1)),),
        arrays=(_array("a", "in", 4), _array("out", "out", 4)),
    )


def missing_guard() -> Trace:
    """Six threads for five elements, and no guard: the simulation ends at the sixth thread."""
    accesses = [
        _touch(array, i, kind, 7, block=i // 3, thread=i % 3)
        for i in range(5)
        for array, kind in ((0, "read"), (1, "write"))
    ]
    beyond = _touch(0, None, "read", 7, block=1, thread=2, index=(5,), fault="out_of_bounds")
    return _trace(
        GUARD,
        [*accesses, beyond],
        exercise="p03_guard",
        case="5 float32",
        launches=(Launch(kernel="add_ten_kernel", grid=(2, 1, 1), block=(3, 1, 1)),),
        arrays=(_array("a", "in", 5), _array("out", "out", 5)),
        failure=Failure(kind="out_of_bounds", message="A thread reads past the end of `a`."),
    )


def two_steps(race: bool = False) -> Trace:
    """Two blocks turn round four elements each, in shared memory, with a barrier or without."""
    accesses = []
    late = 0 if race else 1
    for block in range(2):
        for i in range(4):
            who = {"block": block, "thread": i}
            accesses.append(_touch(0, 4 * block + i, "read", 9, **who))
            accesses.append(_touch(2, i, "write", 9, **who))
            if race:
                accesses += _turned(block, i, late)
        if not race:
            for i in range(4):
                accesses += _turned(block, i, late)
    return _trace(
        RACE if race else TWO_STEPS,
        accesses,
        exercise="p10_shared",
        case="8 float32",
        launches=(Launch(kernel="reverse_kernel", grid=(2, 1, 1), block=(4, 1, 1)),),
        arrays=(_array("a", "in", 8), _array("out", "out", 8), _array("tile", "shared", 4)),
        failure=Failure(kind="race", message="Threads race for `tile`.") if race else None,
    )


def _turned(block: int, i: int, step: int) -> list[dict]:
    who = {"block": block, "thread": i, "step": step}
    # With a barrier that is line 11, without one line 10. Thread 3 writes first what 0 reads.
    fault = "" if step else "uninitialised" if 3 - i > i else "race"
    return [
        _touch(2, 3 - i, "read", 10 + step, fault=fault, **who),
        _touch(1, 4 * block + i, "write", 10 + step, **who),
    ]


def missing_barrier() -> Trace:
    return two_steps(race=True)


def swapped() -> Trace:
    """x and y swapped, and an array of 2 × 3 of which only 2 × 2 are written."""
    accesses = []
    for block in range(2):
        for thread in range(4):
            x, y = 2 * block + thread % 2, thread // 2
            if x < 2:
                who = {"block": block, "thread": thread}
                accesses.append(_touch(0, 3 * y + x, "read", 8, **who))
                accesses.append(_touch(1, 3 * x + y, "write", 8, **who))
    return _trace(
        SWAP,
        accesses,
        exercise="p04_map_2d",
        case="2 × 3 float32",
        launches=(Launch(kernel="copy_kernel", grid=(2, 1, 1), block=(2, 2, 1)),),
        arrays=(_array("a", "in", 2, 3), _array("out", "out", 2, 3)),
        wrong={
            "out": (
                Wrong(element=1, expected="1.0", got="3.0"),
                Wrong(element=3, expected="3.0", got="1.0"),
            )
        },
        unwritten={"out": (2, 5)},
        failure=Failure(kind="wrong", message="4 of 6 elements of `out` are wrong."),
    )


def empty() -> Trace:
    """A kernel that does nothing."""
    return _trace(
        MAP,
        [],
        exercise="p01_map",
        case="4 float32",
        launches=(Launch(kernel="add_ten_kernel", grid=(1, 1, 1), block=(4, 1, 1)),),
        arrays=(_array("out", "out", 4),),
        unwritten={"out": (0, 1, 2, 3)},
        failure=Failure(kind="unwritten", message="`out` was never written."),
    )


def many() -> Trace:
    """A grid-stride loop over 100 elements, a sum that all threads update, and two launches."""
    accesses = [
        _touch(array, i, kind, 7, block=i // 4 % 3, thread=i % 4)
        for i in range(100)
        for array, kind in ((0, "read"), (1, "write"))
    ]
    accesses += [
        _touch(2, 0, "update", 6, launch=1, block=thread // 4, thread=thread % 4)
        for thread in range(8)
    ]
    return _trace(
        MAP,
        accesses,
        exercise="p08_stride",
        case="100 float32",
        launches=(
            Launch(kernel="stride_kernel", grid=(3, 1, 1), block=(4, 1, 1)),
            Launch(kernel="sum_kernel", grid=(2, 1, 1), block=(4, 1, 1)),
        ),
        arrays=(
            _array("a", "in", 100),
            _array("out", "out", 10, 10),
            _array("total", "inout", 1),
        ),
        cut=12,
    )


def outside_a_table() -> Trace:
    """Two dimensions, an index below 0 and one past the end, and an array without elements."""
    return _trace(
        SWAP,
        [
            _touch(0, 0, "read", 8),
            _touch(0, None, "read", 8, thread=1, index=(-1, 0), fault="out_of_bounds"),
            _touch(0, None, "read", 8, thread=2, index=(0, 3), fault="out_of_bounds"),
            _touch(1, None, "write", 8, thread=1, index=(-1,), fault="out_of_bounds"),
            _touch(2, None, "write", None, thread=3, index=(0,), fault="out_of_bounds"),
            *(_touch(3, 0, "update", 8, thread=thread) for thread in (0, 0, 2)),
            _touch(3, 1, "update", 8, thread=3),
            _touch(3, 1, "update", 8, thread=3),
        ],
        exercise="p04_map_2d",
        case="2 × 3 float32",
        launches=(Launch(kernel="copy_kernel", grid=(1, 1, 1), block=(2, 2, 1)),),
        arrays=(
            _array("a", "in", 2, 3),
            _array("out", "out", 3),
            _array("none", "scratch", 0),
            _array("count", "inout", 2),
        ),
        failure=Failure(kind="out_of_bounds", message="A thread reads outside of `a`."),
    )


def below_zero() -> Trace:
    """Thread 0 looks back one element, and an index below 0 counts from the end."""
    return _trace(
        BACK,
        [
            touch
            for i in range(3)
            for touch in (
                _touch(0, i, "read", 7, thread=i),
                _touch(0, (i - 1) % 3, "read", 7, thread=i, fault="" if i else "from_end"),
                _touch(1, i, "write", 7, thread=i),
            )
        ],
        exercise="p11_pooling",
        case="3 float32",
        launches=(Launch(kernel="pairs_kernel", grid=(1, 1, 1), block=(3, 1, 1)),),
        arrays=(_array("a", "in", 3), _array("out", "out", 3)),
        wrong={"out": (Wrong(element=0, expected="1.0", got="4.0"),)},
        failure=Failure(kind="value", message="out[0] is wrong"),
    )


def hostile() -> Trace:
    """Names, source and messages that would be markup if anyone read them so."""
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>[red]&amp;`"
    return _trace(
        f"x = {evil!r}",
        [_touch(0, 0, "read", 1), _touch(0, None, "read", 1, index=(1,), fault="out_of_bounds")],
        exercise=evil,
        case=evil,
        launches=(Launch(kernel=evil, grid=(1, 1, 1), block=(1, 1, 1)),),
        arrays=(_array(evil, "inout", 1),),
        wrong={evil: (Wrong(element=0, expected=evil, got=evil),)},
        failure=Failure(kind=evil, message=evil),
    )


ALL = {
    each.__name__: each
    for each in (
        good_map,
        missing_guard,
        two_steps,
        missing_barrier,
        swapped,
        empty,
        many,
        outside_a_table,
        below_zero,
    )
}


if __name__ == "__main__":
    import sys
    from pathlib import Path

    from grader.reports.trace_html import page
    from grader.reports.trace_terminal import drawing

    folder = Path(sys.argv[1])
    for name, make in ALL.items():
        (folder / f"{name}.txt").write_text(drawing(make()).plain, encoding="utf-8")
        if folder.name != "drawings":
            (folder / f"{name}.html").write_text(page(make()), encoding="utf-8")
