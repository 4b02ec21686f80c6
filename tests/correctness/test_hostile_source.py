"""A kernel file that is made to exhaust whoever reads its text."""

import ast

import pytest

from grader.correctness import source as parts
from grader.correctness.source import Source, grid_lines
from grader.correctness.uses import uses_of_threads
from grader.model import ArrayRef, LaunchRef, Traced


def test_a_deep_decorator_is_read() -> None:
    text = "@jit" + ".a" * 900 + "\ndef f(): pass\n@triton.jit\ndef g(): pass"
    kernels = Source(text.split("\n"), "triton.jit").kernels
    assert [kernel.name for kernel in kernels] == ["f", "g"]


def test_a_grid_of_many_names_takes_few_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def assigned(function: ast.AST, name: str) -> list[ast.stmt]:
        searched.append(name)
        return []

    monkeypatch.setattr(parts, "assigned", assigned)
    names = ", ".join(f"a{number}" for number in range(5000))
    text = f"def f():\n  k[{names}]()\n" + "  k[b]()\n" * 1000
    lines = grid_lines(Source(text.split("\n"), "triton.jit"))
    assert len(searched) <= 100
    assert lines[:2] == [2, 3]


def test_arrays_of_any_extents_cost_no_memory() -> None:
    launch = LaunchRef("k", (1, 1, 1), (1, 1, 1))
    huge = ArrayRef("a", "argument", (2**31 - 1,) * 8)
    traced = Traced((launch,), (huge,), ((0, 0, 0, 0, 0, 0, 0, 5, 0),))
    assert uses_of_threads(traced) == ()
