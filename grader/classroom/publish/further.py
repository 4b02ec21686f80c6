"""The solutions beside the lesson's: in other languages, and the fast one, each with its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import backends
from grader.classroom.publish import evidence
from grader.classroom.publish.evidence import Evidence
from grader.classroom.publish.sources import as_markdown, digest, docstring, text_of
from grader.course import Exercise
from grader.grading import has_step
from grader.model import Result


@dataclass(frozen=True)
class Further:
    """One of them. `text` is Markdown, the author's own, or the docstring where `own` is false.

    `backend` is the title of its language.
    """

    file: str
    backend: str
    fast: bool
    source: str
    sha256: str
    text: str
    own: bool
    evidence: Evidence

    @property
    def title(self) -> str:
        return f"Fast, in {self.backend}" if self.fast else f"In {self.backend}"

    @property
    def text_file(self) -> str:
        return str(Path(self.file).with_suffix(".md"))


def further(exercise: Exercise, results: Sequence[Result]) -> Iterator[Further]:
    """Yield those of an exercise. Raises BrokenExercise for a file that cannot be read."""
    for _, path in exercise.solutions:
        if path == exercise.solution:
            continue
        source = text_of(path)
        spec = exercise.for_file(source.encode()).whole_spec
        words = path.with_suffix(".md")
        own = text_of(words).strip() if words.exists() else ""
        sha256 = digest(source)
        yield Further(
            file=path.name,
            backend=backends.title(spec.backend),
            fast=path == exercise.fast,
            source=source,
            sha256=sha256,
            text=own or as_markdown(docstring(source)),
            own=bool(own),
            evidence=evidence.choose(exercise.name, sha256, has_step(spec, "speed"), results),
        )
