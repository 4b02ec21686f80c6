"""The files that `grader new` made, and its author's next steps, as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.authoring import Draft
from grader.model import counted

_NEXT = """\

It asks for the same as {model}; `grader verify {name}` shows that it works.
Make it your own, and run that command after each change:
  1. the solution, {answers}/kernel.py
  2. the contract, {folder}/spec.py
  3. the properties in test_kernel.py, the mistakes in wrong_*.py
  4. the lesson, {folder}/README.md
  5. `grader stub {name} --force` writes kernel.py from the solution
Search for TODO(author) to find each place; docs/authoring.md explains all of them.
"""


def report(made: Draft) -> str:
    root = made.exercise.root
    folder = made.exercise.folder.relative_to(root).as_posix()
    answers = made.exercise.answers.relative_to(root).as_posix()
    return (
        f"{made.exercise.name}: {made.title}, begun as a copy of {made.model.name}\n"
        f"  {folder}   {_listed(made.files)}\n"
        f"  {answers}   {_listed(made.answers)}\n"
    ) + _NEXT.format(name=made.exercise.name, model=made.model.name, folder=folder, answers=answers)


def _listed(files: Mapping[Path, bytes]) -> str:
    wrong = [path for path in files if path.match("wrong_*.py")]
    others = sorted(path.as_posix() for path in files if path not in wrong)
    mistakes = [counted(len(wrong), "wrong kernels")] if wrong else []
    return ", ".join([*others, *mistakes])
