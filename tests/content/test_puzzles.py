"""Every puzzle is complete: lesson, stub, spec, properties, solution, wrong kernels, hints.

That the judge accepts and rejects what it must is `grader verify`'s part.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.correctness import CaseDraw, expect, mismatches, reseeded
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.check import Request

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PUZZLES = [e for e in catalog.parts(ROOT) if e.folder.parent.name == "puzzles"]
MOST_ELEMENTS = 4096  # of a case: the simulator runs a Python task for each thread
MOST_PICTURED = {"numba": 64, "triton": 700}

OF_ALL_THREADS = {"p09_coalesced", "p15_axis_sum", "p18_transpose"}  # they count transactions
ALONE = {"numba": ("thread", "global_reads"), "triton": ("program", "loads")}

each = pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda e: e.name)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def lesson(puzzle: Exercise) -> str:
    return (puzzle.folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("letter", "backend"), [("p", "numba"), ("t", "triton")])
def test_puzzles_are_numbered_without_a_gap(letter: str, backend: str):
    puzzles = [puzzle for puzzle in PUZZLES if puzzle.spec.backend == backend]
    numbers = [re.sub(rf"^{letter}(\d\d)_[a-z0-9_]+$", r"\1", puzzle.name) for puzzle in puzzles]
    assert numbers == [f"{number:02}" for number in range(1, len(puzzles) + 1)]


def test_the_course_goes_from_threads_over_programs_to_the_exercises():
    """Exercises may come later, and leave numbers free."""
    numbers = [exercise.name.split("_")[0] for exercise in catalog.exercises(ROOT)]
    puzzles = [*(f"p{n:02}" for n in range(1, 22)), *(f"t{n:02}" for n in range(1, 7))]
    assert numbers[: len(puzzles)] == puzzles
    exercises = numbers[len(puzzles) :]
    assert exercises[:6] == [f"{n:02}" for n in range(1, 7)]
    assert exercises == sorted(set(exercises))


def test_the_page_of_the_puzzles_lists_each_in_its_order():
    page = (ROOT / "puzzles" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([pt]\d\d_\w+) \|", page, re.MULTILINE)
    assert listed == [puzzle.name for puzzle in PUZZLES]


@each
def test_the_lesson_has_every_part(puzzle: Exercise):
    text = lesson(puzzle)
    assert text.startswith(f"# {puzzle.spec.title}\n")
    parts = re.findall(r"^## (.*)", text, re.MULTILINE)
    needed = ["The idea", "The task", "How it is graded", "Hints", "Common mistakes"]
    assert [part for part in parts if part in needed] == needed


@each
def test_the_lesson_states_every_budget(puzzle: Exercise):
    rows = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \| ([\d,]+) \|$", lesson(puzzle), re.MULTILINE)
    told = {name.replace(" ", "_"): (number(most), number(best)) for name, most, best in rows}
    assert told == {b.count: (b.most, b.best) for b in puzzle.spec.budgets}


@each
def test_cases_are_small_and_the_pictured_one_fits_a_screen(puzzle: Exercise):
    spec = puzzle.spec
    assert spec.scored is None
    assert max(case.elements for case in [*spec.edges, spec.counted]) <= MOST_ELEMENTS
    assert spec.edges[0].elements == min(case.elements for case in spec.edges)
    assert {case.draw for case in spec.edges} == set(spec.draws)
    assert spec.pictured is not None
    assert spec.pictured.elements <= MOST_PICTURED[spec.backend]


def test_a_sum_without_the_end_of_a_long_row_is_wrong_whatever_is_drawn():
    """In p15 a single case is longer than 128 columns, and must tell by itself.

    Drawn from -1, 0 and 1, the rest of its row was 0 with one seed of a hundred.
    """
    spec = next(puzzle.spec for puzzle in PUZZLES if puzzle.name == "p15_axis_sum")
    (long,) = (case for case in spec.edges if case.shape[-1] > 128)
    for seed in range(500):
        case = reseeded(long, seed)
        inputs = spec.inputs(case, CaseDraw(case))
        short = {"out": inputs["a"][:, :128].sum(-1)}
        ((_, wrong),) = mismatches(expect(spec, case, inputs), short, {})
        assert wrong is not None, f"seed {seed}"


@each
def test_a_thread_or_program_that_does_all_does_not_pass(puzzle: Exercise):
    counted = {budget.count for budget in puzzle.spec.budgets}
    if puzzle.name in OF_ALL_THREADS:
        assert "transactions" in counted
        return
    one, count = ALONE[puzzle.spec.backend]
    assert count in counted
    alone = ROOT / "solutions" / puzzle.name / f"wrong_one_{one}_does_all.py"
    assert "\nRejected at: counts\n" in alone.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["p04_map_2d", "p05_broadcast"])
def test_a_drawing_of_a_table_shows_x_and_y_swapped(name: str):
    """That is the most common mistake with tables, and in a small one nothing goes wrong."""
    swapped = ROOT / "solutions" / name / "wrong_x_is_the_row.py"
    trace = check.trace(Request(catalog.find(ROOT, name), swapped))
    assert trace.unwritten == {"out": (8, 17, 26)}  # the ninth column, for which y has no number
