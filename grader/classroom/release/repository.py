"""git for a release: one anonymous commit, and all objects of the history.

git ignores this machine's configuration: user names, hooks, templates and filters.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from grader.model import CannotGrade, UsageError

BRANCH = "main"
AUTHOR = "course"
EMAIL = "course@example.invalid"  # a domain that can never exist: RFC 2606


def commit_all(folder: Path, message: str) -> None:
    """Make the folder a repository with one commit of all its files.

    Raises CannotGrade where git is missing or fails.
    """
    _git(folder, "init", "--quiet", f"--initial-branch={BRANCH}", "--template=")
    _git(folder, "add", "--all", "--force")
    _git(folder, "commit", "--quiet", f"--message={message}")


def begin(folder: Path) -> bool:
    """Make the folder a repository, unless it is in one; report whether it is in one now.

    It uses the learner's git configuration. Returns False if git is missing or fails; nothing is
    lost.
    """
    environment = dict(os.environ)
    with suppress(CannotGrade, _Failed):
        with suppress(_Failed):
            _run(["rev-parse", "--git-dir"], environment, folder)
            return True
        _run(["init", "--quiet"], environment, folder)
        return True
    return False


def objects(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every object, reachable or not: files, folders, commits, tags."""
    packed = _git(folder, "cat-file", "--batch-all-objects", "--batch")
    place = 0
    while place < len(packed):
        end = packed.index(b"\n", place)
        name, kind, size = packed[place:end].decode().split(" ")
        content = packed[end + 1 : end + 1 + int(size)]
        yield f"the git object {name} ({kind})", content
        place = end + 1 + int(size) + 1


def clone(source: str, folder: Path) -> None:
    """Clone the newest commit of `source` into `folder`, byte for byte as it was released.

    It uses the student's git configuration, which may hold the credentials. Raises UsageError where
    git fails.
    """
    options = ["-c", "core.autocrlf=false", "clone", "--quiet", "--depth=1"]
    try:
        _run([*options, "--", source, str(folder)], dict(os.environ), None)
    except _Failed as error:
        raise UsageError(
            f"Nothing was updated: {source} is neither a folder with a release nor a repository "
            "that git clones.",
            f"Name one of these, and make sure that you may read it.\n{error}",
        ) from None


def _git(folder: Path, *arguments: str) -> bytes:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment = own | {
        "HOME": os.devnull,
        "XDG_CONFIG_HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": AUTHOR,
        "GIT_AUTHOR_EMAIL": EMAIL,
        "GIT_COMMITTER_NAME": AUTHOR,
        "GIT_COMMITTER_EMAIL": EMAIL,
        "TZ": "UTC",
    }
    try:
        return _run(list(arguments), environment, folder)
    except _Failed as error:
        raise CannotGrade(
            f"git {arguments[0]} failed.",
            f"`grader release --no-git` makes the folder without a history.\n{error}",
        ) from None


class _Failed(Exception):
    """The output of a git that failed. It is raw, so messages show it after their own words."""


def _run(arguments: list[str], environment: dict[str, str], folder: Path | None) -> bytes:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, capture_output=True, check=True
        )
    except FileNotFoundError:
        raise CannotGrade(
            "There is no git on this machine.",
            "Install it. Without it, `grader release --no-git` makes a folder without a history, "
            "and `grader update` takes such a folder.",
        ) from None
    except subprocess.CalledProcessError as error:
        output = error.stderr.decode(errors="replace").strip()
        raise _Failed(f"git said: {output}" if output else "git said nothing.") from None
    return done.stdout
