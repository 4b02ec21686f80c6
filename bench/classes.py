"""Made-up classes for benchmarks: a roster and a folder of submissions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from grader.course import Exercise

Choose = Callable[[int, Exercise], Path]


def honest_and_wrong(number: int, exercise: Exercise) -> Path:
    """Return the kernel that a student hands in: the solution, or one of the wrong ones."""
    files = [exercise.solution, *exercise.wrong_kernels]
    return files[number % len(files)]


def solution(number: int, exercise: Exercise) -> Path:
    return exercise.solution


def wrong_output(number: int, exercise: Exercise) -> Path:
    """Return a kernel that is rejected by its outputs: it fails before anything is measured."""
    wrong = [
        path for path in exercise.wrong_kernels if "Rejected at: correctness" in path.read_text()
    ]
    return wrong[number % len(wrong)]


def make(folder: Path, students: int, exercises: Sequence[Exercise], choose: Choose) -> None:
    """Write roster.csv and submissions/; a comment line makes each file another one."""
    rows = ["login,name"]
    for number in range(students):
        login = f"s{number:03d}"
        rows.append(f"{login},Student {number}")
        for exercise in exercises:
            place = folder / "submissions" / login / exercise.folder.relative_to(exercise.root)
            place.mkdir(parents=True)
            text = choose(number, exercise).read_text(encoding="utf-8")
            (place / exercise.file).write_text(f"{text}\n# {login}\n", encoding="utf-8")
    (folder / "roster.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
