"""The series of a call's bytes: few points that keep the extremes, and a distrusted sender."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model.held_series import (
    MOST_POINTS,
    HeldRecorder,
    HeldSeries,
    between,
    read_held_series,
)


def recorded(held: list[int]) -> HeldSeries:
    recorder = HeldRecorder(held[0])
    for size in held[1:]:
        recorder.note(size)
    return recorder.series()


def test_each_of_few_changes_is_a_point():
    assert recorded([5, 8, 8, 0]).points == ((0, 5), (1, 8), (2, 0))


@pytest.mark.slow
@given(st.integers(1, 3_000), st.randoms(use_true_random=False))
def test_a_long_series_keeps_its_ends_and_its_extremes(length: int, random: Random):
    held = [random.randrange(10**6) for _ in range(length)]
    changes = [held[0], *(after for before, after in pairwise(held) if after != before)]
    series = recorded(held)
    assert len(series.points) <= MOST_POINTS
    assert series.points[0] == (0, held[0])
    assert series.points[-1] == (len(changes) - 1, held[-1])
    assert series.peak == max(held)
    assert min(size for _, size in series.points) == min(held)
    assert all(changes[number] == size for number, size in series.points)
    if len(changes) <= MOST_POINTS // 2:
        assert [size for _, size in series.points] == changes


def test_a_long_series_is_thinned_evenly():
    points = recorded([size % 2 for size in range(100_000)]).points
    gaps = [after - before for (before, _), (after, _) in pairwise(points)]
    assert len(points) > MOST_POINTS // 4
    assert max(gaps) <= 2_048


def test_a_series_crosses_to_the_judge():
    series = recorded([0, 400, 12])
    assert read_held_series(json.loads(json.dumps(asdict(series)))) == series


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([[number, 0] for number in range(MOST_POINTS + 1)], id="too long"),
        pytest.param([], id="empty"),
        pytest.param([[0, -1]], id="negative"),
        pytest.param([[0, 2**63]], id="more than 64 bits"),
        pytest.param([[0, 1.5]], id="no integer"),
        pytest.param([[0, True]], id="a truth"),
        pytest.param([[1, 0]], id="no start"),
        pytest.param([[0, 0], [2, 4], [2, 0]], id="not in order"),
        pytest.param([[0, 0, 0]], id="three numbers"),
        pytest.param([7], id="no pair"),
        pytest.param("0000", id="a text"),
        pytest.param(None, id="nothing"),
    ],
)
def test_a_forged_series_is_missing_and_raises_nothing(points: object):
    found = read_held_series({"points": points, "missing": ""})
    assert found.points == ()
    assert "something else than a series" in found.missing


@pytest.mark.parametrize("value", [[[0, 0]], "series", 3, {}, {"point": [[0, 0]]}], ids=str)
def test_something_else_is_no_series(value: object):
    assert read_held_series(value).missing


def test_a_worker_gives_no_reason_of_its_own():
    found = read_held_series({"points": [[0, 3]], "missing": "\x1b[2J"})
    assert found == HeldSeries(((0, 3),))


@pytest.mark.parametrize(
    ("least", "most", "words"),
    [
        (0, 39, "a peak of 40 bytes, and the step counted at most 39"),
        (4_096, 5_000, "a peak of 40 bytes, and the step counted at least 4,096"),
    ],
)
def test_a_peak_that_the_step_contradicts_is_not_drawn(least: int, most: int, words: str):
    found = between(HeldSeries(((0, 0), (1, 40))), least, most)
    assert found.points == ()
    assert words in found.missing


def test_a_peak_within_what_the_step_counted_is_drawn():
    series = HeldSeries(((0, 0), (1, 40)))
    assert between(series, 40, 40) == series
    assert between(series, 0, 50) == series


def test_a_worker_may_send_none():
    assert between(None, 0, 10).missing
