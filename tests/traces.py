"""Hand-made traces for the tests of the pictures: what a simulator would tell of small kernels.

`python tests/traces.py FOLDER` writes each as a page and as a drawing, to be looked at. With the
folder tests/drawings it writes the drawings that the tests hold the code to.
"""

from __future__ import annotations

from grader.model.results import Failure, Frame
from grader.model.trace import (
    Access,
    Act,
    Array,
    Launch,
    Operation,
    Part,
    Stopped,
    Trace,
    Turn,
    Wrong,
)

MAP = """\
from numba import cuda


@cuda.jit
def add_ten_kernel(a, out):
    i = cuda.threadIdx.x
    out[i] = a[i] + 10


def add_ten(a, out):
    add_ten_kernel[1, 4](a, out)
"""
GUARD = MAP.replace("cuda.threadIdx.x", "cuda.grid(1)").replace("[1, 4]", "[3, 3]")
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
            _touch(array, i, kind, 7, thread=i, value=f"{i + array * 10}")
            for i in range(4)
            for array, kind in ((0, "read"), (1, "write"))
        ],
        exercise="p01_map",
        case="4 elements of float32",
        launches=(Launch(kernel="add_ten_kernel", grid=(1, 1, 1), block=(4, 1, 1)),),
        arrays=(_array("a", "in", 4), _array("out", "out", 4)),
    )


def missing_guard() -> Trace:
    """Nine threads for five elements, and no guard: the simulation ends at the sixth thread."""
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
        case="5 elements of float32",
        launches=(Launch(kernel="add_ten_kernel", grid=(3, 1, 1), block=(3, 1, 1)),),
        arrays=(_array("a", "in", 5), _array("out", "out", 5)),
        failure=Failure(kind="out_of_bounds", message="A thread reads past the end of `a`."),
        stopped=Stopped(launch=0, step=0, block=1, threads=(), blocks=(2,)),
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
        case="8 elements of float32",
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
        case="2 × 3 in float32",
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
        case="4 elements of float32",
        launches=(Launch(kernel="add_ten_kernel", grid=(1, 1, 1), block=(4, 1, 1)),),
        arrays=(_array("out", "out", 4),),
        unwritten={"out": (0, 1, 2, 3)},
        failure=Failure(kind="unwritten", message="`out` was never written."),
    )


def undefined_name() -> Trace:
    """A kernel whose first line uses a name that the file does not have."""
    frames = (
        Frame(line=12, function="add_ten", code="add_ten_kernel[1, a.size](a, out)"),
        Frame(line=7, function="add_ten_kernel", code="out[i] = np.add(a[i], 10)"),
    )
    return _trace(
        MAP,
        [_touch(0, 0, "read", 7)],
        exercise="p01_map",
        case="4 elements of float32",
        launches=(Launch(kernel="add_ten_kernel", grid=(1, 1, 1), block=(4, 1, 1)),),
        arrays=(_array("a", "in", 4), _array("out", "out", 4)),
        failure=Failure(
            kind="exception", message="NameError: name 'np' is not defined", frames=frames
        ),
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
        case="100 elements of float32",
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
        case="2 × 3 in float32",
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
        case="3 elements of float32",
        launches=(Launch(kernel="pairs_kernel", grid=(1, 1, 1), block=(3, 1, 1)),),
        arrays=(_array("a", "in", 3), _array("out", "out", 3)),
        wrong={"out": (Wrong(element=0, expected="1.0", got="4.0"),)},
        failure=Failure(kind="value", message="out[0] is wrong"),
    )


ADD = """\
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x + 10, mask=offsets < n)
"""
ROWS = """\
import triton
import triton.language as tl


@triton.jit
def row_kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    highest = float("-inf")
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=float("-inf"))
        highest = tl.maximum(highest, tl.max(x, axis=0))
    tl.store(out_ptr + row, highest)
"""
TILE = """\
import triton
import triton.language as tl


@triton.jit
def tile_kernel(x_ptr, out_ptr, rows, columns):
    row, column = tl.arange(0, 4)[:, None], tl.arange(0, 4)[None, :]
    inside = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row * columns + column, mask=inside)
    tl.store(out_ptr + column * columns + row, x, mask=inside)
"""


class _Programs:
    """A trace of programs in the making: each `act` adds one, with an access for each lane."""

    def __init__(self, source: str, launch: Launch, arrays: tuple[Array, ...]) -> None:
        self.source, self.launch, self.arrays = source, launch, arrays
        self.operations: list[Operation] = []
        self.acts: list[Act] = []
        self.accesses: list[dict] = []

    def operation(self, kind: str, line: int, shape: tuple[int, ...], name: str = "") -> int:
        self.operations.append(Operation(launch=0, kind=kind, line=line, shape=shape, name=name))
        return len(self.operations) - 1

    def act(
        self,
        operation: int,
        block: int,
        array: int,
        lanes: dict[int, int | tuple[int, ...]],
        step: int = 0,
        values: dict[int, str] | None = None,
        fault: str = "",
        **more: object,
    ) -> None:
        """Add an act: `lanes` maps each active lane to its element, or to its index outside."""
        kinds = {"load": "read", "store": "write", "atomic": "update"}
        does = self.operations[operation]
        for lane, at in lanes.items():
            outside = isinstance(at, tuple)
            self.accesses.append(
                _touch(
                    array,
                    None if outside else at,
                    kinds[does.kind],
                    does.line,
                    step=step,
                    block=block,
                    thread=lane,
                    index=at if outside else (),
                    fault="out_of_bounds" if outside else fault,
                    value=(values or {}).get(lane, ""),
                    act=len(self.acts),
                )
            )
        active = len(lanes)
        self.acts.append(
            Act(launch=0, step=step, block=block, operation=operation, active=active, **more)
        )

    def trace(self, exercise: str, case: str, **more: object) -> Trace:
        return _trace(
            self.source,
            self.accesses,
            exercise=exercise,
            case=case,
            unit="lanes",
            launches=(self.launch,),
            arrays=self.arrays,
            operations=tuple(self.operations),
            acts=tuple(self.acts),
            **more,
        )


def _programs(
    source: str, kernel: str, grid: int, block: int, *arrays: Array, parts: int = 1
) -> _Programs:
    launch = Launch(kernel=kernel, grid=(grid, 1, 1), block=(block, 1, 1), parts=(Part(),) * parts)
    return _Programs(source, launch, arrays)


def programs(masked: bool = True) -> Trace:
    """Three programs of four lanes for ten elements, with a mask or stopped without one."""
    of = _programs(ADD, "add_kernel", 3, 4, _array("x", "in", 10), _array("out", "out", 10))
    load, store = of.operation("load", 8, (4,), "x"), of.operation("store", 9, (4,))
    for operation, array in ((load, 0), (store, 1)):
        for block in range(3):
            places = {lane: 4 * block + lane for lane in range(4)}
            if masked:
                inside = {lane: at for lane, at in places.items() if at < 10}
                values = {lane: f"{at + 10 * array}.5" for lane, at in inside.items()}
                of.act(operation, block, array, inside, values=values, other="0")
            else:
                inside = {lane: at if at < 10 else (at,) for lane, at in places.items()}
                of.act(operation, block, array, inside, stopped=True)
        if not masked:
            break
    if masked:
        return of.trace("01_vector_add", "10 elements of float32")
    return of.trace(
        "01_vector_add",
        "10 elements of float32",
        failure=Failure(kind="out_of_bounds", message=PAST),
        stopped=Stopped(launch=0, step=0, block=2, threads=(), blocks=(), operations=(store,)),
    )


PAST = (
    "load reads 2 elements past the end of x (x spans 10 elements); 2 of 4 active lanes are "
    "outside: is the mask missing?"
)


def missing_mask() -> Trace:
    return programs(masked=False)


def loop_over_blocks() -> Trace:
    """Two rows of six elements, in two turns of a loop each; a maximum that is wrong at the end."""
    of = _programs(ROWS, "row_kernel", 2, 4, _array("x", "in", 2, 6), _array("out", "out", 2))
    turns = [Part(loops=(Turn(line=9, turn=turn),)) for turn in range(2)]
    of.launch = of.launch.model_copy(update={"parts": (*turns, Part())})
    load, top = of.operation("load", 11, (4,), "x"), of.operation("reduce", 12, (), "")
    store = of.operation("store", 13, ())
    for turn in range(2):
        for row in range(2):
            lanes = {lane: 6 * row + 4 * turn + lane for lane in range(4 - 2 * turn)}
            values = {lane: f"{at}" for lane, at in lanes.items()}
            of.act(load, row, 0, lanes, turn, values, other="-inf")
        for row in range(2):
            of.acts.append(
                Act(launch=0, step=turn, block=row, operation=top, active=1, results=(f"{row}.25",))
            )
    for row in range(2):
        of.act(store, row, 1, {0: row}, 2, {0: f"{row}.25"})
    return of.trace(
        "p_rows",
        "2 × 6 in float32",
        wrong={"out": (Wrong(element=1, expected="11", got="1.25"),)},
        failure=Failure(kind="value", message="out[1] is wrong"),
    )


def tile() -> Trace:
    """A tile of 4 × 4 lanes for 3 × 3 elements, of which two are stored though undefined."""
    of = _programs(TILE, "tile_kernel", 1, 16, _array("x", "in", 3, 3), _array("out", "out", 3, 3))
    load, store = of.operation("load", 9, (4, 4), "x"), of.operation("store", 10, (4, 4))
    here = {4 * row + column: 3 * row + column for row in range(3) for column in range(3)}
    there = {4 * row + column: 3 * column + row for row in range(3) for column in range(3)}
    of.act(load, 0, 0, here, values={lane: f"{at}" for lane, at in here.items()})
    of.act(store, 0, 1, there, values=dict.fromkeys(there, "nan"))
    of.accesses[-1]["fault"] = of.accesses[-4]["fault"] = "undefined"
    return of.trace("t03_tile", "3 × 3 in float32")


def racing_programs() -> Trace:
    """Two programs that write one element, one that counts atomically, and a block of 2,048."""
    of = _programs(
        ADD, "add_kernel", 2, 2048, _array("out", "out", 2048), _array("count", "inout", 1)
    )
    store, count = of.operation("store", 9, (2048,)), of.operation("atomic", 8, ())
    for block in range(2):
        of.act(count, block, 1, {0: 0}, values={0: "2"})
    for block in range(2):
        lanes = {lane: lane for lane in (*range(40), *range(2000, 2048))}
        of.act(store, block, 0, lanes, values={lane: f"{lane}" for lane in lanes}, stopped=True)
        of.accesses[-48]["fault"] = "race"
    of.acts[-2:] = [act.model_copy(update={"active": 2048}) for act in of.acts[-2:]]
    return of.trace(
        "01_vector_add",
        "2,048 elements of float32",
        failure=Failure(kind="race", message="Two programs write out[2000]."),
        cut=3920,
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
        undefined_name,
        many,
        outside_a_table,
        below_zero,
        programs,
        missing_mask,
        loop_over_blocks,
        tile,
        racing_programs,
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
