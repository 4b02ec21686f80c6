"""A kernel file as symbols: its syntax without names, constants, comments and formatting.

Names that the file does not choose stay: of imported modules, of their functions, of Python's own.
CUDA C++ in strings becomes symbols, too.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

LONGEST = 256 << 10  # bytes of a file; a solution has about 5 kB
MOST_SYMBOLS = 50_000
NAME, NUMBER, STRING = "N", "C", "S"

# Parts of the syntax that say nothing about the work: where a name stands, or what has no effect.
_SILENT = (ast.expr_context, ast.Import, ast.ImportFrom, ast.alias, ast.Load, ast.Module)
_CPP = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"  # comments
    # One that nothing closes ends with its line: no place of a text is read twice.
    r"|(?P<text>\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?)"
    r"|(?P<number>\.?\d(?:[\w.]|'\w)*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|\+\+|--|->|::|[^\s\w])|(?P<line>\n)",
    re.DOTALL,
)
_CPP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        __global__ __device__ __shared__ __restrict__ __host__ __launch_bounds__ __forceinline__
        __syncthreads __syncwarp extern const constexpr volatile static inline void bool char short
        int long float double half unsigned signed auto size_t if else for while do return break
        continue switch case default template typename struct sizeof true false threadIdx blockIdx
        blockDim gridDim x y z
        """,
    )
)
_DEFINED = re.compile(r"\b(?:void|float|double|int|half|auto|bool|T)\s+(\w+)\s*\(")
_LOOKS_LIKE_CPP = re.compile(r"__global__|__device__|\bthreadIdx\b|\bblockIdx\b")


@dataclass(frozen=True)
class Symbol:
    """One symbol, and the line of the file on which it begins."""

    text: str
    line: int


class Unreadable(Exception):
    """A file that is not compared; `str(error)` is the reason."""


def symbols(text: str) -> list[Symbol]:
    """Return the symbols of a file, in its order. Raises Unreadable."""
    if len(text.encode(errors="replace")) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST:,} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the learner's strings
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unreadable("it is no Python") from None
    found = []
    for symbol in _Reader(_imported(tree)).read(tree):
        found.append(symbol)
        if len(found) > MOST_SYMBOLS:
            raise Unreadable(f"it has more than {MOST_SYMBOLS:,} symbols")
    return found


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the modules' own names by the names that the file gives them."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
    return names


@dataclass
class _Reader:
    """Walks a tree in the order of its text, without recursion: a file may nest deeply."""

    imported: dict[str, str]
    line: int = 1
    _stack: list[ast.AST] = field(default_factory=list)

    def read(self, tree: ast.Module) -> Iterator[Symbol]:
        self._stack = [tree]
        while self._stack:
            node = self._stack.pop()
            self.line = getattr(node, "lineno", self.line)
            yield from self._symbols(node)
            self._stack += reversed(self._children(node))

    def _symbols(self, node: ast.AST) -> Iterator[Symbol]:
        if isinstance(node, ast.Constant):
            yield from self._constant(node)
            return
        for text in self._texts(node):
            yield Symbol(text, self.line)

    def _texts(self, node: ast.AST) -> Sequence[str]:
        match node:
            case ast.Name(id=name):
                return (self._known(name) or NAME,)
            case ast.Attribute(attr=name):
                return (f".{name}",)
            case ast.arg():
                return (NAME,)
            case ast.keyword():
                return (f"{NAME}=",)
            case ast.FunctionDef() | ast.ClassDef():
                return (type(node).__name__,)
            case ast.AugAssign() | ast.AnnAssign():
                return ("Assign",)
            case ast.Expr() | ast.arguments():
                return ()
            case _ if isinstance(node, _SILENT):
                return ()
            case _:
                return (type(node).__name__,)

    def _known(self, name: str) -> str:
        if name in self.imported:
            return self.imported[name]
        return name if hasattr(builtins, name) else ""

    def _constant(self, node: ast.Constant) -> Iterator[Symbol]:
        if isinstance(node.value, str) and _LOOKS_LIKE_CPP.search(node.value):
            yield from cpp_symbols(node.value, node.lineno)
        elif isinstance(node.value, str | bytes):
            yield Symbol(STRING, self.line)
        else:
            plain = node.value is None or isinstance(node.value, bool)
            yield Symbol(str(node.value) if plain else NUMBER, self.line)

    def _children(self, node: ast.AST) -> list[ast.AST]:
        match node:
            case ast.Import() | ast.ImportFrom():
                return []
            case ast.FunctionDef(decorator_list=decorators, args=args, body=body):
                return [*decorators, args, *_without_docstring(body)]
            case ast.arg():
                return []  # its annotation
            case ast.AugAssign(target=target, op=op, value=value):  # `a += b` is `a = a + b`
                return [target, ast.BinOp(target, op, value)]
            case ast.AnnAssign(target=target, value=value):
                return [target, value] if value else [target]
            case ast.Module(body=body) | ast.ClassDef(body=body):
                return [*_without_docstring(body)]
            case ast.Expr(value=ast.Constant(value=str(said))) if not _LOOKS_LIKE_CPP.search(said):
                return []
        return [*ast.iter_child_nodes(node)]


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0] if body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text else body


def cpp_symbols(text: str, first_line: int) -> Iterator[Symbol]:
    """Yield the symbols of C++: keywords, signs and called library functions as they are.

    All other names are one symbol, and so are all numbers and all strings.
    """
    line = first_line
    own = frozenset(_DEFINED.findall(text)) - _CPP_WORDS  # functions that the student named
    for token in _CPP.finditer(text):
        found = token[0]
        if token["number"]:
            yield Symbol(NUMBER, line)
        elif token["name"]:
            kept = found in _CPP_WORDS or text[token.end() : token.end() + 1] == "("
            yield Symbol(found if kept and found not in own else NAME, line)
        elif token["text"]:
            yield Symbol(STRING, line)
        elif token["sign"]:
            yield Symbol(found, line)
        line += found.count("\n")
