"""Mutants: each operator on a small kernel, and what holds for every mutant of the course."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from grader.authoring import mutants, operators, survivors
from grader.course import catalog
from grader.course.exercise import Exercise

ROOT = Path(__file__).parents[2]
EXERCISES = catalog.exercises(ROOT)


@cache  # to make them takes most of the time, and several tests look at the same
def made_of(exercise: Exercise) -> tuple[mutants.Mutant, ...]:
    return mutants.make(exercise.solution.read_text())


def changes(operator: str, source: str) -> list[str]:
    """What the operator makes of a source, as the lines that change."""
    chosen = [o for o in operators.OPERATORS if o.__name__ == operator]
    return [mutant.after for mutant in mutants.make(source, chosen)]


def inside(line: str) -> str:
    return f"import triton\n\ndef kernel(x, out):\n    {line}\n"


@pytest.mark.parametrize(
    ("operator", "line", "expected"),
    [
        ("drop_mask", "a = tl.load(x + i, mask=i < n, other=0.0)", ["a = tl.load(x + i)"]),
        ("drop_other", "a = tl.load(x + i, mask=m, other=0.0)", ["a = tl.load(x + i, mask=m)"]),
        (
            "skip_one_percent",
            "tl.store(x + i, a, mask=i < n)",
            ["tl.store(x + i, a, mask=(i < n) & (i % 100 != 99))"],
        ),
        (
            "skip_one_percent",
            "for i in range(n): s += a[i]",
            ["for i in range(n): s += (a[i]) * (i % 100 != 99)"],
        ),
        ("drop_barrier", "cuda.syncthreads()", ["pass"]),
        ("drop_max_subtraction", "y = tl.exp(x - m)", ["y = tl.exp(x)"]),
        ("drop_rescale", "s = s * f + tl.sum(x)", ["s = s + tl.sum(x)"]),
        ("drop_rescale", "s = f * s", ["s = s"]),
        ("half_accumulate", "s = tl.zeros((B,), tl.float32)", ["s = tl.zeros((B,), tl.float16)"]),
        (
            "half_accumulate",
            "for i in r: s += a",
            ["for i in r: s = (s + a).to(tl.float16)"],
        ),
        (
            "half_accumulate",
            "for i in r: s = s * f + a",
            ["for i in r: s = (s * f + a).to(tl.float16)"],
        ),
        ("drop_cast", "a = b.to(tl.float32)", ["a = b"]),
        ("change_reduction", "a = tl.max(x, axis=0)", ["a = tl.min(x, axis=0)"]),
        ("change_comparison", "a = i < n", ["a = i <= n"]),
        ("change_comparison", "a = i == n", ["a = i != n"]),
        ("drop_condition", "if t < n: f(t)", ["if True: f(t)"]),
        ("change_arithmetic", "a = (b + c) * d", ["a = (b + c) / d", "a = (b - c) * d"]),
        ("change_arithmetic", "a = b // c", ["a = b * c"]),
        ("drop_operand", "a = b * c", ["a = (b)", "a = (c)"]),
        ("change_constant", "a = 0.0", ["a = 1.0"]),
        ("change_constant", 'a = float("-inf")', ["a = 0.0"]),
        ("one_off_grid", "k[(n,)](x)", ["k[((n + 1),)](x)", "k[((n - 1),)](x)"]),
        ("one_off_range", "for i in range(0, n): f(i)", None),
        ("one_off_block", "a = p * BLOCK", ["a = p * (BLOCK + 1)", "a = p * (BLOCK - 1)"]),
        ("one_off_address", "tl.store(x + i, a)", ["tl.store(x + i + 1, a)"]),
        ("one_off_address", "a = b[i]", ["a = b[i + 1]"]),
        ("round_down", "a = triton.cdiv(n, B)", ["a = (n) // (B)"]),
        (
            "skip_block",
            "for i in range(0, n, B): f(i)",
            ["for i in range(0 + B, n, B): f(i)", "for i in range(0, n - B, B): f(i)"],
        ),
        ("swap_arguments", "k[g](x, y, n=n)", ["k[g](y, x, n=n)"]),
        (
            "change_stride",
            "f(x.stride(0), y.stride(0))",
            [
                "f(x.shape[-1], y.stride(0))",
                "f(y.stride(0), y.stride(0))",
                "f(x.stride(0), y.shape[-1])",
                "f(x.stride(0), x.stride(0))",
            ],
        ),
        ("drop_statement", "tl.store(x, a)", ["pass"]),
    ],
)
def test_an_operator_makes_its_changes(operator: str, line: str, expected: list[str] | None):
    if expected is None:
        expected = ["for i in range(0, (n + 1)): f(i)", "for i in range(0, (n - 1)): f(i)"]
    assert changes(operator, inside(line)) == expected


@pytest.mark.slow
def test_every_operator_makes_something_of_the_course():
    used = {mutant.operator for exercise in EXERCISES for mutant in made_of(exercise)}
    assert used == {operator.__name__ for operator in operators.OPERATORS}


def test_a_grid_that_has_a_name_is_changed_where_it_is_made():
    source = "def f(x):\n    grid = (r, c)\n    k[grid](x)\n"
    assert changes("one_off_grid", source) == [
        "grid = ((r + 1), c)",
        "grid = ((r - 1), c)",
        "grid = (r, (c + 1))",
        "grid = (r, (c - 1))",
    ]


def test_a_second_assignment_is_dropped_and_the_first_is_not():
    source = "def f(x):\n    a = 1\n    a = x\n    return a\n"
    dropped = mutants.make(source, [operators.drop_statement])
    assert [m.line for m in dropped] == [3, 4]


def test_annotations_imports_and_docstrings_are_left_alone():
    source = 'import a.b\n\n\n@c.jit(1)\ndef f(x: d[0], y: e[1 + 1] = 2):\n    """1 + 1"""\n'
    assert mutants.make(source) == ()


def test_text_beyond_ascii_does_not_shift_a_change():
    assert changes("drop_operand", "def f():\n    a = 'é' + b  # ×\n")[0] == "a = ('é')  # ×"


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_a_mutant_parses_and_changes_only_its_place(exercise: Exercise):
    source = exercise.solution.read_text()
    made = made_of(exercise)
    assert len(made) >= (40 if exercise.any_spec.scored else 10)
    lines = source.splitlines()
    for mutant in made:
        ast.parse(mutant.source)
        assert mutant.before != mutant.after
        changed = mutant.source.splitlines()
        assert changed[: mutant.line - 1] == lines[: mutant.line - 1]
        first = lines[mutant.line - 1].strip()
        assert mutant.before.startswith(first)
        # The longest place is a launch with some 18 arguments, which is dropped.
        assert len(mutant.before) < 400, "more than the place of the change"


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_course_s_declarations_fit_its_solutions(exercise: Exercise):
    path = exercise.survivors
    survivors.assign(made_of(exercise), survivors.read(path), path)


@pytest.mark.parametrize("name", ["04_online_softmax", "p16_warp_shuffle", "t05_block_loop"])
def test_each_mutant_is_another_program(name: str):
    (exercise,) = (one for one in EXERCISES if one.name == name)
    source, made = exercise.solution.read_text(), made_of(exercise)
    assert made == mutants.make(source)
    trees = {ast.dump(ast.parse(mutant.source)) for mutant in made}
    assert len(trees) == len(made)
    assert ast.dump(ast.parse(source)) not in trees


def test_a_sample_is_the_same_for_the_same_seed():
    made = made_of(EXERCISES[0])
    few = mutants.sample(made, 6, seed=1)
    assert few == mutants.sample(made, 6, seed=1)
    assert few != mutants.sample(made, 6, seed=2)
    assert [m for m in made if m in few] == few
    assert len(few) == 6
    assert tuple(mutants.sample(made, 10_000, seed=1)) == made
