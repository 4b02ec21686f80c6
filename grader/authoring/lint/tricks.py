"""Rules about changing Python itself, or looking into it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.names import LOCAL
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule, uses, within
from grader.authoring.lint.source import Source

# Libraries keep their settings there, to be assigned to.
_SETTINGS = ("torch.backends", "torch._dynamo.config")
_LOOKING = uses(
    "gc.callbacks",
    "gc.get_objects",
    "gc.get_referents",
    "gc.get_referrers",
    "inspect.currentframe",
    "inspect.getinnerframes",
    "inspect.getouterframes",
    "inspect.stack",
    "inspect.trace",
    "sys._current_frames",
    "sys._getframe",
    "sys.addaudithook",
    "sys.setprofile",
    "sys.settrace",
    "traceback.extract_stack",
    "traceback.walk_stack",
    "tracemalloc",
)
_INNER = {
    "__builtins__",
    "__closure__",
    "__globals__",
    "__subclasses__",
    "ag_frame",
    "cr_frame",
    "f_back",
    "f_builtins",
    "f_globals",
    "f_locals",
    "gi_frame",
    "tb_frame",
}
# Texts that become code; and imports by a text, which could be plain imports.
_UNHIDING = uses(
    "base64",
    "binascii",
    "builtins.__import__",
    "builtins.bytes.fromhex",
    "builtins.compile",
    "builtins.eval",
    "builtins.exec",
    "bz2",
    "code",
    "codecs",
    "importlib",
    "lzma",
    "marshal",
    "runpy",
    "types.CodeType",
    "types.FunctionType",
    "zlib",
)


def patched(source: Source) -> Iterator[Match]:
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from _changed(source, node, source.names.paths(node))
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            paths = source.names.paths(node.value)
            inner = {path for path in paths if path.endswith("__dict__")}
            yield from _changed(source, node, inner)
        elif (
            isinstance(node, ast.Call)
            and node.args
            and source.names.paths(node.func) & {"builtins.setattr", "builtins.delattr"}
        ):
            yield from _changed(source, node, source.names.paths(node.args[0]))
    yield from uses("sys.modules", "unittest.mock", "sys.meta_path", "sys.path_hooks")(source)


def _changed(source: Source, node: ast.AST, paths: frozenset[str] | set[str]) -> Iterator[Match]:
    """Yield a change of an imported thing. A file may change its own functions."""
    settings = (*_SETTINGS, *(path for names in libraries() for path in names.settings))
    found = sorted(p for p in paths if not p.startswith(LOCAL) and not within(p, settings))
    if found:
        yield Match(node, f"`{found[0].removeprefix('builtins.')}`")


def later(source: Source) -> Iterator[Match]:
    yield from uses("atexit", "weakref.finalize")(source)
    for function in source.functions:
        if function.name == "__del__":
            yield Match(function, "`__del__`")


def looks_around(source: Source) -> Iterator[Match]:
    yield from _LOOKING(source)
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in _INNER:
            yield Match(node, f"`.{node.attr}`")


RULES = (
    Rule(
        "KG501",
        "patched",
        Level.WARNING,
        "{what} is changed, which belongs to a library or to Python.",
        "Everything that uses it afterwards behaves differently, which nobody expects. The judge "
        "runs in another process, where this change has no effect.",
        "Write a function of your own, under its own name.",
        patched,
    ),
    Rule(
        "KG502",
        "code-from-text",
        Level.WARNING,
        "{what} can turn text into code, which nobody who reads the file sees.",
        "A reviewer must be able to read the code that runs.",
        "Write the code itself; for variants of a kernel take `tl.constexpr` parameters, or "
        "functions that build a kernel.",
        _UNHIDING,
    ),
    Rule(
        "KG503",
        "runs-later",
        Level.WARNING,
        "{what} runs code after the call is over.",
        "A kernel's work is done when it returns. The judge reads nothing that is written later.",
        "Do the work in the call; memory is freed by itself.",
        later,
    ),
    Rule(
        "KG504",
        "looks-around",
        Level.WARNING,
        "{what} looks at objects or frames that were not given to this file.",
        "A kernel gets everything that it needs as arguments. Neither inputs of other calls nor "
        "right answers are in the process that runs it.",
        "Use the arguments.",
        looks_around,
    ),
)
