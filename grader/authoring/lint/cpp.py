"""Rules about C++ that a file holds as text: what it includes, and its assembly."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Source

# A path that no folder of headers holds: absolute, or out of the folder.
_INCLUDED = re.compile(
    r"""^[ \t]*\#[ \t]*include[ \t]*["<](?P<what>(?:/|[A-Za-z]:|~|(?:[^">\n]*/)?\.\./)[^">\n]*)
    | __has_include[ \t]*\([ \t]*["<](?P<asked>(?:/|(?:[^">\n]*/)?\.\./)[^">\n]*)""",
    re.MULTILINE | re.VERBOSE,
)
_ASSEMBLY = re.compile(r"\b(?:asm|__asm__)\b\s*(?:(?:volatile|__volatile__)\b\s*)?\(")


def foreign_includes(source: Source) -> Iterator[Match]:
    yield from _found(source, _INCLUDED, lambda found: f"`{found['what'] or found['asked']}`")


def assembly(source: Source) -> Iterator[Match]:
    yield from _found(source, _ASSEMBLY, lambda found: "`asm`")


def _found(
    source: Source, pattern: re.Pattern[str], what: Callable[[re.Match[str]], str]
) -> Iterator[Match]:
    for text in _texts(source):
        value = str(text.value)
        for found in pattern.finditer(value):
            before = value[: found.start()]
            if "//" not in before[before.rfind("\n") + 1 :]:
                yield Match(_place(text, before), what(found))


def _texts(source: Source) -> Iterator[ast.Constant]:
    compilers = frozenset[str]().union(*(one.compilers for one in libraries()))
    if any(paths & compilers for _, paths in source.references):
        for node in source.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node


def _place(text: ast.Constant, before: str) -> ast.Constant:
    """Return a node at a place in a text, exactly where the file writes its line ends as such."""
    below = before.count("\n")
    if below == 0 or text.lineno + below > (text.end_lineno or 0):
        return text
    line, begin = text.lineno + below, len(before[before.rfind("\n") + 1 :].encode())
    return ast.Constant(
        "", lineno=line, end_lineno=line, col_offset=begin, end_col_offset=begin + 1
    )


RULES = (
    Rule(
        "KG407",
        "foreign-include",
        Level.WARNING,
        "{what} lies outside the folders of NVIDIA's headers.",
        "A kernel needs its own source and NVIDIA's headers. The compiler reads no file of the "
        "course, and what another file holds is not the work that was handed in.",
        "Include headers by their names, such as <cuda_bf16.h>, and write the rest in the file.",
        foreign_includes,
    ),
    Rule(
        "KG408",
        "inline-ptx",
        Level.NOTE,
        "{what} holds instructions that the compiler takes as they are.",
        "Inline PTX is how a kernel reaches what C++ has no name for. It can also reach memory "
        "outside of its arguments, and no tool explains it line by line.",
        "Read it, and ask for the function of cuda/ptx where there is one.",
        assembly,
    ),
)
