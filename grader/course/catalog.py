"""From folders to exercises: the folder is the registration. Never imports torch.

A course is a folder with `exercises/`, `puzzles/` and `solutions/`. A learner's copy has no
solutions.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader.course.backend_choice import backend_of, in_backend
from grader.course.backend_fit import misfit
from grader.course.extensions import use_extensions
from grader.model import BaseSpec, BrokenExercise, Spec, UsageError

SHELVES = ("exercises", "puzzles")
COMMENTARY = "commentary.md"  # beside a solution, and where it is published
FEWEST_LETTERS = 3  # of a part of a name that means an exercise
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
        """The folder's name, and behind a colon the entry's: what a command line takes."""
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
        fault = next(filter(None, map(misfit, spec.entries)), None)
    except BrokenExercise as error:  # there is no such backend
        raise BrokenExercise(f"{broken} {error.message}", error.next_step) from None
    if fault is not None:
        raise BrokenExercise(
            f"{broken} {fault}.", "Tell whoever wrote the exercise; your kernel is not at fault."
        )


def find_root(start: Path | None = None) -> Path:
    """Return the course around `start`: GRADER_COURSE, else the working directory.

    Raises UsageError where neither it nor a folder above it is a course.
    """
    if start is None and (named := os.environ.get("GRADER_COURSE")):
        start = Path(named)
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if any((folder / shelf).is_dir() for shelf in SHELVES):
            return folder
    raise UsageError(
        f"There is no course here: neither {start} nor a folder above it has exercises/ or "
        "puzzles/.",
        "Change to the course's folder, or make one to learn in: `grader init FOLDER`.",
    )


def exercises(root: Path) -> list[Exercise]:
    """List every exercise of the course, puzzles first, in the order of their names."""
    return [
        Exercise(spec.parent)
        for shelf in reversed(SHELVES)
        for spec in sorted((root / shelf).glob("*/spec.py"))
    ]


def parts(root: Path) -> list[Exercise]:
    """List every entry of every exercise, in the order of `exercises`. Raises BrokenExercise."""
    return [part for exercise in exercises(root) for part in exercise.parts]


def find(root: Path, query: str) -> Exercise:
    """Return the exercise with this name, path or number, or with this part of its name.

    The path may be that of its folder or of a kernel file in it, whose language it is then in. `1`
    and `01` find `01_…`, and `p7` finds `p07_…`. Bare digits mean an exercise before a puzzle.
    `online` finds `04_online_softmax` as long as no other name has it. Raises UsageError with the
    closest names if no name matches, and with all that match if several do.
    """
    known = exercises(root)
    for exercise in known:
        if query == exercise.name:
            return exercise
        if found := _at(exercise, Path(query).resolve()):
            return found
    meant = _numbered(known, query) or _with_part(known, query.lower())
    if len(meant) == 1:
        return meant[0]
    if meant:
        several = " and ".join(exercise.name for exercise in meant)
        raise UsageError(f"{query!r} means {several}.", "Name the one that you mean.")
    names = [exercise.name for exercise in known]
    near = (difflib.get_close_matches(query, names, n=2, cutoff=cutoff) for cutoff in (0.8, 0.4))
    close = next(filter(None, near), [])  # distant ones only where none is near
    close = close or _nearest_number(known, query)
    raise UsageError(
        f"There is no exercise named {query!r}.",
        f"Did you mean {' or '.join(close)}?" if close else "`grader list` shows them all.",
    )


def find_entry(root: Path, query: str) -> Exercise:
    """Return what `find` does, or for such as `13_rmsnorm:backward` that entry of the exercise.

    Raises UsageError as `find` does, and for an entry that the exercise does not have.
    """
    name, colon, entry = query.partition(":")
    exercise = find(root, name if colon else query)
    if not colon:
        return exercise
    spec = exercise.whole_spec
    if not spec.also and entry == spec.entry:
        return exercise
    named = Exercise(exercise.folder, entry)
    _ = named.any_spec  # raises where there is no such entry
    return named


def _numbered(known: Sequence[Exercise], query: str) -> list[Exercise]:
    """Return the exercises whose names begin with `query`, else those with the same number."""
    exact = [exercise for exercise in known if exercise.name.split("_")[0] == query]
    wanted = _number(query)
    found = exact or [e for e in known if wanted and _number(e.name.split("_")[0]) == wanted]
    if wanted and not wanted[0]:
        on_first_shelf = [exercise for exercise in found if exercise.shelf == SHELVES[0]]
        return on_first_shelf or found
    return found


def _with_part(known: Sequence[Exercise], part: str) -> list[Exercise]:
    """Return the exercises whose names have the part, where they have it most plainly.

    That is the whole name behind the number, else the beginning of a word, else any place.
    """
    if len(part) < FEWEST_LETTERS:
        return []
    names = [(exercise, exercise.name.lower()) for exercise in known]
    whole = [one for one, name in names if name.partition("_")[2] == part]
    words = [one for one, name in names if f"_{part}" in f"_{name}"]
    return whole or words or [one for one, name in names if part in name]


def _nearest_number(known: Iterable[Exercise], query: str) -> list[str]:
    if (wanted := _number(query)) is None:
        return []
    letters, number = wanted
    found = [(each.name, _number(each.name.split("_")[0])) for each in known]
    near = [(abs(n[1] - number), name) for name, n in found if n and n[0] == letters]
    same = [] if letters else [name for name, n in found if n and n[1] == number]
    return [*same, *(name for _, name in sorted(near)[:1])]


def _number(text: str) -> tuple[str, int] | None:
    """Split `p07` into `p` and 7; return None if the text is not a number."""
    found = re.fullmatch(r"([A-Za-z]*)([0-9]{1,9})", text)
    return None if found is None else (found[1].lower(), int(found[2]))


def _at(exercise: Exercise, path: Path) -> Exercise | None:
    """Return the exercise if this is its folder, or as it is written in this file of it."""
    if path == exercise.folder:
        return exercise
    if path.parent != exercise.folder:  # only then: it takes the spec to know the learner's files
        return None
    return next((one for one in exercise.in_all_backends if one.kernel == path), None)


def needs_simulator(kernel: Path) -> bool:
    """Report whether a wrong kernel is wrong in a way that a GPU may hide, for example a race.

    Its docstring then has a line `On a GPU: may pass by luck` that ends with the reason.
    """
    return bool(re.search(r"^On a GPU: may pass by luck", text_of(kernel), re.MULTILINE))


def text_of(path: Path) -> str:
    """Read a file of the course. Raises BrokenExercise when it is unreadable or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenExercise(f"{path} cannot be read: {error}", "Write it as UTF-8.") from None


def rejected_at(kernel: Path) -> str:
    """Read the step that must reject a wrong kernel from the `Rejected at:` line of its docstring.

    Raises BrokenExercise when that line is missing.
    """
    match = re.search(r"^\W*Rejected at: (\w+)", text_of(kernel), re.MULTILINE)
    if match is None:
        raise BrokenExercise(
            f"{kernel} does not say which step must reject it.",
            "Add a line `Rejected at: correctness` (or another step) to its docstring.",
        )
    return match.group(1)


def rejected_entry(kernel: Path) -> str | None:
    """Read which of several entries must be rejected, as in `Rejected at: speed of backward`."""
    match = re.search(r"^\W*Rejected at: \w+ of (\w+)", text_of(kernel), re.MULTILINE)
    return None if match is None else match.group(1)
