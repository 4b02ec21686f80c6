"""Commits of a course's repository: the files that changed since one of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def commit_of(root: Path, name: str) -> str | None:
    """Return the whole name of a commit; None if git or the commit is missing."""
    return _git(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")


def common_ancestor(root: Path, commit: str) -> str | None:
    """Return the last commit that HEAD and `commit` share; None if git finds none.

    In a shallow clone it may be missing.
    """
    return _git(root, "merge-base", commit, "HEAD")


def changed_paths(root: Path, commit: str) -> list[str] | None:
    """Return the files that differ from the commit, relative to the course; None without git.

    Files that are not committed count, unless git ignores them. A file of the repository outside
    the course begins with `..`.
    """
    inside = _git(root, "rev-parse", "--show-prefix")
    changes = _git(root, "diff", "--name-only", "--no-ext-diff", "--no-renames", "-z", commit)
    added = _git(
        root, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/"
    )
    if inside is None or changes is None or added is None:
        return None
    paths = {path for path in (changes + added).split("\0") if path}
    return sorted(os.path.relpath(path, inside or ".") for path in paths)


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *words],
            cwd=root,
            capture_output=True,
            text=True,
            errors="surrogateescape",
        )
    except OSError:
        return None
    return done.stdout.removesuffix("\n") if done.returncode == 0 else None
