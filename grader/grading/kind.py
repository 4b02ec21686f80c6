"""A kind of exercise as plain data and a few functions: what is written, and how it is graded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from grader.course import make_stub
from grader.model import BaseSpec

Rows = Iterable[tuple[str, str]]  # labels and their texts
Sections = Iterable[tuple[str, Rows]]  # titles and their rows


def no_backend(spec: BaseSpec) -> None:
    return None


def no_sections(spec: BaseSpec) -> tuple[()]:
    return ()


def no_answers(spec: BaseSpec) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of exercise, defined as `KIND` by a folder of `grader.grading.kinds`.

    `spec` is the type of its `SPEC`, which also says which file the learner writes; `steps` names
    its steps in the order in which they run. `backend(spec)` names the kernel language whose
    workers run the file, or returns None if no code of it runs. `stub(source, name, path)` makes
    the file that a learner starts from out of the solution. `describe(spec)` yields sections for
    `grader show`, `lesson(spec)` the rows of the table with which `grader new` begins a lesson.

    `grader verify` grades the stub, the solution and the wrong files of every exercise. If
    `mutants` is true, it also grades small changes of the solution. In place of a kernel it grades
    each of `no_work(spec)`, names of `grader.sandbox.ANSWERS`.
    """

    name: str
    title: str
    spec: type[BaseSpec]
    steps: tuple[str, ...]
    backend: Callable[[Any], str | None] = no_backend
    stub: Callable[[str, str, str], str] = make_stub
    describe: Callable[[Any], Sections] = no_sections
    lesson: Callable[[Any], Rows] = no_sections
    no_work: Callable[[Any], tuple[str, ...]] = no_answers
    mutants: bool = False

    @property
    def file(self) -> str:
        return self.spec.file
