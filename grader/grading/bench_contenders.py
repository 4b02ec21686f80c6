"""The kernel files that `grader bench` compares: the learner's, torch's, the solution, others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course import Exercise
from grader.model import UsageError
from grader.speed import compiled

SIZES = 6  # at which each contender is measured


@dataclass(frozen=True)
class Contender:
    """A kernel file under a name that a table and a picture can show."""

    name: str
    kernel: bytes


def contenders(
    exercise: Exercise, kernel: Path, against: Sequence[Path], sizes: int = SIZES
) -> list[Contender]:
    """List the kernels to compare at so many sizes.

    Raises UsageError when a named file cannot be read.
    """
    solutions = {path.resolve(): name for name, path in exercise.solutions}
    mine = solutions.pop(kernel.resolve(), "your kernel")
    listed = [Contender(mine, _read(kernel))]
    eager = exercise.folder / "eager.py"
    if eager.exists():
        text = eager.read_bytes()
        listed.append(Contender("torch eager", text))
        listed.append(Contender("torch.compile", text + compiled(exercise.spec, sizes).encode()))
    listed += [Contender(name, _read(path)) for path, name in solutions.items()]
    for path in dict.fromkeys(against):
        taken = {"kernel", *(one.name for one in listed)}
        listed.append(Contender(str(path) if path.stem in taken else path.stem, _read(path)))
    return listed


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The kernel file {path} cannot be read: {error.strerror}.", "Check its path."
        ) from None
