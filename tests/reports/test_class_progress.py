"""The page and the line of a class run while it runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from grader.classroom.batch.state import Counts, RunState
from grader.reports import class_progress

NOW = datetime(2026, 11, 26, 15, 4, tzinfo=UTC)
STATE = RunState(
    total=40,
    before=4,
    done=8,
    given_up=1,
    running={"worker-1": "01_vector_add, measuring"},
    workers="2 workers on 1 GPU (NVIDIA H200)",
    elapsed_s=120.0,
    left_s=420.0,
    exercises=(Counts("01_vector_add", 40, 11, 9),),
    said=("the worker worker-2 is gone",),
)


def test_the_line_says_how_far_it_is_and_how_long_it_takes():
    said = "graded 12 of 40 kernels, 1 in work, 1 could not be graded, about 7 min left"
    assert class_progress.words(STATE) == said
    assert class_progress.words(replace(STATE, left_s=None, given_up=0)) == (
        "graded 12 of 40 kernels, 1 in work"
    )


def test_the_page_loads_itself_again_until_the_run_is_over():
    running = class_progress.page(STATE, "Kernels", NOW)
    over = class_progress.page(STATE, "Kernels", NOW, "Graded")
    assert 'http-equiv="refresh"' in running
    assert 'http-equiv="refresh"' not in over
    for text in ("01_vector_add, measuring", "NVIDIA H200", "worker-2 is gone", ">4.0<"):
        assert text in running


def test_what_a_worker_or_a_kernel_says_is_text():
    hostile = "<script>alert(1)</script>\x1b[2J\u202e"
    page = class_progress.page(
        replace(STATE, said=(hostile,), running={hostile: hostile}), hostile, NOW
    )
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_a_run_without_kernels_has_a_page():
    empty = replace(STATE, total=0, before=0, done=0, exercises=(), running={}, said=())
    assert "Graded 0 of 0 kernels" in class_progress.page(empty, "Kernels", NOW, "Graded")
