"""What holds for each exercise and each puzzle: its lesson, stub, solution, wrong kernels."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from grader import backends
from grader.course import catalog, stubs, wrong_kernels
from grader.course.exercise import Exercise

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FEWEST_WRONG = {"exercises": 6, "puzzles": 4}

each = pytest.mark.parametrize("exercise", catalog.parts(ROOT), ids=lambda e: e.name)


def lesson(exercise: Exercise) -> str:
    return (exercise.folder / "README.md").read_text(encoding="utf-8")


def words(text: str) -> str:
    """The text as one line, whatever its line breaks."""
    return " ".join(text.split())


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in parsed(path).body if isinstance(node, ast.FunctionDef)}


def parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args]


# -- the lesson tells what the spec tells


@each
def test_the_lesson_states_the_entry(exercise: Exercise):
    assert f"| entry | `{exercise.spec.signature}` |" in lesson(exercise)


@each
def test_the_lesson_says_how_many_hints_there_are_and_shows_none(exercise: Exercise):
    """A learner who reads the lesson to its end should not have read the solution."""
    text, hints = words(lesson(exercise)), exercise.spec.hints
    command = f"`grader hint {exercise.folder.name}`"
    assert f"## Hints There are {len(hints)}: {command} shows them one at a time. ##" in text
    assert not [hint for hint in hints if words(hint) in text]


@each
def test_the_lesson_names_every_argument_and_dtype(exercise: Exercise):
    task = lesson(exercise).split("## The task")[1].split("\n## ")[0]
    for argument in exercise.spec.arguments:
        assert f"`{argument.name}`" in task
    for dtype in exercise.spec.dtypes:
        assert dtype in task


@each
def test_the_lesson_s_commands_name_the_exercise(exercise: Exercise):
    commands = re.findall(r"grader (?:show|check|stub|hint) (\w+)", lesson(exercise))
    assert set(commands) == {exercise.folder.name}


@each
def test_the_lesson_names_the_files_of_other_languages(exercise: Exercise):
    """`kernel_cuda.py` lay beside `kernel.py`, and no lesson said what it is for."""
    task = words(lesson(exercise).split("## The task")[1].split("\n## ")[0])
    for language in exercise.spec.also_in:
        assert (
            f"You may write it in {backends.title(language)} too, in `kernel_{language}.py`: "
            f"`grader check {exercise.folder.name} --backend {language}` checks that file."
        ) in task


# -- the files


@each
def test_the_stub_is_made_from_the_solution(exercise: Exercise):
    assert not stubs.drifted(exercise)


@each
def test_wrong_kernels_say_what_is_wrong_and_where_it_shows(exercise: Exercise):
    assert len(exercise.wrong_kernels) >= FEWEST_WRONG[exercise.folder.parent.name]
    for kernel in exercise.wrong_kernels:
        # Speed needs a GPU, and a file that does not load is nobody's solution.
        assert wrong_kernels.rejected_at(kernel) not in ("load", "speed"), kernel
        docstring = ast.get_docstring(parsed(kernel))
        assert docstring, kernel
        assert len(docstring.splitlines()[0]) > 20, f"{kernel} does not say what is wrong with it"


@each
def test_wrong_kernels_differ_from_the_solution_and_from_each_other(exercise: Exercise):
    def code(path: Path) -> str:
        tree = parsed(path)
        tree.body = tree.body[1:]  # without the docstring
        return ast.dump(tree)

    kernels = [exercise.solution, *exercise.wrong_kernels]
    assert len({code(kernel) for kernel in kernels}) == len(kernels)


@each
def test_every_kernel_has_the_entry_of_the_contract(exercise: Exercise):
    names = [argument.name for argument in exercise.spec.arguments]
    for kernel in [exercise.kernel, exercise.solution, *exercise.wrong_kernels]:
        assert parameters(functions(kernel)[exercise.spec.entry]) == names, kernel


@each
def test_there_are_two_properties_that_say_what_they_hold(exercise: Exercise):
    tests = [f for name, f in functions(exercise.tests).items() if name.startswith("test_")]
    assert len(tests) >= 2
    for test in tests:
        # The first line is what a learner reads when the property fails.
        assert ast.get_docstring(test), test.name
        assert "kernel" in parameters(test)
