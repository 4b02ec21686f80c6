"""The model solutions of a course, each with commentary, evidence and typical mistakes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.classroom.publish import evidence
from grader.classroom.publish.evidence import Evidence
from grader.classroom.publish.mistakes import Mistake, mistake
from grader.classroom.publish.sources import digest, docstring, require_name, text_of
from grader.course import Exercise, regions
from grader.grading import has_step
from grader.model import BrokenExercise, GraderError, Result, Spec, texts


@dataclass(frozen=True)
class Model:
    """One model solution and everything published with it.

    `commentary` is Markdown, the author's own, or made from the docstring when `own` is false.
    `learner_lines` are the lines, counted from 1, that the exercise leaves to the learner.
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
            mistakes.append(mistake(path, source, spec))
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
        commentary=own or _as_markdown(docstring(source)),
        own=bool(own),
        learner_lines=_learner_lines(source),
        mistakes=tuple(mistakes),
        evidence=evidence.choose(exercise.name, sha256, has_step(spec, "speed"), results),
    )
    return model, problems


def commentary_of(exercise: Exercise) -> str:
    """Read the author's commentary, Markdown; empty without a file.

    Raises BrokenExercise when the file cannot be used.
    """
    path = exercise.commentary
    return text_of(path).strip() if path.exists() else ""


def _as_markdown(docstring: str) -> str:
    """Turn a docstring's plain text into Markdown that looks the same.

    Indented parts are code in both. Elsewhere only `code` between backticks has a meaning.
    """
    blocks = []
    for block in re.split(r"\n\s*\n", docstring):
        if all(line.startswith("    ") for line in block.splitlines()):
            blocks.append(block)
        else:
            blocks.append(texts.markdown(block, code=True))
    return "\n\n".join(blocks)


def _learner_lines(source: str) -> frozenset[int]:
    try:
        return frozenset(
            line
            for region in regions(source, "kernel.py")
            for line in range(region.first, region.last + 1)
        )
    except BrokenExercise:  # markers are missing or not in order
        return frozenset()
