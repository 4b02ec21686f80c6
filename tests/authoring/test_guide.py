"""docs/authoring.md is followed to the letter: who does what it says has a verified exercise.

    python tests/authoring/test_guide.py

writes what its commands print now into the page.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import test_course_files
import test_exercises
import torch
from test_docs import BLOCK, Command, commands, run, shape

from grader.authoring import calibrate, lesson, mutants, survivors
from grader.course import catalog, settings
from grader.course.catalog import Exercise
from grader.speed import statistics

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "authoring.md"
MODEL = "03_three_pass_softmax"
NAME = "40_row_sum"
MOST_LINES = 700  # a page that is longer than this is not followed in half an hour

FILE = re.compile(r"^\*\*`([^`]+)`\*\*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MISTAKE = re.compile(r"^\| `(wrong_\w+\.py)` \| `(.+?)` \| `(.+?)` \| (\w+) \| (.+?) \|$", re.M)


@dataclass(frozen=True)
class Write:
    """A file that the page shows in full."""

    path: str
    text: str


@dataclass(frozen=True)
class Break:
    """A row of the table of mistakes: the solution with one text replaced, and a docstring."""

    name: str
    old: str
    new: str
    step: str
    told: str


Step = Write | Break | Command


def steps(page: str) -> list[Step]:
    """All that the page has its reader do, in its order."""
    found: list[tuple[int, Step]] = [(m.start(), Write(m[1], m[2])) for m in FILE.finditer(page)]
    shown = [(m.start(2), m.end(2)) for m in FILE.finditer(page)]
    found += [(m.start(), Break(*m.groups())) for m in MISTAKE.finditer(page)]
    for block in BLOCK.finditer(page):
        found += [(block.start(), command) for command in commands(block[0])]
    inside = [at for at, _ in found if any(begin < at < end for begin, end in shown)]
    assert not inside, "a command inside a file is no command"
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


# What the tests of this repository hold each exercise of the course to.
RULES = [
    held
    for tests in (test_course_files, test_exercises)
    for name, held in vars(tests).items()
    if name.startswith("test_") and list(inspect.signature(held).parameters) == ["exercise"]
]
STEPS = steps(PAGE.read_text(encoding="utf-8"))


def take(step: Write | Break, folder: Path) -> None:
    """Do what a reader does with a file or with a row of the table."""
    if isinstance(step, Write):
        (folder / step.path).write_text(step.text, encoding="utf-8")
        return
    answers = folder / "solutions" / NAME
    solution = (answers / "kernel.py").read_text(encoding="utf-8")
    assert solution.count(step.old) == 1, step
    docstring = f'"""{step.told}\n\nRejected at: {step.step}\n"""'
    broken = re.sub(r'\A""".*?"""', lambda _: docstring, solution.replace(step.old, step.new))
    (answers / step.name).write_text(broken, encoding="utf-8")


def a_course(folder: Path) -> Path:
    for shelf in ("exercises", "solutions"):
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / shelf / MODEL, folder / shelf / MODEL, ignore=unwanted)
    return folder


def followed(folder: Path) -> Iterator[tuple[Command, int, str, str]]:
    """Take every step; of each command, its exit code and what it printed on both streams."""
    for step in STEPS:
        if isinstance(step, Command):
            done = run(folder, step.line)
            yield step, done.returncode, done.stdout, done.stderr
        else:
            take(step, folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """The exercise that stands there in the end. Every command prints what the page shows."""
    folder = a_course(tmp_path_factory.mktemp("course"))
    for command, code, printed, errors in followed(folder):
        assert code == 0, f"{command.line}: {errors}\n{printed}"
        if command.language == "console":
            assert shape(printed) == shape(command.output), (
                f"{command.line}: `python tests/authoring/test_guide.py` updates the page"
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


def test_whoever_follows_the_page_has_a_verified_exercise(made: Exercise):
    verdict = [step.output for step in STEPS if isinstance(step, Command)][-1]
    assert verdict.startswith(f"✔ {NAME}  stub ok · solution passes · 8 wrong kernels rejected")
    assert len(made.wrong_kernels) == 8
    assert catalog.rejected_at(made.answers / "wrong_reads_twice.py").value == "traffic"


def test_every_place_that_grader_new_marked_was_dealt_with(made: Exercise):
    for folder in (made.folder, made.answers):
        for path in folder.glob("*.*"):
            text = path.read_text(encoding="utf-8")
            assert lesson.TODO not in text, path
            assert "softmax" not in text or path.name == "README.md", path


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_exercise_is_as_whole_as_the_course_s_own(rule: Callable[..., None], made: Exercise):
    rule(exercise=made)


def test_the_lesson_has_the_numbers_that_a_new_one_would_have(made: Exercise):
    text = (made.folder / "README.md").read_text(encoding="utf-8")
    ours = lesson.skeleton(NAME, made.spec)
    for pattern in (r"^\| entry .*", r"^\| (?:pass|great) .*", r"^    grader .*"):
        assert re.findall(pattern, text, re.M) == re.findall(pattern, ours, re.M)


def test_every_declared_survivor_is_a_mutant(made: Exercise):
    source = made.solution.read_text(encoding="utf-8")
    found = survivors.assign(mutants.make(source), survivors.read(made.survivors), made.survivors)
    assert len(found) == 5


def test_what_torch_is_compared_with_is_right(made: Exercise):
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
    assert rows == list(settings.Settings.__dataclass_fields__)
    assert all(f"`{when}" in text for when in settings.When)


def test_the_rule_for_gates_is_the_code_s():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"{calibrate.ROOM:.2f} of the median" in text
    assert f"{1 - calibrate.ROOM:.0%}".replace("%", " %") + " slower than yours" in text
    assert f"has less than {100 * calibrate.SPARE:g} % to spare" in text
    assert f"less {100 * statistics.INDIFFERENCE:g} %" in text
    assert f"differ by more than {100 * calibrate.WIDEST:g} %" in text
    assert calibrate.LEAST_RUNS == 3
    assert "fewer than three of them count" in text
    assert calibrate.RUNS == 5
    assert "from five checks of the solution" in text


def update_page() -> None:
    """Put what the commands print now under them."""
    import tempfile

    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for command, _, printed, _ in followed(a_course(Path(folder))):
            if command.language == "console":
                old = f"$ {command.line}\n{command.output}"
                assert text.count(old) == 1, f"twice on the page: {command.line}"
                text = text.replace(old, f"$ {command.line}\n{printed}")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    update_page()
