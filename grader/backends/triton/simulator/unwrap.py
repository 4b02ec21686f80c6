"""The exception that a kernel raised, out of those that Triton's interpreter wraps around it."""

from __future__ import annotations

import types

from grader.backends.triton.simulator.internals import errors


def root_cause(error: BaseException) -> BaseException:
    """Return the exception that the kernel raised, with the frames of all wrappers before its own.

    Triton's interpreter wraps an exception at each call of a kernel or helper; the lines that led
    there, the learner's own among them, are then spread over the wrappers' tracebacks.
    """
    steps: list[types.TracebackType] = []
    while True:
        step = error.__traceback__
        while step is not None:
            steps.append(step)
            step = step.tb_next
        if not isinstance(error, errors.InterpreterError) or error.__cause__ is None:
            break
        error = error.__cause__
    joined = None
    for each in reversed(steps):
        joined = types.TracebackType(joined, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return error.with_traceback(joined)
