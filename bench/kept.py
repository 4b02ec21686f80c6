"""A record that grows exercise by exercise, so that a run which was stopped can go on.

For benchmarks whose records bench/merge.py puts together.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from merge import ROWS, merged

from grader.course.exercise import Exercise
from grader.model.errors import UsageError
from grader.model.files import write_file

Record = dict[str, Any]
PRINTS = "fingerprints"
KINDS = (".py", ".toml")  # of files that decide a verdict


def by_exercise(
    exercises: Sequence[Exercise],
    measure: Callable[[Exercise], Record],
    ok: Callable[[Record], bool],
    out: Path | None,
    seconds: float = float("inf"),
) -> Record:
    """Measure each exercise that the record in `out` does not have, and keep it after each.

    An exercise whose files have changed since is measured again. None begins later than `seconds`
    after the first. `left` of the record names those that were not measured; while there are any,
    it is not `ok`. Raises UsageError when the record in `out` is of another machine or version.
    """
    prints = {exercise.name: fingerprint(exercise) for exercise in exercises}
    whole = _unchanged(out, prints)
    began = time.monotonic()
    left = [one for one in exercises if one.name not in whole.get(PRINTS, {})]
    while left and time.monotonic() - began < seconds:
        found = measure(left[0]) | {PRINTS: {left[0].name: prints[left[0].name]}}
        whole = _together(whole, found) if whole else found
        left = left[1:]
        if out is not None:
            write_file(out, json.dumps(_ended(whole, left, ok), indent=2) + "\n")
    return _ended(whole, left, ok)


def _together(whole: Record, found: Record) -> Record:
    try:
        return merged([whole, found])
    except ValueError as error:
        raise UsageError(
            f"The record cannot go on: {error}.", "Name a new file by --out."
        ) from error


def fingerprint(exercise: Exercise) -> str:
    """Return a hash of the exercise's files and of its solutions."""
    folders = (exercise.folder, exercise.root / "solutions" / exercise.name)
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in KINDS)
    read = ((path.relative_to(exercise.root).as_posix(), path.read_bytes()) for path in files)
    parts = (part for name, content in read for part in (name.encode(), content))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _ended(whole: Record, left: Sequence[Exercise], ok: Callable[[Record], bool]) -> Record:
    fine = bool(whole) and not left and ok(whole)
    return whole | {"ok": fine, "left": [exercise.name for exercise in left]}


def _unchanged(out: Path | None, prints: Mapping[str, str]) -> Record:
    """Read the rows that an earlier run left of exercises that are as they were."""
    if out is None or not out.exists():
        return {}
    kept: Record = json.loads(out.read_text(encoding="utf-8"))
    known = {
        name for name, value in kept.get(PRINTS, {}).items() if prints.get(name, value) == value
    }
    kept.pop("left", None)
    for key in ROWS.keys() & kept.keys():
        kept[key] = [row for row in kept[key] if row["exercise"].partition(":")[0] in known]
    kept[PRINTS] = {name: kept[PRINTS][name] for name in sorted(known)}
    return kept if known else {}
