"""The lines of a module's text, each a record of what it holds, by the grammar beside this file.

A kernel is compiled for each dtype and alignment of its arguments, and seven of ten lines are those
of an earlier text. A line that is a whole operation is read once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import LarkError, UnexpectedInput

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir.literals import dense, number, string, type_of
from grader.backends.triton.device.ttir.records import Attribute, Type

MOST_BYTES = 1 << 20  # of operations, without locations: some 4,000 of them
MOST_LINES = 50_000
MOST_NESTED = 64

# Operations, and characters of each: what is read of a line takes many times its size.
MOST_REMEMBERED, LONGEST_REMEMBERED = 8192, 512

_PLACE = "\0"  # before the number of an operation in a text; locations.split lets none pass
_AT = re.compile(r"(?<= )loc\(#loc\d*\)$")  # the location of an operation: its number changes often
_ARRAY = re.compile(r"array<\s*(\w+)\s*(?::([^<>]*))?>")


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block as it is written; the first one of a region has no label."""

    label: str
    arguments: tuple[tuple[str, Type], ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class RegionText:
    """A region as it is written; `depth` counts the regions that nest in it, and itself."""

    blocks: tuple[BlockText, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class Line:
    """An operation as it is written: its name, and the items that follow it."""

    name: str
    results: tuple[str, ...]
    items: tuple[Item, ...]


Item = Token | RegionText | Mapping[str, Attribute]


def read(text: str) -> Sequence[Line]:
    """Return the top lines of a text without locations; raise Malformed if its form is another."""
    if len(text) > MOST_BYTES:
        raise Malformed(f"a text of more than {MOST_BYTES} bytes")
    if text.count("\n") > MOST_LINES:
        raise Malformed(f"more than {MOST_LINES} operations")
    if _PLACE in text:
        raise Malformed("a zero byte")
    lark, transformer = grammar()
    marked, transformer.places = _marked(text)
    try:
        lines: Any = lark.parse(marked, "start")
    except UnexpectedInput as error:
        raise Malformed(f"unexpected text at line {error.line}, column {error.column}") from None
    except LarkError:
        raise Malformed("no form that Triton prints") from None
    finally:
        transformer.places = ()  # of this text alone
    return tuple(lines)


def _marked(text: str) -> tuple[str, list[list[Line]]]:
    """Put a place into the text for operations that follow each other and have no region.

    Return it, with as many lines as before, and the operations of each place.
    """
    marked: list[str] = []
    places: list[list[Line]] = []
    follows = False
    for line in text.split("\n"):
        operation = _operation_of(line)
        if operation is None:
            marked.append(line)
            follows = follows and not line
        elif follows:
            marked.append("")
            places[-1].append(operation)
        else:
            marked.append(f"{_PLACE}{len(places)}")
            places.append([operation])
            follows = True
    return "\n".join(marked), places


def _operation_of(line: str) -> Line | None:
    """Return the operation that a line holds; None if it holds none, or only a part of one."""
    content = line.strip(" ")
    if not content or content[0] in "}^" or content.endswith("{"):
        return None
    if len(content) > LONGEST_REMEMBERED or "//" in content:  # a comment may hold a location
        return None
    at = _AT.search(content)
    operation = operation_in(content[: at.start()] if at else content)
    if operation is None or at is None:
        return operation
    items = (*operation.items, Token("LOCATION", at[0]))
    return Line(operation.name, operation.results, items)


@lru_cache(MOST_REMEMBERED)
def operation_in(text: str) -> Line | None:
    """Read an operation; return None if the text is not an operation."""
    try:
        operation: object = grammar()[0].parse(f"{text}\n", "operation")
    except LarkError:
        return None
    assert isinstance(operation, Line)
    return operation


@cache
def grammar() -> tuple[Lark, _Lines]:
    """Return the parser: made once, in some 60 ms, which a server spends before it forks."""
    transformer = _Lines()
    lark = Lark(
        Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        start=["start", "operation"],
        maybe_placeholders=False,
        transformer=transformer,
    )
    return lark, transformer


class _Lines(Transformer[Token, Any]):
    """The value of each rule, made as soon as the parser has read it.

    `places` has the operations of each place in the text.
    """

    places: Sequence[list[Line]] = ()

    def start(self, items: list[Any]) -> Sequence[Line]:
        return _operations(items)

    def place(self, tokens: list[Token]) -> list[Line]:
        return self.places[int(tokens[0][len(_PLACE) :])]

    def operation(self, items: list[Any]) -> Line:
        results = items.pop(0) if isinstance(items[0], tuple) else ()
        name = items[0]
        return Line(_word(name), results, tuple(items[1:]))

    def results(self, names: list[Token]) -> tuple[str, ...]:
        """Return the names of results; of `%a:2`, a#0 and a#1."""
        found: list[str] = []
        for token in names[:-1]:  # the last one is the sign =
            name, _, count = token[1:].partition(":")
            if len(count) > 3:
                raise Malformed(f"{count[:80]} results")
            found += [f"{name}#{i}" for i in range(int(count))] if count else [name]
        return tuple(found)

    def region(self, items: list[Any]) -> RegionText:
        lines = _operations(items)
        blocks = [each for each in items if isinstance(each, BlockText)]
        if lines or not blocks:
            blocks.insert(0, BlockText("bb0", (), lines))
        inside = (
            item.depth
            for block in blocks
            for line in block.lines
            for item in line.items
            if isinstance(item, RegionText)
        )
        depth = 1 + max(inside, default=0)
        if depth > MOST_NESTED:
            raise Malformed(f"regions nest more than {MOST_NESTED} deep")
        return RegionText(tuple(blocks), depth)

    def block(self, items: list[Any]) -> BlockText:
        label, arguments = items[0], items[1] if isinstance(items[1], tuple) else ()
        return BlockText(label[1:], arguments, _operations(items))

    def arguments(self, items: list[tuple[str, Type]]) -> tuple[tuple[str, Type], ...]:
        return tuple(items)

    def argument(self, items: list[Token]) -> tuple[str, Type]:
        return items[0][1:], type_of(items[2])

    def dictionary(self, entries: list[tuple[str, Attribute]]) -> dict[str, Attribute]:
        return dict(entries)

    def entry(self, items: list[Any]) -> tuple[str, Attribute]:
        return _word(items[0]), items[2] if len(items) > 1 else True

    def array(self, items: list[Attribute]) -> tuple[Attribute, ...]:
        return tuple(items)

    def atom(self, items: list[Token]) -> Attribute:
        return attribute(items[0], type_of(items[2]) if len(items) > 1 else None)


def _operations(items: Sequence[Any]) -> tuple[Line, ...]:
    """Return the operations among the items of a region or a block, in their order."""
    found: list[Line] = []
    for item in items:
        if isinstance(item, Line):
            found.append(item)
        elif isinstance(item, list):
            found += item
    return tuple(found)


def attribute(token: Token, type_: Type | None = None) -> Attribute:
    """Return the value that a terminal stands for in an attribute."""
    if token.type == "STRING":
        return string(token)
    if token.type == "NUMBER" or token in ("true", "false"):
        return number(token, type_.element if type_ else "")
    if token.type == "TYPE":
        return type_of(token)
    if token.type == "SYMBOL":
        return symbol(token)
    if token.type == "ARRAY":
        return _array(token)
    if token.type == "DENSE":
        return dense(token, type_ or Type("i32"))
    return str(token)


def symbol(token: Token) -> str:
    """Return the name of a function, which has quotes if it has unusual characters."""
    return string(token[1:]) if token[1] == '"' else str(token[1:])


def _word(token: Token) -> str:
    return string(token) if token.type == "STRING" else str(token)


def _array(token: Token) -> tuple[Attribute, ...]:
    match = _ARRAY.fullmatch(token)
    if match is None:
        raise Malformed(f"the array {token[:80]}")
    return tuple(number(part.strip(), match[1]) for part in (match[2] or "").split(",") if part)
