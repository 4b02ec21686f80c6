"""Looking for uses of named things: what most rules are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grader.lint.source import Match, Source


def uses(*wanted: str, but: tuple[str, ...] = ()) -> Callable[[Source], Iterator[Match]]:
    """Finds each use of these paths and of what lies in them, such as `threading` or `os.fork`."""

    def find(source: Source) -> Iterator[Match]:
        for node, paths in source.references:
            found = sorted(path for path in paths if within(path, wanted) and not within(path, but))
            if found:
                yield Match(node, f"`{found[0].removeprefix('builtins.')}`")

    return find


def within(path: str, places: tuple[str, ...]) -> bool:
    """Whether a path is one of these or lies in one of them."""
    return any(path == place or path.startswith(f"{place}.") for place in places)
