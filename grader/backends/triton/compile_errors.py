"""The exceptions of Triton's compiler, in the form and the words that a learner's message needs."""

from __future__ import annotations

import ast
import re
import traceback
from contextlib import suppress
from types import FrameType
from typing import Any

from grader.backends.triton import operands, subscripts

# Triton raises some as the text that Python shows of another: NameError('x is not defined')
_SHOWN = re.compile(r"\w+\((?P<text>'.*'|\".*\")\)", re.DOTALL)
_LONGEST = 200  # characters of a sentence: of more, the first sentence says what is wrong
_BLOCK = re.compile(r"<\[(?P<shape>[^\]]*)\], (?P<element>[\w<>]+?)>(?!>)")  # <['16'], fp32>
_NUMBER = re.compile(r"'?constexpr\[(\d+)\]'?")  # ['constexpr[16]']
# <class 'torch.dtype'>, <function helper at 0x...>
_OBJECT = re.compile(
    r"(?<!\w)<(?:class '|function |built-in \w+ )?(?:[\w.]*\.)?(?P<name>\w+)[^<>]*>"
)


class CompilationError(Exception):
    """An error of what Triton does before it compiles, with the fields of its errors after that."""

    def __init__(self, src: str, node: Any, error_message: str) -> None:
        super().__init__(error_message)
        self.src, self.node, self.error_message = src, node, error_message


def root_cause(error: BaseException) -> BaseException:
    """Return a compiler's error with plain words and its place; any other error as it is."""
    if found := _visited(error):
        located = CompilationError(*found, _plain(str(error)))
        return located.with_traceback(error.__traceback__)
    passed = subscripts.pointers(error)
    parts = _parts(error)
    operand = operands.sentence(parts, passed)
    for part in parts:
        part.error_message = subscripts.sentence(part, passed) or _plain(part.error_message or "")
    if operand is not None:
        parts[-1].error_message = operand
    return _outside(error) or error


def _parts(error: BaseException) -> list[Any]:
    """Return a compiler's errors, of the kernel first and of the innermost function last."""
    parts: list[Any] = []
    part: Any = error
    while hasattr(part, "error_message"):
        parts.append(part)
        part = part.__cause__
    return parts


def _outside(error: BaseException) -> BaseException | None:
    """Return an error with plain words for a function of tl that no kernel calls."""
    if isinstance(error, RuntimeError) and "outside of the scope of a kernel" in str(error):
        return _called(error)
    if not isinstance(error, ValueError) or "_semantic" not in str(error):
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    library = next((i for i, each in enumerate(frames) if _is_of_language(each)), 0)
    if library == 0:
        return None
    function = getattr(frames[library].f_locals.get("fn"), "__name__", "load")
    caller, above = frames[library - 1].f_code, frames[max(library - 2, 0)].f_code
    if caller is not above and caller.co_filename == above.co_filename:
        said = f"{caller.co_name} uses tl.{function}, and has no @triton.jit above it"
    else:
        said = f"tl.{function} is called outside of a kernel"
    return ValueError(said).with_traceback(error.__traceback__)


def _called(error: BaseException) -> BaseException | None:
    for frame, _ in traceback.walk_tb(error.__traceback__):
        function = frame.f_locals.get("self")
        if str(getattr(function, "__module__", "")).startswith("triton.language"):
            said = f"tl.{getattr(function, '__name__', 'cdiv')} is called outside of a kernel"
            return ValueError(said).with_traceback(error.__traceback__)
    return None


def _is_of_language(frame: FrameType) -> bool:
    return "/triton/language/" in frame.f_code.co_filename


def _visited(error: BaseException) -> tuple[str, Any] | None:
    """Return the source and the node that Triton was at when it looked up what a kernel uses.

    That happens before it compiles, and its exceptions do not say where.
    """
    found: tuple[str, Any] | None = None
    source = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "/triton/" not in frame.f_code.co_filename:
            continue
        if frame.f_code.co_name == "cache_key":
            source = getattr(frame.f_locals.get("self"), "src", None)
        elif frame.f_code.co_name.startswith("visit") and isinstance(source, str):
            node = frame.f_locals.get("node")
            found = (source, node) if hasattr(node, "lineno") else found
    return found


def _plain(sentence: str) -> str:
    """Return a sentence without the names of Python's objects for what it is about."""
    shown = _SHOWN.fullmatch(sentence)
    if shown and not sentence.startswith("KeyError"):
        with suppress(ValueError, SyntaxError):
            sentence = str(ast.literal_eval(shown["text"]))
    if len(sentence) > _LONGEST:
        sentence = sentence.partition(". ")[0]
    sentence = _NUMBER.sub(r"\1", sentence)
    sentence = _BLOCK.sub(lambda m: f"{m['element']}[{m['shape'].replace(chr(39), '')}]", sentence)
    return _OBJECT.sub(lambda m: m["name"], sentence).replace("triton.language.", "")
