"""Choose what `grader verify` takes of a course: what changed, and another sample each day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.course import SHELVES, Exercise, commits

SAMPLE = 6  # exercises a day, unless their number is given
FOLDERS = (*SHELVES, "solutions")
TEXTS = (".md", ".svg", ".png")  # lessons and pictures: no verdict depends on them


@dataclass(frozen=True)
class Choice:
    """The chosen exercises in the course's order, and one sentence that names them."""

    exercises: tuple[Exercise, ...]
    sentence: str


def choose(exercises: Sequence[Exercise], since: str | None, most: int | None, day: int) -> Choice:
    """Choose the exercises that changed since the commit `since`, and `most` others or fewer.

    `day` is a number of days. The others are spread over the course, and each has its turn within
    ceil(len(exercises) / most) days. Where git does not know `since`, none counts as changed.
    """
    names = None if since is None else changed(exercises[0].root, since)
    known = [one for one in exercises if one.name in (names or ())]
    period = math.ceil(len(exercises) / (most or SAMPLE))
    sampled = [one for one in exercises[day % period :: period] if one not in known]
    sample = f"{len(sampled)} of {len(exercises) - len(known)} as today's sample{_names(sampled)}"
    if since is None:
        sentence = sample
    elif names is None:
        sentence = f"{sample}, because git cannot compare with {since} here"
    else:
        sentence = f"{len(known) or 'none'} changed since {since}{_names(known)}, and {sample}"
    chosen = tuple(one for one in exercises if one in known or one in sampled)
    return Choice(chosen, f"chosen: {sentence}")


def changed(root: Path, since: str) -> set[str] | None:
    """Return the names of exercises with a file that differs from where `since` branched off.

    Files that are not committed count, and TEXTS do not. Returns None where there is no git, no
    history, no such commit, or no common ancestor, as in a shallow clone.
    """
    commit = commits.commit_of(root, since)
    base = commit and commits.common_ancestor(root, commit)
    paths = commits.changed_paths(root, base) if base else None
    if paths is None:
        return None
    files = [PurePosixPath(path) for path in paths]
    places = [file.parts for file in files if file.suffix not in TEXTS]
    return {parts[1] for parts in places if len(parts) > 2 and parts[0] in FOLDERS}


def _names(exercises: Sequence[Exercise]) -> str:
    return f" ({', '.join(one.name for one in exercises)})" if exercises else ""
