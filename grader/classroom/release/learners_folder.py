"""`grader init`: a learner's folder, from the course that the installation carries.

It is a release like a class's, with `release.json` and the stubs, and without a copy of the grader.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import grader
from grader.classroom.release import build, contents, handout, repository, update
from grader.classroom.release.update import Plan
from grader.course import SHELVES, STUBS, Exercise, Manifest, Settings, catalog, manifest
from grader.model import UsageError, fill_folder, staged_files

EDITORCONFIG = """\
root = true

[*.py]
indent_style = space
indent_size = 4
max_line_length = 100
insert_final_newline = true
trim_trailing_whitespace = true
"""
# `grader` runs the tests: run by an editor, they would import a kernel file beside the judge.
VSCODE = {
    "python.testing.pytestEnabled": False,
    "python.testing.unittestEnabled": False,
    "files.readonlyInclude": {"**/spec.py": True, "**/test_kernel.py": True, f"{STUBS}/**": True},
    "files.exclude": {"**/__pycache__": True, STUBS: True, ".grader": True},
    "editor.rulers": [100],
}


@dataclass(frozen=True)
class Made:
    """A learner's folder: the release in it, its exercises, and whether git keeps its history."""

    manifest: Manifest
    exercises: tuple[Exercise, ...]
    in_git: bool


def make(root: Path, out: Path) -> Made:
    """Make a learner's folder in `out` from the course in `root`, and a git repository of it.

    An interrupted run is completed by the next. Raises UsageError for a folder that holds something
    else, lies in a course or cannot be written.
    """
    out = Path(os.path.abspath(out))
    _require_place(out)
    files, made = _release(root)
    _require_free(out, files)
    try:
        out.mkdir(exist_ok=True)
        with staged_files(out, files):
            pass
    except OSError as error:
        raise UsageError(
            f"{out} cannot be written: {error.strerror}.",
            "Name a place where you may write, on a disk with free space: `grader init FOLDER`.",
        ) from None
    return Made(made, tuple(catalog.exercises(out)), repository.begin(out))


def bring_forward(folder: Path, root: Path) -> Plan:
    """Bring a folder that `make` made to the course in `root`.

    Raises UsageError as `update.run` does, and for a release of a class: it comes from there.
    """
    there = manifest.read(folder)
    if any(file.path == handout.REQUIREMENTS for file in there.files):
        raise UsageError(
            f"{folder} is a release of a class, and newer ones come from your instructor.",
            "`grader update FROM` takes them from a folder or a repository.",
        )
    files, _ = _release(root)
    with tempfile.TemporaryDirectory() as beside:
        fill_folder(Path(beside), files)
        return update.run(folder, beside, anew=True)  # an installation may change between versions


def _release(root: Path) -> tuple[dict[str, bytes], Manifest]:
    """Build all files of a learner's folder, `release.json` as the last."""
    about = build.settings_of(root)
    exercises = catalog.exercises(root)
    released = contents.collect(root, exercises, None, ())
    added = {
        "README.md": _readme(about, exercises),
        ".gitignore": handout.GITIGNORE,
        ".gitattributes": handout.GITATTRIBUTES,
        ".editorconfig": EDITORCONFIG,
        ".vscode/settings.json": json.dumps(VSCODE, indent=4) + "\n",
    }
    files = released.files | {path: text.encode() for path, text in added.items()}
    listed = ((path, content, path in released.kernels) for path, content in files.items())
    made = manifest.build(about.name, about.version, grader.__version__, listed)
    return files | {manifest.FILE: manifest.to_json(made).encode()}, made


def _readme(about: Settings, exercises: list[Exercise]) -> str:
    first = exercises[0]
    return handout.LEARNERS_README.format(
        title=about.title, first=first.name, shelf=first.shelf, solutions=handout.solutions(about)
    )


def _require_place(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"{out} is not a folder.", "Name a folder that is not there yet.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent}.", "Make it first, or name another.")
    if (out / manifest.FILE).is_file():
        raise UsageError(
            f"{out} holds a course already.",
            "Change to it and type `grader next`; `grader update` brings it up to date.",
        )
    for folder in out.parents:
        if any((folder / shelf).is_dir() for shelf in SHELVES):
            raise UsageError(
                f"{out} would lie in the course {folder}.",
                "Type `grader next` to learn there, or name a folder outside of it.",
            )


def _require_free(out: Path, files: dict[str, bytes]) -> None:
    """Raise UsageError where anything is in the folder but hidden files and files of ours."""
    ours = {path.partition("/")[0] for path in files}
    there = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    strange = [name for name in there if not name.startswith(".") and name not in ours]
    strange += [path for path, content in files.items() if _differs(out / path, content)]
    if strange:
        raise UsageError(
            f"{out} has something in it already: {strange[0]}.",
            "Name a folder that is not there yet: `grader init FOLDER`.",
        )


def _differs(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() != content
    except FileNotFoundError:
        return False
    except OSError:
        return True
