"""Who stands where: what no order of files and no luck may change."""

from __future__ import annotations

from itertools import combinations, pairwise
from random import Random

import pytest
from classes import H200, TIMED
from hypothesis import example, given
from hypothesis import strategies as st

from grader.classroom.board import rank, standings
from grader.classroom.board.entries import Entry, Figures
from grader.classroom.board.people import Person
from grader.classroom.board.rank import Span
from grader.classroom.board.records import State

GRID = st.integers(1, 20).map(lambda n: n / 20)  # so that ends meet


@st.composite
def spans(draw) -> Span:
    return Span(*sorted(draw(st.tuples(GRID, GRID, GRID))))


def entry(span: Span, number: int = 0, state: State = State.RANKED, student="ada") -> Entry:
    return Entry(
        id=f"{number:032x}",
        digest="",
        student=student,
        exercise=TIMED,
        when=f"2026-11-{1 + number % 28:02}T00:00:00Z",
        graded="",
        signed=True,
        trusted=True,
        state=state,
        note="",
        passed=True,
        points=10,
        max_points=10,
        kernel="0" * 64,
        figures=Figures(H200, span.middle, span.low, span.high, 1.0, 1.0, 1.0),
    )


def ordered(several: list[Span]) -> list[Span]:
    return sorted(several, key=rank.certain, reverse=True)


def test_what_was_certainly_reached_ranks_and_what_overlaps_is_marked():
    rows = [Span(0.90, 0.92, 0.95), Span(0.84, 0.89, 0.91), Span(0.80, 0.81, 0.82)]
    assert rank.places(rows) == [(1, False), (2, True), (3, False)]


def test_a_wide_interval_gains_no_place():
    """70.2 % stood above 72.8 %, because its interval reached that of a leader."""
    wide, certain = Span(0.62, 0.702, 0.784), Span(0.722, 0.728, 0.734)
    assert ordered([wide, certain]) == [certain, wide]


def test_intervals_that_begin_alike_share_a_rank_and_those_that_touch_are_close():
    rows = [Span(0.6, 0.65, 0.7), Span(0.5, 0.56, 0.6), Span(0.5, 0.55, 0.6), Span(0.4, 0.4, 0.4)]
    assert rank.places(rows) == [(1, False), (2, True), (2, True), (4, False)]


def test_nobody_has_no_rank():
    assert rank.places([]) == []


TIED = [Span(0.05, 0.05, 0.05), Span(0.05, 0.1, 0.1), Span(0.05, 0.1, 0.15), Span(0.15, 0.15, 0.15)]


@example(TIED, Random(1))
@given(st.lists(spans()), st.randoms())
def test_ranks_do_not_depend_on_the_order(several: list[Span], random):
    before = rank.places(ordered(several))
    random.shuffle(several)
    assert rank.places(ordered(several)) == before


@given(st.lists(spans(), min_size=2))
def test_no_row_stands_below_one_whose_interval_begins_lower(several: list[Span]):
    rows = ordered(several)
    places = [place for place, _ in rank.places(rows)]
    for above, below in combinations(range(len(rows)), 2):
        assert rows[above].low >= rows[below].low
        assert (places[above] < places[below]) == (rows[above].low > rows[below].low)
    assert places[0] == 1


@given(st.lists(spans()), spans(), GRID, GRID)
def test_a_wider_interval_around_the_same_share_never_ranks_higher(
    others: list[Span], one: Span, lower: float, higher: float
):
    """The law that the old ranks broke."""
    wider = Span(min(one.low, lower), one.middle, max(one.high, higher))

    def place(own: Span) -> int:
        rows = ordered([*others, own])
        return rank.places(rows)[rows.index(own)][0]

    assert place(wider) >= place(one)


@given(st.lists(spans(), min_size=2))
def test_only_rows_that_the_measurement_tells_apart_from_the_one_above_are_unmarked(several):
    rows = ordered(several)
    for (above, below), (_, close) in zip(pairwise(rows), rank.places(rows)[1:], strict=True):
        assert close == (below.high >= above.low)


@given(st.lists(st.tuples(st.none() | spans(), st.none() | spans()), min_size=1, max_size=5))
def test_the_overall_board_keeps_the_same_laws(class_: list[tuple[Span | None, Span | None]]):
    entries = [
        entry(one, number, student=f"s{number}")._replace(exercise=exercise)
        for number, both in enumerate(class_)
        for exercise, one in zip(("a", "b"), both, strict=True)
        if one is not None
    ]
    people = {one.student: Person(one.student, one.student) for one in entries}
    best = rank.best_of(entries)
    boards = [best.get(name, {}) for name in ("a", "b")]
    made = standings.standings(people, standings.counted(entries), boards)
    assert [one.rank for one in made] == sorted(one.rank for one in made)
    for above, below in pairwise(made):
        assert above.mean_low >= below.mean_low
        assert below.close == (below.mean_high >= above.mean_low)


@given(st.lists(spans(), min_size=1, max_size=6), st.randoms())
def test_the_best_attempt_does_not_depend_on_the_order_of_those_that_rank(tried, random):
    entries = [entry(one, number) for number, one in enumerate(tried)]
    best = rank.best(entries)
    random.shuffle(entries)
    assert rank.best(entries) == best
    assert best.figures.share_low == max(one.low for one in tried)


@given(st.lists(spans(), min_size=1, max_size=6), spans())
def test_a_worse_attempt_changes_nothing(tried: list[Span], another: Span):
    entries = [entry(one, number) for number, one in enumerate(tried)]
    best = rank.best(entries)
    worse = entry(another, 99)
    if another.low < best.figures.share_low:
        assert rank.best([*entries, worse]) == best


@given(
    st.lists(st.tuples(spans(), st.sampled_from("abc"))),
    st.lists(st.tuples(spans(), st.sampled_from("abcd"), st.sampled_from(rank.FURTHEST))),
)
def test_what_does_not_rank_changes_no_rank(ranked, others):
    entries = [entry(one, number, student=who) for number, (one, who) in enumerate(ranked)]
    noise = [
        entry(one, 100 + number, state, student=who)
        for number, (one, who, state) in enumerate(others)
    ]

    def leaders(several: list[Entry]) -> list[Entry]:
        return rank.leaders(rank.best_of(several).get(TIMED, {}), 10)

    assert leaders(entries + noise) == leaders(entries)


def test_the_certain_share_counts_and_not_the_lucky_one():
    lucky, certain = entry(Span(0.5, 0.97, 0.99), 1), entry(Span(0.90, 0.91, 0.92), 2)
    assert rank.best([lucky, certain]) is certain


def test_of_equal_attempts_the_earlier_one_counts():
    early, late = (entry(Span(0.5, 0.6, 0.7), number) for number in (1, 2))
    assert rank.best([early, late]) is early


def test_where_none_ranks_the_one_that_came_furthest_is_shown():
    span = Span(0.5, 0.6, 0.7)
    tried = [entry(span, number, state) for number, state in enumerate(reversed(rank.FURTHEST))]
    assert rank.best(tried).state is State.SOLVED
    assert rank.best(tried[:-1]).state is State.UNVERIFIED
    failed = [entry(span, number, State.FAILED)._replace(figures=None) for number in range(3)]
    assert rank.best(failed) is failed[-1], "the latest"


def test_every_state_of_an_attempt_has_its_place():
    assert set(rank.FURTHEST) == set(State) - {State.RANKED, State.BASELINE}


def test_leaders_stand_in_the_order_of_the_table():
    entries = [
        entry(Span(0.80, 0.85, 0.90), 3, student="a"),
        entry(Span(0.80, 0.86, 0.90), 2, student="b"),
        entry(Span(0.95, 0.96, 0.97), 4, student="c"),
        entry(Span(0.80, 0.85, 0.90), 1, student="d"),
    ]
    best = rank.best_of(entries)[TIMED]
    assert [one.student for one in rank.leaders(best, 9)] == ["c", "b", "d", "a"]
    assert [one.student for one in rank.leaders(best, 2)] == ["c", "b"]


def test_the_mean_counts_what_is_missing_as_nothing():
    mean = rank.mean([Span(0.87, 0.9, 0.94), Span(0.56, 0.6, 0.63), None], 3)
    assert mean.middle == pytest.approx(0.5)
    assert mean.low == pytest.approx(0.5 - 0.05 / 3)  # root of 0.03² + 0.04²
    assert mean.high == pytest.approx(0.5 + 0.05 / 3)
    assert rank.mean([None], 1) == rank.mean([], 0) == Span(0.0, 0.0, 0.0)


@given(st.lists(st.none() | spans(), min_size=1))
def test_a_mean_lies_in_its_interval_and_errors_shrink(several: list[Span | None]):
    mean = rank.mean(several, len(several))
    assert mean.low <= mean.middle <= mean.high
    widest = max((one.high - one.low for one in several if one), default=0.0)
    assert mean.high - mean.low <= widest + 1e-12
