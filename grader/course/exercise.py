"""An exercise, whose folder is its registration: its files and its spec. Never imports torch."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader.course.backend_choice import backend_of, in_backend
from grader.course.backend_fit import misfit
from grader.course.dimensions import misshapen
from grader.course.extensions import use_extensions
from grader.model import BaseSpec, BrokenExercise, Spec, UsageError

COMMENTARY = "commentary.md"  # beside a solution, and where it is published
STUBS = ".stubs"  # in a release, which has no solutions to make stubs from


@dataclass(frozen=True)
class Exercise:
    """One folder with a `spec.py`, or with `entry` one of several entries of its file.

    `backend` names another of the spec's backends than the first: the spec is then that of files in
    it, and the learner's file and the solution are those in it, `kernel_cuda.py` for example.
    """

    folder: Path
    entry: str | None = None
    backend: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """The name on a command line: the folder's, and after a colon that of a chosen entry."""
        return self.folder.name if self.entry is None else f"{self.folder.name}:{self.entry}"

    @property
    def parts(self) -> tuple[Exercise, ...]:
        """Each entry of a file with several, else this exercise alone; each is graded by itself."""
        names = _entry_names(self.any_spec)
        return tuple(replace(self, entry=name) for name in names) if names else (self,)

    @property
    def root(self) -> Path:
        return self.folder.parent.parent

    @property
    def shelf(self) -> str:
        return self.folder.parent.name

    @property
    def kernel(self) -> Path:
        """The learner's file. Raises BrokenExercise, for the spec says how it is called."""
        return self.folder / self.file

    @property
    def file(self) -> str:
        own = Path(self.any_spec.file)
        return f"{own.stem}_{self.backend}{own.suffix}" if self.backend else own.name

    @property
    def tests(self) -> Path:
        return self.folder / "test_kernel.py"

    @property
    def answers(self) -> Path:
        return self.root / "solutions" / self.folder.name

    @property
    def solution(self) -> Path:
        return self.answers / self.file

    @property
    def released_stub(self) -> Path:
        """The stub that a release holds, as the learner's file was at first; may be missing."""
        return self.root / STUBS / self.folder.name / self.file

    @property
    def fast(self) -> Path:
        """The solution that goes for the limit, in any of the spec's backends; may be missing."""
        return self.answers / f"fast{Path(self.any_spec.file).suffix}"

    @property
    def solutions(self) -> list[tuple[str, Path]]:
        """The solutions that are there, with their names: the lesson's, those beside it, `fast`."""
        named = [(one.backend, one.solution) for one in self.in_all_backends]
        named.append(("fast", self.fast))
        return [
            (f"solution, {which}" if which else "solution", path)
            for which, path in named
            if path.is_file()
        ]

    @property
    def wrong_kernels(self) -> list[Path]:
        return sorted(self.answers.glob(f"wrong_*{Path(self.any_spec.file).suffix}"))

    @property
    def survivors(self) -> Path:
        """The reasons for mutants that no test can reject (grader.authoring); may be missing."""
        return self.answers / "survivors.toml"

    @property
    def commentary(self) -> Path:
        name = Path(self.file).with_suffix(".md") if self.backend else COMMENTARY
        return self.answers / name

    @cached_property
    def any_spec(self) -> BaseSpec:
        """The SPEC in spec.py, of whatever kind, or the one of `entry`.

        Raises BrokenExercise when it is missing or wrong, and UsageError for an unknown entry.
        Reading it also loads the course's `extensions/`.
        """
        use_extensions(self.root)
        spec = load_spec(self.folder / "spec.py")
        if isinstance(spec, Spec) and self.backend:
            spec = in_backend(spec, self.backend)
        if self.entry is None:
            return spec
        names = _entry_names(spec)
        if self.entry not in names:
            raise UsageError(
                f"{self.folder.name} has no entry {self.entry!r}.",
                f"Its entries are {', '.join(names)}." if names else "It has only one: name none.",
            )
        return spec.entries[names.index(self.entry)]

    @property
    def spec(self) -> Spec:
        """The SPEC of an exercise whose kind is `kernel`, with one entry.

        Raises BrokenExercise as `any_spec` does, and UsageError for an exercise of another kind,
        or where one of several entries must be named.
        """
        if names := _entry_names(self.any_spec):
            raise UsageError(
                f"{self.name} has {len(names)} entries: {', '.join(names)}.",
                f"Name one of them, such as {self.name}:{names[0]}.",
            )
        return self.whole_spec

    @property
    def whole_spec(self) -> Spec:
        """The SPEC of an exercise whose kind is `kernel`, with all its entries.

        Raises as `spec` does, except for several entries.
        """
        if not isinstance(self.any_spec, Spec):
            raise UsageError(
                f"{self.name} is an exercise of the kind {self.any_spec.kind}: it has no kernel.",
                "Name an exercise whose `grader show` names a backend.",
            )
        return self.any_spec

    def written_in(self, name: str) -> Exercise:
        """Return the exercise for files in one of its backends."""
        first = self._in_first_backend
        return first if name == first.whole_spec.backend else replace(self, backend=name)

    def for_file(self, content: bytes) -> Exercise:
        """Return the exercise in the backend that a kernel file is written in, by its imports."""
        spec = self._in_first_backend.any_spec
        if not isinstance(spec, Spec) or not spec.also_in:
            return self
        return self.written_in(backend_of(spec, content))

    @property
    def in_all_backends(self) -> list[Exercise]:
        """The exercise, and itself in each further backend for which it has a file."""
        first = self._in_first_backend
        others = first.any_spec.also_in if isinstance(first.any_spec, Spec) else ()
        further = [replace(self, backend=name) for name in others]
        return [first, *filter(_has_a_file, further)]

    @property
    def _in_first_backend(self) -> Exercise:
        return replace(self, backend="") if self.backend else self


def _has_a_file(exercise: Exercise) -> bool:
    files = (exercise.kernel, exercise.solution, exercise.released_stub)
    return any(path.is_file() for path in files)


def _entry_names(spec: BaseSpec) -> list[str]:
    return [one.entry for one in spec.entries] if isinstance(spec, Spec) and spec.also else []


def load_spec(path: Path) -> BaseSpec:
    """Load the SPEC of a spec.py, which is trusted code. Raises BrokenExercise."""
    name = "grader_spec_" + re.sub(r"\W", "_", path.parent.name)
    source = importlib.util.spec_from_file_location(name, path)
    if source is None or source.loader is None:
        raise BrokenExercise(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(source)
    try:
        source.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a spec that calls sys.exit(0) must not pass
        raise BrokenExercise(
            f"The exercise {path.parent.name} is broken: {path} fails with "
            f"{type(error).__name__}: {error}",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        ) from error
    spec = getattr(module, "SPEC", None)
    if not isinstance(spec, BaseSpec):
        raise BrokenExercise(
            f"The exercise {path.parent.name} is broken: {path} has no SPEC = Spec(...)",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        )
    if isinstance(spec, Spec):
        _must_fit(spec, path)
    return spec


def _must_fit(spec: Spec, path: Path) -> None:
    broken = f"The exercise {path.parent.name} is broken: {path}:"
    try:
        faults = (check(one) for one in spec.entries for check in (misfit, misshapen))
        fault = next(filter(None, faults), None)
    except BrokenExercise as error:  # there is no such backend
        raise BrokenExercise(f"{broken} {error.message}", error.next_step) from None
    if fault is not None:
        raise BrokenExercise(
            f"{broken} {fault}.", "Tell whoever wrote the exercise; your kernel is not at fault."
        )


def text_of(path: Path) -> str:
    """Read a file of the course. Raises BrokenExercise when it is unreadable or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenExercise(f"{path} cannot be read: {error}", "Write it as UTF-8.") from None
