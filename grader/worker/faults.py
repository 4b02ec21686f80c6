"""From an exception in the worker to the learner's message: a sentence and their lines."""

from __future__ import annotations

import re
import tokenize
import traceback
from types import TracebackType
from typing import Any, TypeGuard

from grader.model import LARGEST_COUNT, LONGEST_TEXT, MOST_FRAMES, Fault
from grader.worker.deadline import OutOfTime
from grader.worker.load import LoadError

# From here on torch explains how to find the call of an error. The judge waits for each call to
# end, so the call is known.
TORCH_ON_DEBUGGING = "CUDA kernel errors might be asynchronously reported"
# Errors of the backends: by name, because each module is imported for one backend.
_BACKENDS = {
    "OutOfBounds": "out_of_bounds",
    "Race": "race",
    "DivergentBarrier": "divergent_barrier",
    "DivergentShuffle": "divergent_shuffle",
    "Uninitialised": "uninitialised",
    "LaunchRefused": "launch_refused",
    "NotSimulated": "not_simulated",
    "NotCompiled": "compile",
}


def describe(error: BaseException, file: str) -> Fault:
    """Describe an error that came out of the kernel file `file`.

    Only the learner's own lines remain: a library's would not help a learner.
    """
    frames = _own_frames(error, file)
    return Fault(
        kind=_kind(error, file, frames),
        message=_message(error, file)[:LONGEST_TEXT],
        frames=tuple(frames[-MOST_FRAMES:]),
    )


def _unreadable(error: BaseException, file: str) -> TypeGuard[SyntaxError]:
    """Report whether Python cannot read the file itself, rather than text that its code evaluates.

    An exception of the file's own code may hold anything where Python's holds a line.
    """
    return (
        isinstance(error, SyntaxError)
        and error.filename in (file, None)
        and (error.lineno is None or _is_line(error.lineno))
        and (error.text is None or isinstance(error.text, str))
    )


def _is_line(number: object) -> bool:
    return isinstance(number, int) and 0 <= number <= LARGEST_COUNT


def _kind(error: BaseException, file: str, frames: list[tuple[int, str, str]]) -> str:
    if isinstance(error, LoadError):
        return error.kind
    if isinstance(error, OutOfTime):
        return "timeout"
    if isinstance(error, NotImplementedError) and _raised_in(error, file):
        return "not_started"
    if _unreadable(error, file):
        return "syntax"
    if isinstance(error, ImportError):
        return "import"
    if _is_out_of_memory(error):
        return "out_of_memory"
    if isinstance(error, SystemExit):
        return "exit"
    if _is_illegal_access(error):
        return "out_of_bounds"
    if kind := _device_kind(error):
        return kind
    if kind := _BACKENDS.get(type(error).__name__):
        return kind
    return "compile" if _compile_errors(error) else "exception"


def _device_kind(error: BaseException) -> str | None:
    """Return the kind of fault that a simulated device reported, whose exceptions carry it."""
    kind = vars(error).get("kind")
    named = any(base.__name__ == "DeviceError" for base in type(error).__mro__)
    return kind if named and isinstance(kind, str) else None


def _raised_in(error: BaseException, file: str) -> bool:
    """Report whether a `raise` in the file raised it, rather than a library that the file calls."""
    innermost = _frames(error.__traceback__)[-1:]
    return any(where == file and _line(file, at).startswith("raise ") for where, at, _ in innermost)


def _is_out_of_memory(error: BaseException) -> bool:
    """Report whether Python, numpy, torch or the CUDA driver ran out of memory.

    On the CPU torch raises a plain RuntimeError: only its text tells.
    """
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = _text(error)
    return "can't allocate memory" in text or "CUDA_ERROR_OUT_OF_MEMORY" in text


def _is_illegal_access(error: BaseException) -> bool:
    text = _text(error)
    return "illegal memory access" in text or "CUDA_ERROR_ILLEGAL_ADDRESS" in text


def _compile_errors(error: BaseException | None) -> list[Any]:
    """Return a compiler's error, and those of the functions that the kernel calls, innermost last.

    By its name, for not every worker has the library; a learner's exception may have it, too.
    """
    named = any(kind.__name__ == "CompilationError" for kind in type(error).__mro__)
    if not named or not all(hasattr(error, part) for part in ("src", "node", "error_message")):
        return []
    assert error is not None
    return [error, *_compile_errors(error.__cause__)]


def _message(error: BaseException, file: str) -> str:
    text = _text(error)
    if file:  # else no kernel file was loaded yet
        text = text.replace(file, "kernel.py")
    if isinstance(error, LoadError):
        return text
    if _unreadable(error, file):
        line = f" (line {error.lineno})" if error.lineno else ""
        return f"Python cannot read the file: {error.msg}{line}"
    if isinstance(error, SystemExit):
        return f"the code called sys.exit({_text(error)})"
    if _is_out_of_memory(error):
        size = re.search(r"[Uu]nable to allocate [\d.]+ \w+|[Tt]ried to allocate [\d.]+ \w+", text)
        return "the kernel asked for more memory than it gets" + (f": {size[0]}" if size else "")
    if _device_kind(error):
        return text
    if _BACKENDS.get(type(error).__name__, "not_simulated") != "not_simulated":
        return text
    if _is_illegal_access(error):
        return "the kernel touched memory far outside its tensors, and the GPU stopped it"
    if compiling := _compile_errors(error):
        return f"the kernel cannot be compiled: {compiling[-1].error_message or text}"
    text = text.partition(TORCH_ON_DEBUGGING)[0].strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(error: BaseException) -> str:
    """Return the text of an exception; a learner's own may fail to make one."""
    try:
        return str(error)
    except Exception:
        return ""


def _own_frames(error: BaseException, file: str) -> list[tuple[int, str, str]]:
    if _unreadable(error, file) and error.lineno:
        return [(error.lineno, "", (error.text or "").strip())]
    own = [
        (number, name, _line(file, number))
        for where, number, name in _frames(error.__traceback__)
        if where == file
    ]
    # The compiler's position is not a Python frame: the exception holds it.
    for each in _compile_errors(error):
        own += _compiled_line(each.src, each.node, file)
    match getattr(error, "kernel_line", None):
        case (str(where), int(line)) if where == file and _is_line(line):
            own.append((line, "", _line(file, line)))
    return own


def _compiled_line(source: str | None, node: Any, file: str) -> list[tuple[int, str, str]]:
    """Return the line of the file: the compiler counts from the kernel's `def`."""
    text = "".join(_lines(file))
    if not source or source not in text or not hasattr(node, "lineno"):
        return []  # a function of the library's own, or one that the learner indented
    line = text.count("\n", 0, text.index(source)) + node.lineno
    return [(line, "", _line(file, line))]


def _frames(innermost_last: TracebackType | None) -> list[tuple[str, int, str]]:
    """List file, line and function of each call. Unlike `traceback.extract_tb`, reads no file."""
    return [
        (frame.f_code.co_filename, number or 0, frame.f_code.co_name)
        for frame, number in traceback.walk_tb(innermost_last)
    ]


def _line(file: str, number: int) -> str:
    lines = _lines(file)
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _lines(file: str) -> list[str]:
    """Return the lines of a file, or none where they cannot be read.

    `linecache` lets errors of some codecs through: a file may run although its lines cannot be read
    one after the other.
    """
    try:
        with tokenize.open(file) as stream:
            return stream.readlines()
    except (OSError, SyntaxError, UnicodeError):
        return []
