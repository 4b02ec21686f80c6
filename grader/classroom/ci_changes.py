"""The exercises that a push changed: `grader ci --changed` grades these, and no others.

When in doubt everything is graded: without a commit to compare with, and after a change to a file
that may decide how kernels are graded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from grader.classroom.ci_systems import System
from grader.course import Exercise, catalog, commits
from grader.model import BrokenExercise, texts

SHOWN = 10  # characters of a commit's name
# A build that passes must not be read as one of all exercises.
OTHERS = "This run does not say whether the others pass: grader check --all grades all."
# Files that change no verdict, wherever they lie. All others but kernels may.
HARMLESS = frozenset(
    (".md", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".ipynb", ".gitignore")
)


@dataclass(frozen=True)
class Base:
    """The commit to compare with: one that was graded before, or a branch's common ancestor."""

    name: str
    branch: bool = False


@dataclass(frozen=True)
class Scope:
    """The exercises to grade, in the course's order, and a sentence on the others."""

    exercises: tuple[Exercise, ...]
    sentence: str


def base(system: System, environ: Mapping[str, str]) -> Base | None:
    """Return what the run of this system is compared with; None where it names nothing.

    A push is compared with the commit before it, or if it made the branch with the default branch;
    a pull or merge request with the branch that it is for. A run that somebody started by hand, or
    a clock, names nothing.
    """
    if system is System.GITHUB:
        return _on_github(environ.get("GITHUB_EVENT_NAME", ""), _event(environ))
    if system is System.GITLAB:
        return _on_gitlab(environ)
    return Base("@{upstream}", branch=True)


def _event(environ: Mapping[str, str]) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        event = json.loads(Path(environ.get("GITHUB_EVENT_PATH", "")).read_bytes())
        if isinstance(event, dict):
            return event
    return {}


def _on_github(name: str, event: Mapping[str, Any]) -> Base | None:
    if name == "pull_request":
        return _branch(_text(event, "pull_request", "base", "sha"))
    if name != "push":
        return None
    before, default = _text(event, "before"), _text(event, "repository", "default_branch")
    return _push(before, default)


def _on_gitlab(environ: Mapping[str, str]) -> Base | None:
    if request := environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""):
        return _branch(request)
    if environ.get("CI_PIPELINE_SOURCE") != "push":
        return None
    return _push(environ.get("CI_COMMIT_BEFORE_SHA", ""), environ.get("CI_DEFAULT_BRANCH", ""))


def _push(before: str, default: str) -> Base | None:
    if before.strip("0"):  # zeros stand for no commit
        return Base(before)
    return _branch(f"origin/{default}" if default else "")


def _branch(name: str) -> Base | None:
    return Base(name, branch=True) if name else None


def _text(event: Any, *keys: str) -> str:
    for key in keys:
        event = event.get(key) if isinstance(event, dict) else None
    return event if isinstance(event, str) else ""


def scope(exercises: Sequence[Exercise], compared: Base | None) -> Scope:
    """Choose the exercises whose kernel files changed, or all of them, with the reason."""
    everything = tuple(exercises)
    if compared is None:
        return Scope(everything, "Everything is graded: this run has nothing to compare with.")
    root = everything[0].root
    commit = commits.commit_of(root, compared.name)
    head = commits.commit_of(root, "HEAD")
    since = commits.common_ancestor(root, commit) if commit and compared.branch else commit
    paths = commits.changed_paths(root, since) if since else None
    name = texts.one_line(compared.name, SHOWN + 30)
    # A new branch that is the default branch itself: nothing of it was ever graded.
    first = since == head and compared.name.startswith("origin/")
    if paths is None or since is None or first:
        return Scope(everything, f"Everything is graded: git cannot compare with {name} here.")
    kernels = {path: one.name for one in catalog.exercises(root) for path in _kernels(one)}
    others = [path for path in paths if path not in kernels and not _harmless(path)]
    if others:
        what = texts.one_line(others[0], 80)
        return Scope(everything, f"Everything is graded: {what} changed since {since[:SHOWN]}.")
    touched = {kernels[path] for path in paths if path in kernels}
    chosen = tuple(one for one in everything if one.name in touched)
    count = f"{len(chosen)} of {len(everything)} exercises" if chosen else "No exercise"
    return Scope(chosen, f"{count} changed since {since[:SHOWN]}. {OTHERS}")


def _kernels(exercise: Exercise) -> list[str]:
    files = ["kernel.py"]
    with suppress(BrokenExercise):  # grading that exercise reports it
        files = [one.file for one in exercise.in_all_backends]
    place = exercise.folder.relative_to(exercise.root)
    return [(place / file).as_posix() for file in files]


def _harmless(path: str) -> bool:
    pure = PurePosixPath(path)
    return pure.suffix.lower() in HARMLESS or pure.name in HARMLESS
