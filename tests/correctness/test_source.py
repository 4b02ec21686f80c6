"""A kernel file's text, which may be no Python, or too much of it."""

from __future__ import annotations

import ast

from grader.correctness.source import Source, assigned, grid_line


def test_a_text_that_is_no_python_has_no_parts() -> None:
    for text in ("def f(:", "(" * 5000, "-" * 200_000 + "1", "x = 1\0"):
        source = Source(text.splitlines(), "@triton.jit")
        assert source.functions == ()
        assert source.launches == ()


def test_a_deep_expression_does_not_end_the_judge() -> None:
    deep = "def f():\n    return " + "+".join(["1"] * 20_000)
    assert Source(deep.splitlines(), "@triton.jit").launches == ()


def test_an_index_is_not_assigned_to() -> None:
    text = "def f():\n  a = 1\n  b[a], c = 2, 3\n  b[a][d] += 4\n  for e, *g in b: pass"
    [function] = ast.parse(text).body
    lines = {name: [each.lineno for each in assigned(function, name)] for name in "abcdeg"}
    assert lines == {"a": [2], "b": [3, 4], "c": [3], "d": [], "e": [5], "g": [5]}


def test_a_helper_makes_the_grid_rather_than_what_it_is_given() -> None:
    text = "def f(x):\n  n = x.size()\n  k[{0}](x)\ndef of(n):\n  return n // 8"
    for grid, line in (("of(n)", 5), ("(of(n),)", 5), ("n", 2), ("8", 3)):
        assert grid_line(Source(text.format(grid).splitlines(), "@triton.jit")) == line
