"""A call of a kernel: run thread by thread, and compiled as for a GPU.

What the compiler refuses fails, even if it ran: no GPU could run it. What it takes and Python
cannot run is not simulated. A mistake that both notice is reported as the simulation found it.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import grader
from grader.backends.numba.simulator import launched
from grader.backends.numba.simulator.block import Block
from grader.backends.numba.simulator.device_arrays import of_part
from grader.backends.numba.simulator.internals import Kernel, compiled_for
from grader.backends.numba.simulator.launch_limits import (
    LaunchRefused,
    check_bounds,
    check_together,
)
from grader.backends.numba.simulator.module import Cuda, unknown
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.backends.numba.simulator.running import launching, running

_GRADER = str(Path(grader.__file__).parent)
_call_unconfigured = Kernel.__call__
# Where Python differs from what numba compiles.
_OF_PYTHON = (
    TypeError,
    AttributeError,
    NameError,
    ArithmeticError,
    ValueError,
    NotImplementedError,
)


def call(kernel: Any, args: tuple[Any, ...], configuration: Any) -> None:
    """Launch a kernel, in place of numba's `CUDADispatcher.call`."""
    try:
        _simulate(kernel, args, configuration)
    except NotSimulated:
        compiled_for(kernel, args, configuration)
        raise
    except _OF_PYTHON as error:
        if isinstance(error, AttributeError) and isinstance(error.obj, Cuda):
            error.args = (unknown(str(error.name)),)
        if _is_the_learners(error) or not _compiles(kernel, args, configuration):
            raise
        why = f"numba compiles this kernel, and the simulator cannot run it ({error})"
        raise NotSimulated(why).with_traceback(error.__traceback__) from None
    launched.note(kernel, compiled_for(kernel, args, configuration), configuration)


def call_inside(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a kernel as a device function, from another."""
    launched = running()
    if launched is None:
        return _call_unconfigured(kernel, *args, **kwargs)
    launched.names.enter(kernel.py_func)
    return kernel.py_func(*args, **kwargs)


def _is_the_learners(error: BaseException) -> bool:
    """Report whether a `raise` or `assert` of theirs raised it, or a whole number over 0.

    A GPU divides by 0 without an error, and the quotient of whole numbers is then meaningless.
    """
    if isinstance(error, ZeroDivisionError) and str(error).startswith("integer"):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    code = last.tb_frame.f_code
    ours = code.co_filename.startswith(_GRADER)
    return not ours and dis.opname[code.co_code[last.tb_lasti]] == "RAISE_VARARGS"


def _compiles(kernel: Any, args: tuple[Any, ...], configuration: Any) -> bool:
    try:
        compiled_for(kernel, args, configuration)
    except Exception:
        return False
    return True


def _simulate(kernel: Any, args: tuple[Any, ...], configuration: Any) -> None:
    grid, block = configuration.griddim, configuration.blockdim
    for what, extents in (("blocks", grid), ("threads", block)):
        for extent in extents:
            if not isinstance(extent, int):
                raise LaunchRefused(
                    f"the number of {what} is a number of numpy's, {extent!r}, and a launch takes "
                    f"Python's: int({extent})"
                )
    check_bounds(block, kernel.targetoptions.get("launch_bounds"))
    cuda = Cuda(grid, block, configuration.sharedmem)
    write_back: list[Any] = []
    with launching(cuda), _named(cuda, kernel):
        _run_blocks(cuda, kernel.py_func, tuple(_converted(kernel, args, write_back)))
        for write in write_back:
            write()


@contextmanager
def _named(cuda: Cuda, kernel: Any) -> Iterator[None]:
    try:
        cuda.names.enter(kernel.py_func)
        yield
    finally:
        cuda.names.leave()


def _converted(kernel: Any, args: tuple[Any, ...], write_back: list[Any]) -> Iterator[Any]:
    for arg in args:
        for extension in reversed(kernel.extensions or ()):
            _, arg = extension.prepare_args(None, arg, stream=0, retr=write_back)
        yield of_part(arg, write_back)


def _run_blocks(cuda: Cuda, function: Any, args: tuple[Any, ...]) -> None:
    grid, _ = cuda.launch.extents
    waiting: list[Block] = []
    ended: Block | None = None
    block: Block | None = None
    try:
        for at in np.ndindex(*grid):
            block = Block(cuda, at, function, args)
            if block.run():
                waiting.append(block)
                check_together(cuda.launch.extents)
            else:
                ended = block
        while waiting:
            if ended is not None:
                waiting[0].refuse_absence(ended.index)
            cuda.launch.threads.meet_in_grid()
            still = []
            for block in waiting:
                if block.run():
                    still.append(block)
                else:
                    ended = block
            waiting = still
    finally:
        for each in [*waiting, *([] if block is None else [block])]:
            each.end()
