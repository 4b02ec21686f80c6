"""`grader release`: make the students' repository, complete and proven, or none at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

import grader
from grader import backends
from grader.classroom.release import contents, handout, pins, proof, repository, wheel
from grader.course import Exercise, Manifest, Settings, manifest, settings, text_of
from grader.model import Spec, UsageError, fill_folder, replacing_folder

CONSTRAINTS = "constraints.txt"


@dataclass(frozen=True)
class Order:
    """An order for a release: exercises of one course, and options.

    `ci` is one of contents.CI_FILES, or None. `grader` is a requirement that pip reads; None packs
    the grader that runs here. `extra` are further files of the course, from its top. Without `git`
    the release has no history.
    """

    root: Path
    exercises: tuple[Exercise, ...]
    ci: str | None = None
    grader: str | None = None
    extra: tuple[Path, ...] = ()
    git: bool = True


@dataclass(frozen=True)
class Release:
    """A finished release. `notes` are lines that the author should read."""

    manifest: Manifest
    notes: tuple[str, ...]
    solutions: int


def build(order: Order, out: Path) -> Release:
    """Make the release in `out`, which must be absent or empty.

    Raises UsageError for an impossible order, CannotGrade without git, and BrokenExercise where a
    solution would leak or has no markers, or a text is not UTF-8. In each case `out` is as before.
    """
    out = out.absolute()
    _require_place(order.root, out)
    about = settings_of(order.root)
    secret = proof.secrets(order.root, order.exercises)
    released = contents.collect(order.root, order.exercises, order.ci, order.extra)
    _add_handout(released.files, order, about)
    listed = ((path, content, path in released.kernels) for path, content in released.files.items())
    made = manifest.build(about.name, about.version, grader.__version__, listed)
    released.files[manifest.FILE] = manifest.to_json(made).encode()
    try:
        with replacing_folder(out) as folder:
            fill_folder(folder, released.files)
            if order.git:
                repository.commit_all(folder, f"{about.title}, version {about.version}")
            proof.require_none(proof.leaks(_everything(folder, order.git), secret))
    except OSError as error:
        raise UsageError(
            f"The release cannot be written to {out}: {error.strerror}.",
            "Name a place where you may write, on a disk with some free megabytes.",
        ) from None
    return Release(made, tuple(released.notes), secret.solutions)


def _require_place(root: Path, out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"--out {out} is not a folder.", "Name a folder that is not there yet.")
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(
            f"--out {out} has content, and a release is never mixed with other files.",
            "Name a folder that is not there yet; students get a newer version by `grader update`.",
        )
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}.", "Make it first.")
    if out.resolve() == Path.cwd():
        raise UsageError(
            f"--out {out} is the folder that you are in, and a release replaces its folder.",
            "Change to another folder, and name this one from there.",
        )
    if out.resolve().is_relative_to(root.resolve()):
        raise UsageError(
            f"--out {out} lies inside of the course {root}.", "Name a folder outside of it."
        )


def settings_of(root: Path) -> Settings:
    """Read the settings of a course that has a name and a version. Raises UsageError."""
    if not (root / settings.FILE).is_file():
        raise UsageError(
            f"The course in {root} has no {settings.FILE}, and a release needs a name and a "
            "version.",
            f'Write {settings.FILE} with name = "...", version = "1" and solutions = "on-pass".',
        )
    about = settings.read(root)
    try:
        Version(about.version)
    except InvalidVersion:
        raise UsageError(
            f"{root / settings.FILE}: version {about.version!r} cannot be compared with others.",
            "Write numbers with dots, such as 2026.1.",
        ) from None
    return about


def _add_handout(files: dict[str, bytes], order: Order, about: Settings) -> None:
    course_pins = order.root / CONSTRAINTS
    text = text_of(course_pins) if course_pins.is_file() else None
    extras = _extras(order.exercises)
    added = {
        "README.md": handout.readme(about, order.exercises, order.ci).encode(),
        ".gitignore": handout.GITIGNORE.encode(),
        ".gitattributes": handout.GITATTRIBUTES.encode(),
        CONSTRAINTS: pins.pins(text, extras).encode(),
    }
    if order.grader is None:
        place = f"wheels/{wheel.file_name()}"
        added[place] = wheel.build()
        added |= handout.requirement_files(f"./{place}", extras)
    else:
        added |= handout.requirement_files(order.grader, extras)
    for path, content in added.items():
        if path in files:
            raise UsageError(
                f"--with {path}: the release makes a file of this name itself.",
                "Give yours another name.",
            )
        files[path] = content


def _extras(exercises: Sequence[Exercise]) -> frozenset[str]:
    specs = (exercise.any_spec for exercise in exercises)
    named = (backends.find(spec.backend).extra for spec in specs if isinstance(spec, Spec))
    return frozenset(extra for extra in named if extra is not None)


def _everything(folder: Path, git: bool) -> Iterator[tuple[str, bytes]]:
    """Yield every file on the disk, including those of .git, and every object of the history."""
    seen = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            seen.add(content)
            yield path.relative_to(folder).as_posix(), content
    if git:
        yield from (item for item in repository.objects(folder) if item[1] not in seen)
