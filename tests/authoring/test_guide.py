"""Follow docs/authoring.md to the letter: its reader ends with a verified exercise.

`python tests/guide.py` writes into the page what its commands print now.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import test_course_files
import test_exercises
import torch
from guide import MODEL, NAME, PAGE, STEPS, Break, Write, a_course, followed
from pages import Command, shape

from grader.authoring import calibrate, lesson, mutants, survivors
from grader.classroom.release import contents, proof
from grader.course import catalog, settings, wrong_kernels
from grader.course.exercise import Exercise
from grader.speed import statistics

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MOST_LINES = 700  # a page that is longer than this is not followed in half an hour

# What the tests of this repository hold each exercise of the course to.
RULES = [
    held
    for tests in (test_course_files, test_exercises)
    for name, held in vars(tests).items()
    if name.startswith("test_") and list(inspect.signature(held).parameters) == ["exercise"]
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """The exercise that stands there in the end. Every command prints what the page shows."""
    folder = a_course(tmp_path_factory.mktemp("course"))
    for command, code, printed, errors in followed(folder):
        assert code == 0, f"{command.line}: {errors}\n{printed}"
        if command.language == "console":
            assert shape(printed) == shape(command.output), (
                f"{command.line}: `python tests/guide.py` updates the page"
            )
    return catalog.find(folder, NAME)


# -- what the page has its reader do


def test_the_page_has_every_kind_of_step_in_a_useful_order():
    lines = [step.line for step in STEPS if isinstance(step, Command)]
    assert lines[0] == f"grader new {NAME} --like {MODEL}"
    assert lines[-1] == f"grader verify {NAME}"
    assert len([step for step in STEPS if isinstance(step, Break)]) >= 6
    written = [step.path for step in STEPS if isinstance(step, Write)]
    assert len(set(written)) == len(written)
    assert PAGE.read_text(encoding="utf-8").count("\n") <= MOST_LINES


def test_an_author_who_follows_the_page_has_a_verified_exercise(made: Exercise):
    verdict = [step.output for step in STEPS if isinstance(step, Command)][-1]
    assert verdict.startswith(f"✔ {NAME}  stub ok · solution passes · 8 wrong kernels rejected")
    assert len(made.wrong_kernels) == 8
    assert wrong_kernels.rejected_at(made.answers / "wrong_reads_twice.py") == "traffic"


def test_every_place_that_grader_new_marked_was_dealt_with(made: Exercise):
    for folder in (made.folder, made.answers):
        for path in folder.glob("*.*"):
            text = path.read_text(encoding="utf-8")
            assert lesson.TODO not in text, path
            assert "softmax" not in text or path.name == "README.md", path


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_exercise_is_as_whole_as_the_course_s_own(rule: Callable[..., None], made: Exercise):
    rule(exercise=made)


def test_the_course_can_be_released_with_it(made: Exercise):
    """A line of the page's solution stood in the lesson of 12, and nothing could be released."""
    exercises = catalog.exercises(made.root)
    secret = proof.secrets(made.root, exercises)
    own = tuple(one for one in secret.passages if Path(one.source).parent.name == NAME)
    assert own
    lessons = [ROOT / "exercises" / one.name / "README.md" for one in catalog.exercises(ROOT)]
    files = contents.collect(made.root, exercises, None, ()).files
    shown = [(path.as_posix(), path.read_bytes()) for path in lessons if path.is_file()]
    assert proof.leaks([*files.items(), *shown], replace(secret, passages=own)) == []


def test_the_lesson_has_the_numbers_that_a_new_one_would_have(made: Exercise):
    text = (made.folder / "README.md").read_text(encoding="utf-8")
    ours = lesson.skeleton(made, made.spec)
    for pattern in (r"^\| entry .*", r"^\| (?:pass|great) .*", r"^    grader .*"):
        assert re.findall(pattern, text, re.M) == re.findall(pattern, ours, re.M)


def test_every_declared_survivor_is_a_mutant(made: Exercise):
    source = made.solution.read_text(encoding="utf-8")
    found = survivors.assign(mutants.make(source), survivors.read(made.survivors), made.survivors)
    assert len(found) == 3


def test_torch_s_own_version_is_right(made: Exercise):
    space: dict[str, object] = {}
    exec((made.folder / "eager.py").read_text(encoding="utf-8"), space)
    x, out = torch.arange(12.0).reshape(3, 4).bfloat16(), torch.empty(3)
    space["row_sum"](x, out)  # type: ignore[operator]
    assert out.tolist() == [6.0, 22.0, 38.0]


def test_the_course_has_settings(made: Exercise):
    read = settings.read(made.root)
    assert (read.name, read.version) == ("memory-bound-kernels", "2026.1")
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ", text[text.index("## 11.") : text.index("## 12.")], re.M)
    assert rows == [*settings.Settings.__dataclass_fields__, "grades"]
    assert all(f"`{when}" in text for when in settings.When)


def test_the_rule_for_gates_is_the_code_s():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"{calibrate.PASSING_SHARE:.2f} of the median" in text
    assert f"{1 - calibrate.PASSING_SHARE:.0%}".replace("%", " %") + " slower than yours" in text
    assert f"has less than {100 * calibrate.SPARE:g} % to spare" in text
    assert f"less {100 * statistics.INDIFFERENCE:g} %" in text
    assert f"differ by more than {100 * calibrate.WIDEST:g} %" in text
    assert calibrate.LEAST_RUNS == 3
    assert "fewer than three of them count" in text
    assert calibrate.RUNS == 5
    assert "from five checks of the solution" in text
