"""Nothing is needed before it is taught: each name of a language stands in an example by then."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.course import catalog
from grader.course.exercise import Exercise

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COURSE = catalog.exercises(ROOT)
LANGUAGES = ("tl", "triton", "cuda")  # the names under which a kernel file has them
METHODS = ("to",)  # of a block
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

each = pytest.mark.parametrize("exercise", COURSE, ids=lambda e: e.name)


def chain(node: ast.AST) -> str:
    """Return `cuda.threadIdx.x` of such an expression, and the empty string of any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := chain(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def used(tree: ast.AST) -> set[str]:
    """Collect `tl.load`, `cuda.jit(device=)`, `.to` and `[…](num_warps=)` from a file."""
    whole = {chain(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    longest = {name for name in whole if not any(other.startswith(f"{name}.") for other in whole)}
    names = {name for name in longest if name.split(".")[0] in LANGUAGES}
    constants = set(_parameters(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        options = {keyword.arg for keyword in node.keywords}
        if isinstance(node.func, ast.Subscript):
            names |= {f"[…]({option}=)" for option in options - constants}
        elif chain(node.func).split(".")[0] in LANGUAGES:
            names |= {f"{chain(node.func)}({option}=)" for option in options}
        elif isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            names.add(f".{node.func.attr}")
    return names


def _parameters(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from (argument.arg for argument in node.args.args)


def examples(exercise: Exercise) -> list[ast.Module]:
    """Parse the code examples of a lesson: its fenced Python."""
    text = (exercise.folder / "README.md").read_text(encoding="utf-8")
    return [ast.parse(code) for code in FENCE.findall(text)]


@each
def test_a_solution_uses_what_a_lesson_has_shown_by_then(exercise: Exercise):
    so_far = COURSE[: COURSE.index(exercise) + 1]
    shown = {name for lesson in so_far for tree in examples(lesson) for name in used(tree)}
    needed = used(ast.parse(exercise.solution.read_text(encoding="utf-8")))
    assert needed, "a solution uses its language"
    assert not needed - shown


def test_what_is_collected_of_a_file():
    code = """
@cuda.jit(device=True)
def f(x, BLOCK: tl.constexpr):
    y = tl.load(x + cuda.threadIdx.x, mask=x.shape[0] > 1).to(tl.float32)
    other.load(y, axis=0)

kernel[(1,)](x, BLOCK=4, num_warps=8)
"""
    assert used(ast.parse(code)) == {
        *("cuda.jit", "cuda.jit(device=)", "cuda.threadIdx.x", "tl.constexpr"),
        *("tl.load", "tl.load(mask=)", "tl.float32", ".to", "[…](num_warps=)"),
    }
