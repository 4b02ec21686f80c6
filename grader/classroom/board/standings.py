"""The overall board of a class, and a tally of each task: who handed it in, who solved it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from grader.classroom.board import rank
from grader.classroom.board.entries import Entry
from grader.classroom.board.people import Person
from grader.classroom.board.rank import Span
from grader.classroom.board.records import Standing, State, Tally

# By login and exercise: the most points of a trusted run, and whether one passed.
Counted = Mapping[str, Mapping[str, tuple[int, bool]]]


def counted(entries: Iterable[Entry]) -> Counted:
    """Return what each student has of each exercise, also for students without a trusted run."""
    found: dict[str, dict[str, tuple[int, bool]]] = defaultdict(dict)
    for entry in entries:
        own = found[entry.student]
        points, passed = own.get(entry.exercise, (0, False))
        if entry.trusted and entry.state is not State.INVALIDATED:
            points, passed = max(points, entry.points), passed or entry.passed
        own[entry.exercise] = points, passed
    return found


def tallies(tasks: Iterable[tuple[str, str, int]], found: Counted) -> tuple[Tally, ...]:
    """Count the class at each task, which is given as name, title and most points."""
    tried = Counter(name for own in found.values() for name in own)
    solved = Counter(name for own in found.values() for name, (_, passed) in own.items() if passed)
    return tuple(Tally(name, title, most, tried[name], solved[name]) for name, title, most in tasks)


def standings(
    people: Mapping[str, Person], found: Counted, best: Sequence[rank.Best]
) -> tuple[Standing, ...]:
    """Order the class: ranked students by their mean share, then the others by their points.

    `best` is that of each timed exercise. Of equals the one who was done first comes first.
    """
    ranked = {login: [_ranked(one, login) for one in best] for login in found}
    means = {login: _mean(own) for login, own in ranked.items()}
    done = {
        login: max((e.when for e in own if e is not None), default="")
        for login, own in ranked.items()
    }
    points = {login: sum(most for most, _ in own.values()) for login, own in found.items()}
    solved = {login: sum(passed for _, passed in own.values()) for login, own in found.items()}

    def order(login: str) -> tuple[bool, float, float, float, int, int, str, str]:
        low, middle, high = rank.certain(means[login])
        others = (-points[login], -solved[login], done[login], people[login].who)
        return (not any(ranked[login]), -low, -middle, -high, *others)

    logins = sorted(found, key=order)
    placed = [login for login in logins if any(ranked[login])]
    places = dict(zip(placed, rank.places([means[login] for login in placed]), strict=True))
    return tuple(
        Standing(
            who=people[login].who,
            key=people[login].key,
            rank=places.get(login, (None, False))[0],
            close=places.get(login, (None, False))[1],
            mean=means[login].middle,
            mean_low=means[login].low,
            mean_high=means[login].high,
            shares=tuple(e.figures.share if e and e.figures else None for e in ranked[login]),
            solved=solved[login],
            points=points[login],
            gpus=tuple(sorted({e.figures.gpu for e in ranked[login] if e and e.figures})),
        )
        for login in logins
    )


def _mean(ranked: Sequence[Entry | None]) -> Span:
    spans = (rank.span(one.figures) if one and one.figures else None for one in ranked)
    return rank.mean(spans, len(ranked))


def _ranked(best: rank.Best, login: str) -> Entry | None:
    entry, _ = best.get(login, (None, 0))
    return entry if entry is not None and entry.state is State.RANKED else None
