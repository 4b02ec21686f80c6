"""Every puzzle is complete: lesson, stub, spec, properties, solution, wrong kernels, hints.

That the judge accepts and rejects what it must is `grader verify`'s part.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from grader import course, stub
from grader.course import Exercise
from grader.terms import StepName

ROOT = Path(__file__).parents[1]
PUZZLES = [e for e in course.exercises(ROOT) if e.folder.parent.name == "puzzles"]
MOST_ELEMENTS = 4096  # of a case: the simulator runs a Python task for each thread
MOST_PICTURED = 64

each = pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda e: e.name)


def lesson(puzzle: Exercise) -> str:
    return (puzzle.folder / "README.md").read_text(encoding="utf-8")


def words(text: str) -> str:
    """The text as one line, whatever its line breaks."""
    return " ".join(text.split())


def functions(path: Path) -> dict[str, list[str]]:
    """The functions of a file, each with its parameters."""
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }


def test_puzzles_are_numbered_without_a_gap():
    numbers = [int(re.fullmatch(r"p(\d\d)_[a-z0-9_]+", p.name)[1]) for p in PUZZLES]  # type: ignore[index]
    assert numbers == list(range(1, len(PUZZLES) + 1))


@each
def test_the_lesson_has_every_part(puzzle: Exercise):
    text = lesson(puzzle)
    assert text.startswith(f"# {puzzle.spec.title}\n")
    parts = re.findall(r"^## (.*)", text, re.MULTILINE)
    needed = ["The idea", "The task", "How it is graded", "Hints", "Common mistakes"]
    assert [part for part in parts if part in needed] == needed
    assert f"| entry | `{puzzle.spec.signature}` |" in text


@each
def test_the_lesson_has_the_spec_s_hints(puzzle: Exercise):
    said = re.findall(r"<summary>Hint \d+</summary>(.*?)</details>", lesson(puzzle), re.DOTALL)
    assert [words(hint) for hint in said] == [words(hint) for hint in puzzle.spec.hints]


@each
def test_the_lesson_names_every_argument_and_dtype(puzzle: Exercise):
    task = lesson(puzzle).split("## The task")[1].split("\n## ")[0]
    for argument in puzzle.spec.arguments:
        assert f"`{argument.name}`" in task
    for dtype in puzzle.spec.dtypes:
        assert dtype in task


@each
def test_the_lesson_states_every_budget(puzzle: Exercise):
    rows = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \| ([\d,]+) \|$", lesson(puzzle), re.MULTILINE)
    told = {name.replace(" ", "_"): (int(most), int(best)) for name, most, best in rows}
    assert told == {b.count: (b.most, b.best) for b in puzzle.spec.budgets}


@each
def test_the_lesson_s_commands_name_the_puzzle(puzzle: Exercise):
    commands = re.findall(r"grader (?:show|check|stub) (\w+)", lesson(puzzle))
    assert set(commands) == {puzzle.name}


@each
def test_the_stub_is_made_from_the_solution(puzzle: Exercise):
    assert not stub.drifted(puzzle)


@each
def test_wrong_kernels_say_what_is_wrong_and_where_it_shows(puzzle: Exercise):
    assert len(puzzle.wrong_kernels) >= 4
    for kernel in puzzle.wrong_kernels:
        assert course.rejected_at(kernel) not in (StepName.LOAD, StepName.SPEED), kernel
        docstring = ast.get_docstring(ast.parse(kernel.read_text(encoding="utf-8")))
        assert docstring is not None
        assert len(docstring.splitlines()[0]) > 20, kernel


@each
def test_every_kernel_has_the_entry_of_the_contract(puzzle: Exercise):
    names = [argument.name for argument in puzzle.spec.arguments]
    for kernel in [puzzle.kernel, puzzle.solution, *puzzle.wrong_kernels]:
        assert functions(kernel)[puzzle.spec.entry] == names, kernel


@each
def test_cases_are_small_and_the_pictured_one_fits_a_screen(puzzle: Exercise):
    spec = puzzle.spec
    assert spec.scored is None
    assert max(case.elements for case in [*spec.edges, spec.counted]) <= MOST_ELEMENTS
    assert spec.edges[0].elements == min(case.elements for case in spec.edges)
    assert {case.draw for case in spec.edges} == set(spec.draws)
    assert spec.pictured is not None
    assert spec.pictured.elements <= MOST_PICTURED


@each
def test_there_are_two_properties_that_say_what_they_hold(puzzle: Exercise):
    tests = [
        node
        for node in ast.parse(puzzle.tests.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert len(tests) >= 2
    for test in tests:
        # The first line is what a learner reads when the property fails.
        assert ast.get_docstring(test), test.name
