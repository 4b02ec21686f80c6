"""From an exception in the worker to what the learner should read: a sentence and their lines."""

from __future__ import annotations

import linecache
import traceback

from grader.wire import LONGEST_TEXT, MOST_FRAMES, Fault
from grader.worker.load import LoadError


def describe(error: BaseException, file: str) -> Fault:
    """Describe an error that came out of the kernel file `file`.

    Only the learner's own lines are kept; the libraries' are noise to them.
    """
    frames = _own_frames(error, file)
    return Fault(
        kind=_kind(error, frames),
        message=_message(error, file)[:LONGEST_TEXT],
        frames=tuple(frames[-MOST_FRAMES:]),
    )


def _kind(error: BaseException, frames: list[tuple[int, str, str]]) -> str:
    if isinstance(error, LoadError):
        return error.kind
    if isinstance(error, NotImplementedError) and frames:
        return "not_started"
    if isinstance(error, SyntaxError):
        return "syntax"
    if isinstance(error, ImportError):
        return "import"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return "out_of_memory"
    if isinstance(error, SystemExit):
        return "exit"
    return {"OutOfBounds": "out_of_bounds", "CompilationError": "compile"}.get(
        type(error).__name__, "exception"
    )


def _message(error: BaseException, file: str) -> str:
    text = str(error).replace(file, "kernel.py")
    if isinstance(error, LoadError):
        return text
    if isinstance(error, SyntaxError):
        return f"Python cannot read the file: {error.msg} (line {error.lineno})"
    if isinstance(error, SystemExit):
        return f"the code called sys.exit({error.code!r})"
    if type(error).__name__ == "OutOfBounds":
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _own_frames(error: BaseException, file: str) -> list[tuple[int, str, str]]:
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
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
