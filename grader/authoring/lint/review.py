"""From a kernel file to its findings. The file is read and parsed, never imported or run."""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

from grader import __version__
from grader.authoring.lint import (
    accumulators,
    barriers,
    cpp,
    lanes,
    launches,
    masks,
    offsets,
    order,
    outside,
    state,
    tricks,
    work,
)
from grader.authoring.lint.records import Level, LintFinding, Review
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Source
from grader.model import UsageError


def _nothing(source: Source) -> Iterator[Match]:
    """Find nothing: `review` itself reports a file that cannot be parsed."""
    yield from ()


UNREADABLE = Rule(
    "KG001",
    "syntax",
    Level.WARNING,
    "Python cannot read this file: {what}.",
    "Nothing else was looked for in it, and a check stops at its first step.",
    "Fix this line, or the one before it.",
    _nothing,
)
RULES: tuple[Rule, ...] = (
    UNREADABLE,
    *work.RULES,
    *state.RULES,
    *order.RULES,
    *outside.RULES,
    *cpp.RULES,
    *tricks.RULES,
    *launches.RULES,
    *masks.RULES,
    *offsets.RULES,
    *barriers.RULES,
    *accumulators.RULES,
    *lanes.RULES,
)
TAUGHT = frozenset(rule.id for rule in RULES if rule.taught)


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.",
            "Name kernel files, such as exercises/01_vector_add/kernel.py.",
        ) from None


def review(path: str, content: bytes) -> Review:
    """Apply the rules to the bytes of one file; list the findings from top to bottom.

    A line has at most one finding of each rule, the leftmost: a person looks at whole lines.
    """
    try:
        text = _decoded(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python finds odd is not a finding
            source = Source(ast.parse(text))
        lines = text.split("\n")  # as Python counts them; `splitlines` also ends one at a form feed
        found = [
            _finding(rule, match, source, lines) for rule in RULES for match in rule.find(source)
        ]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        found = [_unreadable(error)]
    found.sort(key=lambda one: (one.line, one.column, one.rule))
    first = {(one.line, one.rule): one for one in reversed(found)}
    return Review(
        grader=__version__,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        findings=tuple(one for one in found if first[one.line, one.rule] is one),
    )


def lessons_in(path: Path, sha256: str) -> tuple[LintFinding, ...]:
    """Find what lessons warn of in the file that was graded; nothing where it has changed since."""
    try:
        content = path.read_bytes()
    except OSError:
        return ()
    if hashlib.sha256(content).hexdigest() != sha256:
        return ()
    return tuple(one for one in review(str(path), content).findings if one.rule in TAUGHT)


def _decoded(content: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    with io.TextIOWrapper(io.BytesIO(content), encoding) as stream:
        return stream.read()


def _finding(rule: Rule, match: Match, source: Source, lines: list[str]) -> LintFinding:
    node = match.node
    line, end_line = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    function = source.function(node)
    return _made(
        rule,
        match.what,
        (line, _column(lines[line - 1], begin), end_line, _column(lines[end_line - 1], end)),
        function.name if function else "",
        lines[line - 1].strip(),
    )


def _column(line: str, offset: int) -> int:
    """Convert an offset in bytes of UTF-8, as Python counts, to characters from 1."""
    return len(line.encode()[:offset].decode(errors="ignore")) + 1


def _unreadable(error: Exception) -> LintFinding:
    what, line, column, code = str(error), 1, 1, ""
    if isinstance(error, SyntaxError):
        what, line, column = error.msg, max(error.lineno or 1, 1), max(error.offset or 1, 1)
        code = (error.text or "").strip()
    elif isinstance(error, RecursionError | MemoryError):
        what = "it is nested too deeply"
    return _made(UNREADABLE, what.rstrip("."), (line, column, line, column), "", code)


def _made(
    rule: Rule, what: str, place: tuple[int, int, int, int], function: str, code: str
) -> LintFinding:
    line, column, end_line, end_column = place
    return LintFinding(
        rule=rule.id,
        name=rule.name,
        level=rule.level,
        message=rule.message.format(what=what),
        why=rule.why,
        action=rule.action,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        function=function,
        code=code,
    )
