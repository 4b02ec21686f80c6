"""The pinned versions that students install: those of the course, or those installed here."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from grader.classroom.release import wheel
from grader.model import UsageError

# The extra of the grader that students may install, and the one that only developers need.
STUDENTS, AUTHORS = "gpu", "dev"


def pins(constraints: str | None, extras: frozenset[str]) -> str:
    """Return a pip constraints file. `constraints` is the course's own, or None.

    `extras` are those of the grader that its students install beside `STUDENTS`.
    Packages for developers alone are left out. Raises UsageError for a line that pip would not
    read.
    """
    needed = _needed(extras | {STUDENTS})
    if constraints is None:
        lines = list(_installed(needed))
    else:
        unwanted = _needed(frozenset({AUTHORS})) - needed
        lines = [line for line in _lines(constraints) if _name(line) not in unwanted]
    return "".join(f"{line}\n" for line in lines)


def _lines(constraints: str) -> Iterator[str]:
    for line in constraints.splitlines():
        if (text := line.strip()) and not text.startswith("#"):
            yield text


def _name(line: str) -> str:
    try:
        return canonicalize_name(Requirement(line.partition(" #")[0]).name)
    except InvalidRequirement:
        raise UsageError(
            f"constraints.txt of the course: {line!r} pins no package.",
            "Write one package a line, such as numpy==2.4.6.",
        ) from None


def _installed(names: set[str]) -> Iterator[str]:
    for name in sorted(names):
        try:
            # Without a local part such as +cpu, which names one of several builds.
            yield f"{name}=={Version(metadata.version(name)).public}"
        except metadata.PackageNotFoundError:
            continue  # of another system, or of the extra


def _needed(extras: frozenset[str]) -> set[str]:
    todo = [(canonicalize_name(wheel.NAME), extras)]
    seen = set(todo)
    while todo:
        name, extras = todo.pop()
        try:
            required = wheel.requires() if name == wheel.NAME else metadata.requires(name)
        except metadata.PackageNotFoundError:
            continue
        for needs in map(Requirement, required or ()):
            applies = needs.marker is None or any(
                needs.marker.evaluate({"extra": one}) for one in ("", *extras)
            )
            key = (canonicalize_name(needs.name), frozenset(needs.extras))
            if applies and key not in seen:
                seen.add(key)
                todo.append(key)
    return {str(name) for name, _ in seen if name != wheel.NAME}
