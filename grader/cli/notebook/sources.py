"""From a function, a path or a text to the text of a kernel file. Nothing of it is called."""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import math
import symtable
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from grader.model import UsageError

Kernel = Callable[..., Any] | Path | str
# The attributes under which decorators keep the function that they decorate.
INSIDE = ("__wrapped__", "py_func", "fn")
DEEPEST = 16  # decorators around one function
WHOLE_CELL = "Or grade a whole cell as the kernel file: `%%kernel NAME`."


def source_of(kernel: Kernel) -> str:
    """Return the text to grade: of a file, of one line that names it, or of a function.

    A text with several lines is returned as it is. A function of a module is sent as the whole
    file of that module. One of a notebook or a script is sent with what it uses: the functions of
    other cells, imports and constants. Raises UsageError for what cannot be sent.
    """
    if isinstance(kernel, str) and "\n" in kernel:
        return kernel
    if isinstance(kernel, str | Path):
        return _text(Path(kernel))
    function = _function(kernel)
    if function is None:
        raise UsageError(
            f"An object of the type {type(kernel).__name__} is no kernel to grade.",
            "Give a function, the path of a file, or its text.",
        )
    if function.__module__ != "__main__":
        return _text(Path(inspect.getfile(function)))
    return _Gathered().with_all_of(function)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The kernel file {path} cannot be read: {error}.",
            "Give the path of a file. A text to grade has more than one line.",
        ) from None


def _function(value: Any) -> FunctionType | None:
    for _ in range(DEEPEST):
        if isinstance(value, FunctionType) and not hasattr(value, "__wrapped__"):
            return value
        inner = (vars(value).get(name) for name in INSIDE if hasattr(value, "__dict__"))
        value = next((one for one in inner if one is not None), None)
    return None


@dataclass
class _Gathered:
    """The parts of a file that a function needs, each by the name that it is known by."""

    future: bool = False
    imports: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)

    def with_all_of(self, function: FunctionType) -> str:
        self._add_function(function.__name__, function)
        first = ["from __future__ import annotations\n"] if self.future else []
        head = "".join([*first, *sorted(self.imports.values())])
        parts = [head, "".join(self.constants.values()), *self.functions.values()]
        return "\n\n".join(filter(None, parts))

    def _add_function(self, name: str, function: FunctionType) -> None:
        text = _source(function)
        self.functions[name] = ""  # it may call itself
        self.future |= bool(function.__code__.co_flags & __future__.annotations.compiler_flag)
        for used in _names_used(text):
            self._add(used, function)
        del self.functions[name]
        self.functions[name] = text  # behind what it uses

    def _add(self, name: str, user: FunctionType) -> None:
        known = user.__globals__
        if name in self.imports or name in self.constants or name in self.functions:
            return
        if name not in known:
            if not hasattr(builtins, name):
                raise UsageError(
                    f"`{user.__name__}` uses `{name}`, which no cell has defined.",
                    f"Run the cell that defines `{name}` first. {WHOLE_CELL}",
                )
            return
        value = known[name]
        inside = _function(value)
        if inside is not None and inside.__module__ == user.__module__:
            if inside.__name__ != name:
                raise _cannot_send(user, name, f"is another name of `{inside.__name__}`")
            self._add_function(name, inside)
        elif line := _import_of(name, value):
            self.imports[name] = line
        elif text := _literal(value):
            self.constants[name] = f"{name} = {text}\n"
        else:
            raise _cannot_send(user, name, f"is a {type(value).__name__} of this notebook")


def _cannot_send(user: FunctionType, name: str, what: str) -> UsageError:
    return UsageError(
        f"`{user.__name__}` uses `{name}`, which {what}: a kernel file cannot get it.",
        f"Make it within the function, or a number or a text. {WHOLE_CELL}",
    )


def _source(function: FunctionType) -> str:
    if function.__code__.co_freevars or function.__name__ == "<lambda>":
        raise UsageError(
            f"`{function.__qualname__}` is a lambda or uses variables of a function around it.",
            f"Define it with `def` at the start of a line. {WHOLE_CELL}",
        )
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise UsageError(
            f"The source of `{function.__name__}` is not known.",
            f"Give the path of its file, or its text. {WHOLE_CELL}",
        ) from None


def _names_used(source: str) -> list[str]:
    """List the global names that a text looks up, in functions, decorators and annotations."""
    found = symtable.symtable(source, "kernel.py", "exec")
    return sorted({name for table in _tables(found) for name in _looked_up(table)})


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def _looked_up(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and symbol.is_global():
            yield symbol.get_name()


def _import_of(name: str, value: Any) -> str:
    """Return the line that imports this value under this name; empty if no line does."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}\n"
    own = getattr(value, "__module__", None) or type(value).__module__
    original = getattr(value, "__qualname__", name)
    for module in (own, own.partition(".")[0], type(value).__module__.partition(".")[0]):
        if module == "__main__" or "." in original:
            continue
        if getattr(sys.modules.get(module), original, None) is value:
            return f"from {module} import {original} as {name}\n"
    return ""


def _literal(value: Any) -> str:
    """Return the literal of an equal value; empty if there is no such literal."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    text = repr(value)
    try:
        same = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""
    return text if same is True else ""
