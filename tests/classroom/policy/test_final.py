"""Laws of grades, for any class: nobody gains by being late, or gets a zero for others' faults."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import class_runs
import pytest
from class_runs import EXERCISES, HANDED_IN, cell, row, run
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.policy.final import final, uncovered
from grader.classroom.policy.records import Manual, explained, text_of
from grader.classroom.policy.settings import GradingSettings, Group, Late
from grader.model.class_run import ClassRow
from grader.model.times import stamp

DEADLINE = datetime(2026, 11, 20, 12, tzinfo=UTC)
STANDINGS = ("graded", "not_started", "missing", "unreadable", "not_graded")

hours = st.integers(-300, 300)
lates = st.builds(
    Late,
    percent=st.integers(0, 100).map(Fraction),
    each=st.sampled_from(["day", "hour"]),
    most=st.integers(0, 100).map(Fraction),
    grace=st.integers(0, 300).map(lambda minutes: timedelta(minutes=minutes)),
    closes_after=st.none() | st.integers(1, 20),
)
GROUPS = (
    Group("exercises", ("01_double", "02_row_sum"), Fraction(80)),
    Group("puzzles", ("p01_copy",), Fraction(20)),
)
rules = st.builds(
    GradingSettings,
    deadline=st.none() | st.just(DEADLINE),
    deadlines=st.sampled_from([{}, {"01_double": DEADLINE - timedelta(days=3)}]),
    late=lates,
    counted=st.none() | st.sets(st.sampled_from(EXERCISES), min_size=1).map(frozenset),
    groups=st.sampled_from([(), GROUPS, (Group("all", EXERCISES, Fraction(1), best=2),)]),
)


def time(after: int) -> str:
    return stamp(DEADLINE + timedelta(hours=after))


@st.composite
def cells(draw: st.DrawFn) -> list:
    made = []
    for name in EXERCISES:
        standing = draw(st.sampled_from(STANDINGS))
        points = draw(st.integers(0, class_runs.POINTS[name])) if standing == "graded" else None
        made.append(cell(name, points, standing))
    return made


@st.composite
def rows(draw: st.DrawFn, student: str = "ada") -> ClassRow:
    due = draw(st.just("") | hours.map(time) | st.just("soon"))
    handed_in = draw(st.just("") | hours.map(time))
    group = draw(st.sampled_from(["", "a"]))
    return row(student, *draw(cells()), submitted_at=handed_in, due=due, group=group)


classes = st.lists(st.sampled_from("abcdef"), unique=True).flatmap(
    lambda logins: st.tuples(*(rows(login) for login in logins))
)


def grades(one: ClassRow, settings: GradingSettings) -> list[Fraction | None]:
    (made,) = final(run(one), settings)
    return [cell.final for cell in made.cells]


# -- laws


@pytest.mark.slow
@given(rows(), rules, hours, st.integers(1, 300))
def test_handing_in_later_never_gains_a_point(one, settings, when, more):
    early = one.model_copy(update={"submitted_at": time(when)})
    late = one.model_copy(update={"submitted_at": time(when + more)})
    for before, after in zip(grades(early, settings), grades(late, settings), strict=True):
        assert before is after is None or after <= before


@given(rows(), rules, hours, st.integers(0, 300))
def test_an_extension_never_loses_a_point(one, settings, when, more):
    shorter = one.model_copy(update={"due": time(when)})
    longer = one.model_copy(update={"due": time(when + more)})
    none = one.model_copy(update={"due": ""})
    for given_, less in ((longer, shorter), (shorter, none), (longer, none)):
        pairs = zip(grades(given_, settings), grades(less, settings), strict=True)
        assert all(a is b is None or a >= b for a, b in pairs)


@pytest.mark.slow
@given(classes, rules)
def test_what_could_not_be_graded_is_no_zero_and_makes_no_total(some, settings):
    for before, after in zip(some, final(run(*some), settings), strict=True):
        by_name = {one.exercise: one for one in after.cells}
        for one in before.cells:
            assert (by_name[one.exercise].final is None) == (one.standing == "not_graded")
        lost = [one for one in after.cells if one.counts and one.final is None]
        assert (after.total is None) == bool(lost)
        assert all(one.exercise in after.why for one in lost)


@pytest.mark.slow
@given(classes, rules)
def test_rows_are_those_of_the_roster_in_its_order(some, settings):
    assert [one.student for one in final(run(*some), settings)] == [one.student for one in some]


@pytest.mark.slow
@given(classes, rules)
def test_each_cell_adds_up(some, settings):
    for one in final(run(*some), settings):
        for each in one.cells:
            if each.final is not None:
                assert each.final == (each.points or 0) - each.deduction + each.change
                assert 0 <= each.deduction <= (each.points or 0)
                assert not each.deduction or each.reason


@pytest.mark.slow
@given(classes, rules)
def test_totals_lie_between_nothing_and_the_most(some, settings):
    for one in final(run(*some), settings):
        assert one.total is None or 0 <= one.total <= one.most


def test_full_points_are_the_whole_total_whatever_the_weights():
    full = row("ada", *(cell(name, points) for name, points in class_runs.POINTS.items()))
    for groups in (GROUPS, (Group("all", EXERCISES, Fraction(3), best=2),)):
        (one,) = final(run(full), GradingSettings(groups=groups))
        assert (one.total, one.most) == (100, 100)


@given(st.integers(0, 9), st.integers(0, 10), st.integers(0, 5))
def test_another_point_never_lowers_a_total(double, rows_, copy):
    def total(points: int) -> Fraction:
        some = zip(EXERCISES, (points, rows_, copy), strict=True)
        (one,) = final(run(row("ada", *(cell(*each) for each in some))), settings)
        assert one.total is not None
        return one.total

    for groups in ((), GROUPS, (Group("all", EXERCISES, Fraction(1), best=1),)):
        settings = GradingSettings(groups=groups)
        assert total(double + 1) >= total(double)


# -- cases


TEN_A_DAY = GradingSettings(DEADLINE, late=Late(Fraction(10), most=Fraction(50)))


def test_two_days_late_is_said_with_what_it_costs():
    (one,) = final(run(row("ada", cell(points=10), submitted_at=time(30))), TEN_A_DAY)
    assert explained(one.cells[0]) == "-2 points: 1 day 6 h late (2 days begun): 20 % off"
    assert one.deductions == ("01_double: -2 points: 1 day 6 h late (2 days begun): 20 % off",)


@pytest.mark.parametrize(
    ("after", "left"), [(0, 10), (1, 9), (24, 9), (25, 8), (24 * 9, 5), (-5, 10)]
)
def test_a_day_counts_once_it_has_begun_and_no_more_than_the_most_is_lost(after: int, left: int):
    assert grades(row("ada", cell(points=10), submitted_at=time(after)), TEN_A_DAY)[0] == left


def test_the_grace_period_forgives_and_the_end_takes_all():
    late = Late(Fraction(10), grace=timedelta(minutes=90), closes_after=2)
    settings = GradingSettings(DEADLINE, late=late)
    assert grades(row("ada", cell(points=10), submitted_at=time(1)), settings)[0] == 10
    assert grades(row("ada", cell(points=10), submitted_at=time(2)), settings)[0] == 9
    (one,) = final(run(row("ada", cell(points=10), submitted_at=time(49))), settings)
    assert one.cells[0].final == 0
    assert one.cells[0].reason == "2 days 1 h late, and no points after 2026-11-22T12:00:00Z"


def test_a_group_has_the_extension_of_each_of_its_members():
    """They hand in together: one of them cannot be late where another is in time."""
    ada = row("ada", cell(points=10), submitted_at=time(30), group="a", due=time(48))
    bob = row("bob", cell(points=10), submitted_at=time(30), group="a")
    eve = row("eve", cell(points=10), submitted_at=time(30), group="")
    left = [one.cells[0].final for one in final(run(ada, bob, eve), TEN_A_DAY)]
    assert left == [10, 10, 8]


@pytest.mark.parametrize("spelling", [" g1", "G1", "g1 "])
def test_a_group_is_the_one_that_handed_in_together_however_it_is_spelt(spelling: str):
    ada = row("ada", cell(points=10), submitted_at=time(30), group="g1", due=time(48))
    bob = row("bob", cell(points=10), submitted_at=time(30), group=spelling)
    assert [one.cells[0].final for one in final(run(ada, bob), TEN_A_DAY)] == [10, 10]


def test_an_extension_before_the_deadline_shortens_nothing():
    one = row("ada", cell(points=10), submitted_at=time(-1), due=time(-48))
    assert grades(one, TEN_A_DAY)[0] == 10


def test_of_several_exercises_the_best_count():
    settings = GradingSettings(groups=(Group("all", EXERCISES, Fraction(1), best=2),))
    points = (10, 0, 4)
    cells = [cell(name, each) for name, each in zip(EXERCISES, points, strict=True)]
    (one,) = final(run(row("ada", *cells)), settings)
    assert one.total == 90, "the mean of 10 of 10 and 4 of 5"


@pytest.mark.parametrize("day", ["2026-11-22", "20261122", "2026-W47-7", "2026W477", " 20261122 "])
def test_an_extension_that_names_a_day_ends_with_it(day: str):
    one = row("ada", cell(points=10), submitted_at="2026-11-22T23:00:00Z", due=day)
    assert grades(one, TEN_A_DAY)[0] == 10


def test_nothing_is_deducted_where_no_time_is_known_and_the_row_says_so():
    (one,) = final(run(row("ada", cell(points=10), submitted_at="", due="soon")), TEN_A_DAY)
    assert one.cells[0].final == 10
    assert one.notes == (
        "the extension soon is not a time: it was ignored",
        "no time of submission is known: nothing was deducted for being late",
    )


def test_missing_work_says_whether_it_is_due():
    one = row("ada", cell(standing="missing"), submitted_at="", due=time(48))
    early, late = (DEADLINE + timedelta(hours=hours) for hours in (24, 72))
    (before,), (after,) = (final(run(one), TEN_A_DAY, (), now) for now in (early, late))
    assert before.cells[0].reason == f"not due before {time(48)}"
    assert after.cells[0].reason == "nothing was handed in"
    assert before.cells[0].final == after.cells[0].final == 0


def test_an_exercise_that_a_row_lacks_was_not_graded():
    (one,) = final(run(row("ada", cell("01_double", 10))), GradingSettings())
    assert one.total is None
    assert one.why == "no total: 02_row_sum, p01_copy were not graded"


def test_only_what_counts_makes_a_total():
    one = row("ada", cell("01_double", 10), cell("02_row_sum", standing="not_graded"))
    settings = GradingSettings(counted=frozenset({"01_double"}))
    (made,) = final(run(one), settings)
    assert (made.total, made.most) == (10, 10)


def test_an_exercise_that_counts_and_was_not_in_the_run_is_named():
    settings = GradingSettings(counted=frozenset({"01_double", "p01_copy"}))
    assert uncovered(run(exercises=("01_double",)), settings) == ("p01_copy",)


# -- an instructor's changes


def test_an_instructor_has_the_last_word():
    late = row("ada", cell(points=10), cell("02_row_sum", standing="not_graded"))
    late = late.model_copy(update={"submitted_at": time(1)})
    lines = (
        Manual("ADA ", "01_double", change=Fraction(-2), comment="copied a loop"),
        Manual("ada", "02_row_sum", points=Fraction(15), comment="graded by hand"),
        Manual("ada", "", comment="come to my office"),
    )
    (one,) = final(run(late, exercises=EXERCISES[:2]), TEN_A_DAY, lines)
    assert [each.final for each in one.cells] == [7, 15]
    assert one.total == 22
    assert one.comment == "come to my office"
    assert one.deductions == (
        "01_double: -1 point: 1 h late (1 day begun): 10 % off; -2 points by the instructor; "
        "copied a loop",
        "02_row_sum: +15 points by the instructor; graded by hand",
    )


def test_a_change_makes_no_points_of_what_was_not_graded_and_none_below_zero():
    one = row("ada", cell(points=1), cell("02_row_sum", standing="not_graded"))
    lines = [Manual("ada", name, change=Fraction(-3)) for name in EXERCISES[:2]]
    (made,) = final(run(one, exercises=EXERCISES[:2]), GradingSettings(), lines)
    assert [each.final for each in made.cells] == [0, None]


@pytest.mark.parametrize(
    ("points", "text"),
    [(None, ""), (0, "0"), (7, "7"), (Fraction(1, 3), "0.33"), (Fraction(-5, 2), "-2.5")],
)
def test_points_are_written_with_two_decimals_at_most(points, text: str):
    assert text_of(points if points is None else Fraction(points)) == text


def test_the_class_s_time_of_submission_is_shown():
    (one,) = final(run(row("ada", cell(points=1))), TEN_A_DAY)
    assert (one.submitted_at, one.deadline) == (HANDED_IN, "2026-11-20T12:00:00Z")
