"""From folders to exercises: the folder is the registration. Never imports torch.

A course is a folder with `exercises/`, `puzzles/` and `solutions/`; a learner's has no solutions.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.course.backend_fit import misfit
from grader.course.extensions import use_extensions
from grader.model import BrokenExercise, Spec, UsageError

SHELVES = ("exercises", "puzzles")
COMMENTARY = "commentary.md"  # beside a solution, and where it is published


@dataclass(frozen=True)
class Exercise:
    """One folder with a `spec.py`."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def root(self) -> Path:
        """The course that the exercise belongs to."""
        return self.folder.parent.parent

    @property
    def kernel(self) -> Path:
        """The learner's file."""
        return self.folder / "kernel.py"

    @property
    def tests(self) -> Path:
        return self.folder / "test_kernel.py"

    @property
    def answers(self) -> Path:
        """The folder with the model solution and the wrong kernels."""
        return self.root / "solutions" / self.name

    @property
    def solution(self) -> Path:
        return self.answers / "kernel.py"

    @property
    def wrong_kernels(self) -> list[Path]:
        return sorted(self.answers.glob("wrong_*.py"))

    @property
    def survivors(self) -> Path:
        """What is declared of mutants that no test can reject (grader.authoring.survivors); may be
        missing.
        """
        return self.answers / "survivors.toml"

    @property
    def commentary(self) -> Path:
        """What is said beside the published solution; may be missing."""
        return self.answers / COMMENTARY

    @cached_property
    def spec(self) -> Spec:
        """Raises BrokenExercise when spec.py does not define a valid SPEC.

        From then on, what the course's `extensions/` add is there, too.
        """
        use_extensions(self.root)
        return load_spec(self.folder / "spec.py")


def load_spec(path: Path) -> Spec:
    """The SPEC of a spec.py, which is trusted code. Raises BrokenExercise."""
    name = "grader_spec_" + re.sub(r"\W", "_", path.parent.name)
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise BrokenExercise(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a spec that calls sys.exit(0) is no pass
        raise BrokenExercise(
            f"The exercise {path.parent.name} is broken: {path} fails with "
            f"{type(error).__name__}: {error}",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        ) from error
    spec = getattr(module, "SPEC", None)
    if not isinstance(spec, Spec):
        raise BrokenExercise(
            f"The exercise {path.parent.name} is broken: {path} has no SPEC = Spec(...)",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        )
    if (fault := misfit(spec)) is not None:
        raise BrokenExercise(
            f"The exercise {path.parent.name} is broken: {path}: {fault}.",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        )
    return spec


def find_root(start: Path | None = None) -> Path:
    """The course around `start` (the working directory), or GRADER_COURSE. Raises UsageError."""
    if start is None and (named := os.environ.get("GRADER_COURSE")):
        start = Path(named)
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if any((folder / shelf).is_dir() for shelf in SHELVES):
            return folder
    raise UsageError(
        f"There is no course here: neither {start} nor a folder above it has exercises/ or "
        "puzzles/.",
        "Change to the course's folder, or set GRADER_COURSE to it.",
    )


def exercises(root: Path) -> list[Exercise]:
    """Every exercise of the course, puzzles first, in the order of their names."""
    return [
        Exercise(spec.parent)
        for shelf in reversed(SHELVES)
        for spec in sorted((root / shelf).glob("*/spec.py"))
    ]


def timed(root: Path) -> list[Exercise]:
    """Those whose memory and speed are graded, too: all but the puzzles."""
    return [exercise for exercise in exercises(root) if exercise.spec.scored is not None]


def following(exercise: Exercise) -> Exercise | None:
    """The one that comes next in its course, if there is one."""
    known = exercises(exercise.root)
    behind = known[known.index(exercise) + 1 :] if exercise in known else []
    return behind[0] if behind else None


def find(root: Path, wanted: str) -> Exercise:
    """The exercise with this name, number prefix or path. Raises UsageError with close names."""
    known = exercises(root)
    for exercise in known:
        if wanted == exercise.name or Path(wanted).resolve() in (exercise.folder, exercise.kernel):
            return exercise
    short = [e for e in known if e.name.split("_")[0] == wanted]
    if len(short) == 1:
        return short[0]
    names = [exercise.name for exercise in known]
    near = (difflib.get_close_matches(wanted, names, n=2, cutoff=cutoff) for cutoff in (0.8, 0.4))
    close = next(filter(None, near), [])  # distant ones only where none is near
    two_digits = re.sub(r"^(\D*)(\d)$", r"\g<1>0\2", wanted)  # p4 means p04
    close = close or [name for name in names if wanted and two_digits in name]
    raise UsageError(
        f"There is no exercise named {wanted!r}.",
        f"Did you mean {' or '.join(close)}?" if close else "`grader list` shows them all.",
    )


def needs_simulator(kernel: Path) -> bool:
    """Whether a wrong kernel is wrong in a way that a GPU may hide, such as a race.

    Its docstring says so in a line `On a GPU: may pass by luck` with the reason behind it.
    """
    return bool(re.search(r"^On a GPU: may pass by luck", text_of(kernel), re.MULTILINE))


def text_of(path: Path) -> str:
    """A file of the course. Raises BrokenExercise where it is no UTF-8, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenExercise(f"{path} cannot be read: {error}", "Write it as UTF-8.") from None


def rejected_at(kernel: Path) -> str:
    """The step that must reject a wrong kernel, from the `Rejected at:` line of its docstring.

    Raises BrokenExercise when the file does not say.
    """
    match = re.search(r"^Rejected at: (\w+)", text_of(kernel), re.MULTILINE)
    if match is None:
        raise BrokenExercise(
            f"{kernel} does not say which step must reject it.",
            "Add a line `Rejected at: correctness` (or another step) to its docstring.",
        )
    return match.group(1)
