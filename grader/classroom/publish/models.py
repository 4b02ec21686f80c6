"""The model solutions of a course, each with commentary, evidence and typical mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.publish import evidence
from grader.classroom.publish.evidence import Evidence
from grader.classroom.publish.further import Further, further
from grader.classroom.publish.mistakes import Mistake, mistake
from grader.classroom.publish.sources import as_markdown, digest, docstring, require_name, text_of
from grader.course import Exercise, regions
from grader.grading import has_step
from grader.model import BrokenExercise, GraderError, Result, Spec


@dataclass(frozen=True)
class Model:
    """One model solution and everything published with it.

    `commentary` is Markdown, the author's own, or made from the docstring when `own` is false.
    `learner_lines` are the lines, counted from 1, that the exercise leaves to the learner.
    `further` are the solutions beside it, in other languages or fast.
    """

    name: str
    shelf: str
    spec: Spec
    source: str
    sha256: str
    commentary: str
    own: bool
    learner_lines: frozenset[int]
    mistakes: tuple[Mistake, ...]
    evidence: Evidence
    further: tuple[Further, ...]


def collect(
    exercises: Sequence[Exercise], results: Sequence[Result]
) -> tuple[list[Model], list[str]]:
    """Return the solutions that can be published, and a line for each problem of the others."""
    models: list[Model] = []
    problems: list[str] = []
    for exercise in exercises:
        try:
            model, left_out = _model(exercise, results)
        except GraderError as error:
            problems.append(f"{exercise.name} is left out: {error.message}")
        else:
            models.append(model)
            problems += left_out
    return models, problems


def _model(exercise: Exercise, results: Sequence[Result]) -> tuple[Model, list[str]]:
    require_name(exercise.folder)
    spec = exercise.whole_spec
    source = text_of(exercise.solution)
    problems: list[str] = []
    mistakes = []
    for path in exercise.wrong_kernels:
        try:
            mistakes.append(mistake(path, _compared_with(exercise, path), spec))
        except BrokenExercise as error:
            problems.append(f"{exercise.name}: {error.message}")
    own = ""
    try:
        own = commentary_of(exercise)
    except BrokenExercise as error:
        problems.append(f"{exercise.name}: {error.message}")
    sha256 = digest(source)
    model = Model(
        name=exercise.name,
        shelf=exercise.shelf,
        spec=spec,
        source=source,
        sha256=sha256,
        commentary=own or as_markdown(docstring(source)),
        own=bool(own),
        learner_lines=_learner_lines(source),
        mistakes=tuple(mistakes),
        evidence=evidence.choose(exercise.name, sha256, has_step(spec, "speed"), results),
        further=tuple(further(exercise, results)),
    )
    return model, problems


def _compared_with(exercise: Exercise, wrong: Path) -> str:
    """Read the solution in a wrong kernel's own language, or the first where there is none."""
    alike = exercise.for_file(text_of(wrong).encode()).solution
    return text_of(alike if alike.is_file() else exercise.solution)


def commentary_of(exercise: Exercise) -> str:
    """Read the author's commentary, Markdown; empty without a file.

    Raises BrokenExercise when the file cannot be used.
    """
    path = exercise.commentary
    return text_of(path).strip() if path.exists() else ""


def _learner_lines(source: str) -> frozenset[int]:
    try:
        return frozenset(
            line
            for region in regions(source, "kernel.py")
            for line in range(region.first, region.last + 1)
        )
    except BrokenExercise:  # markers are missing or not in order
        return frozenset()
