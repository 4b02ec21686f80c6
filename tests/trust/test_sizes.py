"""Ordinary sizes: a kernel that is wrong only for large ones is rejected without a GPU.

Each wrong kernel is the solution with a few words replaced. docs/trust.md, "Ordinary sizes", has
the table of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pages import rows, section
from specs import with_spec

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import steps as all_steps
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.model.cases import Case
from grader.model.exercise import Spec
from grader.model.outcomes import Outcome
from grader.model.results import Step
from grader.sandbox.fork_servers import ForkServers

ROOT = Path(__file__).parents[2]
STEPS = all_steps.every()
SHELF = "exercises"
EXERCISES = {e.name: e for e in catalog.parts(ROOT) if e.folder.parent.name == SHELF}
TRITON = [e for e in EXERCISES.values() if e.spec.backend == "triton"]


@dataclass(frozen=True)
class Wrong:
    """A solution whose text is changed: each pattern of `changes` matches it, all places."""

    exercise: str
    name: str  # as in docs/trust.md
    changes: tuple[tuple[str, str], ...]
    reached: Callable[[Case], bool]  # whether a case is large enough for it to be wrong
    kind: str = "value"  # of the failure

    def __str__(self) -> str:
        return f"{self.exercise}: {self.name}"


# At the end of the entry, which is the last function of the file: what was right is spoilt.
def _spoils(condition: str, damage: str) -> tuple[tuple[str, str], ...]:
    return ((r"\Z", f"    if {condition}:\n        {damage}\n"),)


SOFTMAX = ("03_three_pass_softmax", "04_online_softmax")
ROWS_ON_Y = {
    **dict.fromkeys(SOFTMAX, ((r"\[\(rows,\)\]", "[(1, rows)]"),)),
    "06_cross_entropy": ((r"\[\(tokens,\)\]", "[(1, tokens)]"),),
}
OUTPUT = {"01_vector_add": "out", "05_swiglu": "out", "06_cross_entropy": "logits"}
OUTPUT |= dict.fromkeys(SOFTMAX, "out")


def _elements(least: int) -> Callable[[Case], bool]:
    return lambda case: case.elements >= least


def _rows(least: int) -> Callable[[Case], bool]:
    return lambda case: case.shape[0] >= least


def _columns(least: int) -> Callable[[Case], bool]:
    return lambda case: case.shape[1] >= least


def _last_row_begins(least: int) -> Callable[[Case], bool]:
    return lambda case: (case.shape[0] - 1) * case.shape[1] >= least


def wrong_kernels() -> list[Wrong]:
    wrong: list[Wrong] = []
    for exercise, out in OUTPUT.items():
        for power, name in ((15, "2¹⁵"), (16, "2¹⁶")):
            changes = _spoils(f"{out}.numel() >= 2**{power}", f"{out}.zero_()")
            name = f"from {name} elements on"
            wrong.append(Wrong(exercise, name, changes, _elements(2**power)))
        if exercise != "01_vector_add":
            changes = _spoils(f"{out}.shape[0] > 64", f"{out}[64:] = 7")
            wrong.append(Wrong(exercise, "from row 64 on", changes, _rows(65)))
            changes = _spoils(f"{out}.shape[1] > 16384", f"{out}[:, 16384:] = 7")
            wrong.append(Wrong(exercise, "from 16,384 columns on", changes, _columns(16385)))
    for bits, least in (("int16", 2**15 + 1), ("uint16", 2**16 + 1)):
        block = (r"tl\.program_id\(0\)\.to\(tl\.int64\) \* BLOCK \+ tl\.arange\(0, BLOCK\)",)
        narrow = f"(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.{bits})"
        name = f"{bits} offsets"
        wrong.append(Wrong("01_vector_add", name, ((*block, narrow),), _elements(least), "*"))
        columns = (
            (
                r"tl\.program_id\(1\) \* BLOCK \+ tl\.arange\(0, BLOCK\)",
                f"(tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.{bits})",
            ),
        )
        wrong.append(Wrong("05_swiglu", name, columns, _columns(least), "*"))
        for exercise in (*SOFTMAX, "06_cross_entropy"):
            start = ((r"start \+ lanes", f"(start + lanes).to(tl.{bits})"),)
            wrong.append(Wrong(exercise, name, start, _columns(least), "*"))
        for exercise, stride in (
            ("05_swiglu", "gate_stride"),
            ("06_cross_entropy", "stride"),
            *((each, "x_stride") for each in SOFTMAX),
        ):
            start = ((rf"\brow \* {stride}", f"(row * {stride}).to(tl.{bits})"),)
            name = f"{bits} starts of rows"
            wrong.append(Wrong(exercise, name, start, _last_row_begins(least), "*"))
    for exercise, changes in ROWS_ON_Y.items():
        axis = (r"tl\.program_id\(0\)", "tl.program_id(1)")
        changes = (*changes, axis)
        wrong.append(Wrong(exercise, "rows along y", changes, _rows(2**16), "launch_refused"))
    swapped = (
        (r"tl\.program_id\(0\)", "tl.program_id(2)"),
        (r"tl\.program_id\(1\)", "tl.program_id(0)"),
        (r"tl\.program_id\(2\)", "tl.program_id(1)"),
        (r"\(rows, triton\.cdiv\(columns, BLOCK\)\)", "(triton.cdiv(columns, BLOCK), rows)"),
    )
    wrong.append(Wrong("05_swiglu", "rows along y", swapped, _rows(2**16), "launch_refused"))
    return wrong


WRONG = wrong_kernels()


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[Wrong, Mapping[str, Step]]:
    """Grade each up to `correctness`, by the edges of its exercise at which it is wrong.

    What some cases of an exercise reject, all of them do, and the small ones took most of the time.
    """
    folder = tmp_path_factory.mktemp("wrong")
    found = {}
    with closing(ForkServers()) as fork_servers:
        for number, wrong in enumerate(WRONG):
            exercise = with_edges_that_reach(wrong)
            file = written(wrong, folder / str(number))
            options = Options(device="cpu", seed=1, shrink=False)
            with closing(Grading(exercise, file, options, fork_servers)) as grading:
                found[wrong] = {name: run(grading, STEPS[name]) for name in ("load", "correctness")}
    return found


def with_edges_that_reach(wrong: Wrong) -> Exercise:
    """The smallest first. Where there is none, the case that is launched only has as many rows."""
    exercise = EXERCISES[wrong.exercise]
    spec = exercise.spec
    reaching = sorted(filter(wrong.reached, spec.edges), key=lambda case: case.elements)
    assert reaching or (spec.launched is not None and wrong.reached(spec.launched))
    return with_spec(exercise, replace(spec, edges=tuple(reaching) or spec.edges[:1]))


def written(wrong: Wrong, folder: Path) -> Path:
    text = EXERCISES[wrong.exercise].solution.read_text(encoding="utf-8")
    for pattern, replacement in wrong.changes:
        text, times = re.subn(pattern, replacement, text)
        assert times, f"{pattern} is not in the solution"
    folder.mkdir()
    kernel = folder / "kernel.py"
    kernel.write_text(text, encoding="utf-8")
    return kernel


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_kernel_that_is_wrong_for_large_sizes_is_rejected(
    graded: dict[Wrong, Mapping[str, Step]], wrong: Wrong
):
    steps = graded[wrong]
    assert steps["load"].outcome is Outcome.PASS
    assert steps["correctness"].outcome is Outcome.FAIL
    assert wrong.kind in ("*", steps["correctness"].failure.kind), steps["correctness"].failure


@pytest.mark.slow
def test_the_table_lists_each_exercise_with_its_wrong_kernels():
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    row = r"^\| (wrong from .+?|rows along y|u?int16 .+?) \| (.+?) \|"
    listed = dict(re.findall(row, text, re.MULTILINE))
    of: dict[str, list[str]] = defaultdict(list)
    for wrong in WRONG:
        name = f"wrong {wrong.name}" if wrong.name.startswith("from") else wrong.name
        of[name].append(wrong.exercise[:2])
    assert listed == {name: ", ".join(sorted(set(numbers))) for name, numbers in of.items()}


def test_the_page_has_the_largest_cases_without_a_gpu():
    text = section(ROOT / "docs" / "trust.md", "Ordinary sizes")
    shown = {row[0]: row[1:] for row in rows(text) if row[0] in EXERCISES}
    assert shown == {name: largest(each.spec) for name, each in EXERCISES.items()}
    puzzles = [each.spec for each in catalog.parts(ROOT) if each.folder.parent.name != SHELF]
    most = max(case.elements for spec in puzzles for case in spec.edges)
    assert f"the largest of a puzzle has {most:,} elements" in " ".join(text.split())


def largest(spec: Spec) -> list[str]:
    """Return the row of the table: the most elements, rows and columns of edges and drawn cases."""
    elements = max(spec.most_elements, *(case.elements for case in spec.edges))
    rows, columns = None, elements
    if len(spec.largest) > 1:
        rows, columns = (max(case.shape[axis] for case in spec.edges) for axis in (0, 1))
        # Drawn cases reach no further.
        assert rows >= spec.largest[0]
        assert columns >= min(spec.largest[1], spec.most_elements)
    launched = None if spec.launched is None else spec.launched.shape[0]
    return ["–" if size is None else f"{size:,}" for size in (elements, rows, columns, launched)]


@pytest.mark.parametrize("exercise", TRITON, ids=lambda e: e.name)
def test_edges_have_every_distribution_at_several_sizes(exercise):
    shapes = defaultdict(set)
    for case in exercise.spec.edges:
        shapes[case.draw].add(case.shape)
    assert {draw for draw in shapes if len(shapes[draw]) > 1} == set(exercise.spec.draws)


@pytest.mark.parametrize("exercise", TRITON, ids=lambda e: e.name)
def test_edges_reach_ordinary_sizes(exercise):
    edges = exercise.spec.edges
    if len(exercise.spec.largest) == 1:
        assert max(case.elements for case in edges) >= 2**20 - 1
        return
    assert max(case.shape[0] for case in edges) >= 4096
    columns = min(131_072, exercise.spec.largest[1])  # a contract may end earlier
    assert any(case.shape[0] > 1 and case.shape[1] >= columns for case in edges)
    # Of long vectors so many elements are computed; so many rows are launched only.
    most = max(case.shape[0] for case in edges)
    assert most > 65_535 or exercise.spec.launched.shape[0] > 65_535
