"""A kernel file's text, which may be no Python, or too much of it."""

from __future__ import annotations

from grader.correctness.source import Source


def test_a_text_that_is_no_python_has_no_parts() -> None:
    for text in ("def f(:", "(" * 5000, "-" * 200_000 + "1", "x = 1\0"):
        source = Source(text.splitlines(), "@triton.jit")
        assert source.functions == ()
        assert source.launches == ()


def test_a_deep_expression_does_not_end_the_judge() -> None:
    deep = "def f():\n    return " + "+".join(["1"] * 20_000)
    assert Source(deep.splitlines(), "@triton.jit").launches == ()
