"""Refusals of numba's compiler: one sentence, and the learner's line.

numba explains at length, in colours, by its own passes and candidates. Nothing of numba is imported
here: its errors are text, and the frames that they passed hold places of the learner's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

LONGEST = 240  # characters of numba's own words


class NotCompiled(Exception):
    """numba compiles no such kernel for any GPU. `kernel_line` is the learner's line, if known."""

    def __init__(self, message: str, kernel_line: tuple[str, int] | None = None) -> None:
        super().__init__(f"the kernel cannot be compiled: {message}")
        self.kernel_line = kernel_line


def explained(error: BaseException) -> BaseException:
    """Return numba's refusal to compile as NotCompiled, and any other error as it is."""
    if isinstance(error, NotCompiled) or not _in_compiler(error.__traceback__):
        return error
    return not_compiled(error).with_traceback(_before_compiler(error.__traceback__))


def not_compiled(error: BaseException) -> NotCompiled:
    return NotCompiled(_sentence(_plain(error)), _place(error))


def _plain(error: BaseException) -> str:
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    text = re.sub(r"^Failed in \w+ mode pipeline \(step: [^)]*\)\s*", "", text)
    return text.strip() or type(error).__name__


def _sentence(text: str) -> str:
    for pattern, say in _SAID:
        if found := re.search(pattern, text, re.DOTALL):
            return say(*found.groups())
    first = re.split(r"\n\s*(?:\n|During|File|There are)", text)[0]
    return _typed(" ".join(first.split()))[:LONGEST]


def _no_implementation(function: str, called: str, rest: str) -> str:
    name, _, arguments = called.partition("(")
    types = [_typed(each) for each in _split(arguments.strip().removesuffix(")"))]
    reason = re.search(r"Numba\w*Error: ([^\n]*)|TypingError: (missing [^\n]*)", rest)
    why = _typed(reason[1] or reason[2]) if reason else ""
    because = f" ({why})" if why and not why.startswith("Failed in") else ""
    match name, types:
        case "getitem", [whole, index]:
            return f"{whole} cannot be indexed with {index}{because}"
        case "setitem", [whole, index, value]:
            if whole.startswith("readonly"):
                return "an array that is not an argument of the kernel cannot be changed"
            if reason:
                return f"{whole} cannot be indexed with {index}{because}"
            return f"{value} cannot be stored in an element of {whole}"
        case _, [one, other] if name in _SIGNS:
            return f"there is no {_SIGNS[name]} of {one} and {other}"
    called = _public(function, name)
    if not called.startswith("cuda.") and any("array of" in each for each in types):
        return f"{called} works on numbers, and here it gets {' and '.join(types)}"
    return f"{called} takes no ({', '.join(types)}){because}"


def _public(function: str, name: str) -> str:
    if found := re.search(r"numba\.cuda\.stubs\.([\w.]+)", function):
        return f"cuda.{found[1]}"
    if function.startswith("<intrinsic"):
        return f"cuda.{name}"
    if found := re.search(r"<function ((?:shared|local|const)\.\w+)", function):
        return f"cuda.{found[1]}"
    return name.removeprefix("npy_")  # as numba calls its own versions of array methods


_SIGNS = {
    "add": "+", "iadd": "+=", "sub": "-", "isub": "-=", "mul": "*", "imul": "*=", "truediv": "/",
    "itruediv": "/=", "floordiv": "//", "ifloordiv": "//=", "mod": "%", "imod": "%=", "pow": "**",
    "ipow": "**=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip


def _untyped_global(name: str, kind: str) -> str:
    if "function" in kind:
        return f"{name} is a plain function, without @cuda.jit(device=True)"
    return f"{name} is nothing that a kernel can use"


def _captured(types: str, kind: str, name: str) -> str:
    what = "a list" if types.startswith("List") else _typed(types)
    return f"{name} is {what}, which a kernel cannot take from outside"


_OPCODES = {
    "IMPORT_NAME": "`import`",
    "STORE_GLOBAL": "an assignment to a global name",
    "LOAD_BUILD_CLASS": "`class`",
    "SETUP_WITH": "`with`",
    "BEFORE_WITH": "`with`",
}
_SAID: tuple[tuple[str, Callable[..., str]], ...] = (
    (
        r"No implementation of function Function\((.*?)\) found for signature:\s*>>> ([^\n]*)(.*)",
        _no_implementation,
    ),
    (r"Untyped (?:global|closure|freevar) (?:name|variable)? ?'(\w+)': Cannot determine Numba type "
     r"of ([^\n]*)", _untyped_global),
    (r"NameError: (name '\w+' is not defined)", str),
    (r"Unknown attribute '(\w+)' of type ([^\n]*)", lambda name, of: f"{_typed(of)} has no {name}"),
    (r"No conversion from \S.* to none for '\$\S*return", lambda: "it returns a value, and nobody "
     "gets it"),
    (r"Cannot unify (\S.*?) and (\S.*?) for '([\w.]+)'", lambda one, other, name:
     f"{name.partition('.')[0]} is {_typed(one)} in one place and {_typed(other)} in another"),
    (r"Cannot cast ([^\n:]*) to ([^\n:]*):", lambda one, other:
     f"{_typed(one)} stands where {_typed(other)} is needed"),
    (r"OverloadSelector.*?\(((\w+)\(.*?)\),\).*?(?:global|freevar)\((\w+):", _captured),
    (r"Use of unsupported opcode \((\w+)\)", lambda name:
     f"no compiler for a GPU takes {_OPCODES.get(name, name)} in a kernel"),
    (r"<ufunc '(\w+)'>", lambda name: f"np.{name} works on whole arrays, and not on one number"),
    (r"invalid cast opcode for cast from '(?:double|float)' to 'i\d+'", lambda:
     "a float stands where a whole number is needed"),
    (r"set_try_status", lambda: "no compiler for a GPU takes `try` in a kernel"),
    (r"get_function_type", lambda: "no compiler for a GPU takes `yield` in a kernel"),
    (r"module 'numba\.cuda' has no attribute '(\w+)'", lambda name: f"cuda has no {name}"),
)  # fmt: skip


def _typed(text: str) -> str:
    for pattern, instead in _TYPES:
        text = re.sub(pattern, instead, text)
    return text.strip()


_TYPES = (
    (r"<iv=[^>]*>", ""),
    (r"Literal\[int\]\((-?\d+)\)", r"\1"),
    (r"Literal\[bool\]\((\w+)\)", r"\1"),
    (r"Literal\[str\]\((.*?)\)", "text"),
    (r"unicode_type", "text"),
    (r"class\((\w+)\)", r"\1"),
    (r"array\((\w+), 1d, \w\)", r"an array of \1"),
    (r"array\((\w+), (\d+)d, \w\)", r"a \2-dimensional array of \1"),
    (r"UniTuple\((\w+) x (\d+)\)", r"a tuple of \2 \1"),
    (r"(?:Tuple|list|List)\(undefined\)", "a list"),
    (r"DictType\[[^\]]*\]", "a dictionary"),
    (r"Function\(<(?:built-in function|function|class) '?(\w+)[^>]*>\)", r"the function \1"),
    (r"Module\(<module '([\w.]+)'[^>]*>\)", r"\1"),
)


def _split(arguments: str) -> list[str]:
    parts, depth = [""], 0
    for sign in arguments:
        depth += (sign in "([{<") - (sign in ")]}>")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part.strip()]


# -- places


def _traceback(first: TracebackType | None) -> Iterator[TracebackType]:
    while first is not None:
        yield first
        first = first.tb_next


def _in_compiler(first: TracebackType | None) -> bool:
    return any(map(_compiles, _traceback(first)))


def _compiles(entry: TracebackType) -> bool:
    code = entry.tb_frame.f_code
    return code.co_name == "compile_cuda" and "numba" in code.co_filename


def _before_compiler(first: TracebackType | None) -> TracebackType | None:
    """Return a copy of a traceback that ends where the compiler begins."""
    if first is None or _compiles(first):
        return None
    later = _before_compiler(first.tb_next)
    return TracebackType(later, first.tb_frame, first.tb_lasti, first.tb_lineno)


def _place(error: BaseException) -> tuple[str, int] | None:
    """Return file and line that the compiler was at: the innermost place that it held."""
    if found := re.search(r"Raised from (\S.*) \((\d+)\)", str(error)):
        return found[1], int(found[2])
    place = None
    for entry in _traceback(error.__traceback__):
        held = entry.tb_frame.f_locals
        about = (held.get("self"), held.get("inst"), held.get("expr"))
        for loc in (held.get("loc"), *(getattr(each, "loc", None) for each in about)):
            place = _of(loc) or place
    if place is None and (
        found := re.search(r"During: typing of .* at (.*) \((\d+)\)", str(error))
    ):
        return found[1], int(found[2])
    return place or _of(getattr(error, "loc", None))


def _of(loc: Any) -> tuple[str, int] | None:
    file, line = getattr(loc, "filename", None), getattr(loc, "line", None)
    return (file, line) if isinstance(file, str) and isinstance(line, int) else None
