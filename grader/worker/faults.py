"""From an exception in the worker to what the learner should read: a sentence and their lines."""

from __future__ import annotations

import linecache
import re
import traceback
from typing import TypeGuard

from grader.wire import LONGEST_TEXT, MOST_FRAMES, Fault
from grader.worker.load import LoadError


def describe(error: BaseException, file: str) -> Fault:
    """Describe an error that came out of the kernel file `file`.

    Only the learner's own lines are kept; the libraries' are noise to them.
    """
    frames = _own_frames(error, file)
    return Fault(
        kind=_kind(error, file, frames),
        message=_message(error, file)[:LONGEST_TEXT],
        frames=tuple(frames[-MOST_FRAMES:]),
    )


def _unreadable(error: BaseException, file: str) -> TypeGuard[SyntaxError]:
    """Whether Python cannot read the file itself, rather than some text that its code evaluates."""
    return isinstance(error, SyntaxError) and error.filename in (file, None)


def _kind(error: BaseException, file: str, frames: list[tuple[int, str, str]]) -> str:
    if isinstance(error, LoadError):
        return error.kind
    if isinstance(error, NotImplementedError) and frames:
        return "not_started"
    if _unreadable(error, file):
        return "syntax"
    if isinstance(error, ImportError):
        return "import"
    if _is_out_of_memory(error):
        return "out_of_memory"
    if isinstance(error, SystemExit):
        return "exit"
    return {"OutOfBounds": "out_of_bounds", "CompilationError": "compile"}.get(
        type(error).__name__, "exception"
    )


def _is_out_of_memory(error: BaseException) -> bool:
    """Python's, numpy's and torch's errors; torch on the CPU and numba have none of their own."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = _text(error)
    return "can't allocate memory" in text or "CUDA_ERROR_OUT_OF_MEMORY" in text


def _message(error: BaseException, file: str) -> str:
    text = _text(error).replace(file, "kernel.py")
    if isinstance(error, LoadError):
        return text
    if _unreadable(error, file):
        line = f" (line {error.lineno})" if error.lineno else ""
        return f"Python cannot read the file: {error.msg}{line}"
    if isinstance(error, SystemExit):
        return f"the code called sys.exit({_text(error)})"
    if _is_out_of_memory(error):
        asked = re.search(r"[Uu]nable to allocate [\d.]+ \w+|[Tt]ried to allocate [\d.]+ \w+", text)
        return "the kernel asked for more memory than it gets" + (f": {asked[0]}" if asked else "")
    if type(error).__name__ == "OutOfBounds":
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(error: BaseException) -> str:
    """What an exception says; the learner's own may fail at it."""
    try:
        return str(error)
    except Exception:
        return ""


def _own_frames(error: BaseException, file: str) -> list[tuple[int, str, str]]:
    if _unreadable(error, file) and error.lineno:
        return [(error.lineno, "", (error.text or "").strip())]
    own = [
        (frame.lineno or 0, frame.name, _line(file, frame.lineno))
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    # What the compiler was looking at is not a Python frame: Triton keeps it on the exception.
    node = getattr(error, "node", None)
    if type(error).__name__ == "CompilationError" and node is not None:
        own += _compiled_line(error, node.lineno, file)
    return own


def _compiled_line(error: BaseException, line: int, file: str) -> list[tuple[int, str, str]]:
    """Triton numbers lines from the kernel's `def`; find the same text in the file."""
    source = getattr(error, "src", None) or ""
    lines = source.splitlines()
    if not 0 < line <= len(lines):
        return []
    text = lines[line - 1].strip()
    for number, candidate in enumerate(linecache.getlines(file), start=1):
        if candidate.strip() == text:
            return [(number, "", text)]
    return []


def _line(file: str, number: int | None) -> str:
    return linecache.getline(file, number or 0).strip()
