"""Units of work: one kernel file against one exercise, graded once for all who handed it in.

The key of a result names everything that could change it, but for the seed: the file, the
exercise's own files, the versions, the GPU's model, and whether walls were required.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grader
from grader.course import EXTENSIONS, Exercise
from grader.machine import environment

_NO_RULE = {".md", ".pyc"}  # files of an exercise that do not change a verdict
# The rooms of the grader that decide a verdict.
_JUDGING = (
    *("model", "machine", "course", "correctness", "sandbox", "speed", "grading"),
    *("worker", "backends"),
)
_OF_THE_DEVICE = {"device", "simulated", "capability", "driver"}  # not of the installation
Versions = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Unit:
    """One kernel file to grade. `rules` is the digest of what grades it."""

    exercise: Exercise
    content: bytes
    rules: str
    versions: Versions
    hardened: bool

    @property
    def id(self) -> str:
        """Name it among the units of a run, whatever lane grades it."""
        return self.key("")

    def parts(self, model: str) -> Mapping[str, object]:
        """Return all that the result depends on, for the file that holds it."""
        return {
            "kernel": hashlib.sha256(self.content).hexdigest(),
            "exercise": self.exercise.name,
            "rules": self.rules,
            "versions": dict(self.versions),
            "gpu": model,
            "hardened": self.hardened,
        }

    def key(self, model: str) -> str:
        return hashlib.sha256(_canonical(self.parts(model))).hexdigest()


def _canonical(parts: Mapping[str, object]) -> bytes:
    return json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()


def new_seed() -> int:
    """Draw the seed of a unit's inputs, which nobody knows before."""
    return secrets.randbits(31)


@cache
def versions() -> Versions:
    """Return the versions of the grader, by its own code too, of Python and the libraries."""
    here = environment("cpu").model_dump(exclude=_OF_THE_DEVICE)
    here["grader"] = f"{here['grader']}+{_code()}"
    return tuple((name, version or "") for name, version in here.items())


def _code() -> str:
    """Digest what judges: two installations with one version may differ."""
    folder = Path(grader.__file__).parent
    files = [path for room in _JUDGING for path in sorted((folder / room).rglob("*.py"))]
    return _digest(folder, files)[:12]


def rules_of(exercise: Exercise) -> str:
    """Digest what grades an exercise: its own files and the course's extensions.

    Raises BrokenExercise.
    """
    own = {one.file for one in exercise.in_all_backends} | {exercise.kernel.name}
    files = [
        path
        for path in sorted(exercise.folder.rglob("*"))
        if path.is_file() and path.name not in own and _is_rule(path)
    ]
    extensions = sorted((exercise.root / EXTENSIONS).rglob("*.py"))
    return _digest(exercise.root, [*files, *extensions])


def _is_rule(path: Path) -> bool:
    hidden = any(part.startswith((".", "__pycache__")) for part in path.parts[-2:])
    return not hidden and path.suffix not in _NO_RULE


def rules_of_all(exercises: Iterable[Exercise]) -> dict[str, str]:
    """Return a digest of each exercise's rules, keyed by name. Raises BrokenExercise."""
    return {exercise.name: rules_of(exercise) for exercise in exercises}


def _digest(root: Path, files: Sequence[Path]) -> str:
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.relative_to(root).as_posix().encode() + b"\0")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
