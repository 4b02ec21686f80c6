"""Code that every student had, or may have seen: the stub, the lesson, the solutions."""

from __future__ import annotations

import re
from pathlib import Path

from grader.course import Exercise, make_stub

_CODE = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def texts(exercise: Exercise) -> list[str]:
    """Return the code of an exercise's stub, lesson and solutions, each as a file of its own.

    A learner's copy of a course has no solutions: its released stubs are taken.
    """
    solutions = [path.read_text(encoding="utf-8") for _, path in exercise.solutions]
    stubs = [made for one in exercise.in_all_backends if (made := _stub(one)) is not None]
    lessons = [exercise.folder / "README.md", *sorted(exercise.answers.glob("*.md"))]
    code = [block for path in lessons for block in _blocks(path)]
    eager = exercise.folder / "eager.py"
    return [*solutions, *stubs, *code, *([eager.read_text()] if eager.is_file() else [])]


def _stub(exercise: Exercise) -> str | None:
    if exercise.solution.is_file():
        return make_stub(exercise.solution.read_text(encoding="utf-8"), exercise.name)
    stub = exercise.released_stub
    return stub.read_text(encoding="utf-8") if stub.is_file() else None


def _blocks(path: Path) -> list[str]:
    return _CODE.findall(path.read_text(encoding="utf-8")) if path.is_file() else []
