"""A rule about launches: errors that are caught."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Source


def hidden_errors(source: Source) -> Iterator[Match]:
    for node in source.nodes:
        if isinstance(node, ast.Try) and _launches(source, node.body):
            for handler in node.handlers:
                if not isinstance(handler.body[-1], ast.Raise):
                    yield Match(handler, "This `except`")
        elif isinstance(node, ast.With) and _launches(source, node.body):
            for item in node.items:
                called = item.context_expr
                maker = called.func if isinstance(called, ast.Call) else called
                if "contextlib.suppress" in source.names.paths(maker):
                    yield Match(called, "This `suppress`")


def _launches(source: Source, body: Iterable[ast.stmt]) -> bool:
    return any(
        source.is_launch(node) or source.local(node.func) & source.launching
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
    )


RULES = (
    Rule(
        "KG601",
        "hidden-error",
        Level.WARNING,
        "{what} goes on when a launch fails.",
        "A launch that fails leaves the output as it was. The caller sees a wrong output, "
        "not the error that explains it.",
        "Let the error through: remove the `try`, or end the handler with `raise`.",
        hidden_errors,
    ),
)
