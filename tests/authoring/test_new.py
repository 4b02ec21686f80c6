"""`grader new`: a working copy under a new name, written whole or not at all, over nothing."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from grader import cli
from grader.authoring import new, trials, verify
from grader.authoring.lesson import TODO
from grader.course import catalog, stubs
from grader.course.exercise import Exercise
from grader.grading.plan import steps_of
from grader.model import files
from grader.model.errors import BrokenExercise, UsageError
from grader.reports import drafted

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EVERY = catalog.exercises(ROOT)


def copy_of(folder: Path, *names: str) -> Path:
    """A course with these exercises of the real one alone."""
    for shelf in (*catalog.SHELVES, "solutions"):
        (folder / shelf).mkdir(parents=True)
        for name in names:
            if (ROOT / shelf / name).is_dir():
                unwanted = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / shelf / name, folder / shelf / name, ignore=unwanted)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_of(tmp_path / "course", "05_swiglu", "01_vector_add", "p01_map")


def new_name(model: Exercise) -> str:
    return "p99_brand_new" if model.folder.parent.name == "puzzles" else "99_brand_new"


def made(root: Path, name: str, like: str) -> Exercise:
    draft = new.draft(root, name, like)
    new.write(draft)
    return draft.exercise


def everything(root: Path) -> dict[str, bytes]:
    """The files below a folder, but for what Python keeps there of those that it has run."""
    files = [p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def words(text: str) -> str:
    return " ".join(text.split())


# -- what is made of each exercise of the course


@pytest.fixture(scope="module", params=EVERY, ids=lambda e: e.name)
def drafted_like(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Exercise, new.Draft]:
    """A model and the draft that is written beside it, at which several tests look."""
    model = request.param
    root = copy_of(tmp_path_factory.mktemp("like") / "course", model.name)
    draft = new.draft(root, new_name(model), model.name)
    new.write(draft)
    return model, draft


def test_the_copy_is_whole_and_speaks_of_itself(drafted_like: tuple[Exercise, new.Draft]):
    model, exercise = drafted_like[0], drafted_like[1].exercise
    assert catalog.find(exercise.root, exercise.name).folder == exercise.folder
    assert not stubs.drifted(exercise)
    assert exercise.any_spec.title == "Brand new"
    signatures = [one.signature for one in model.whole_spec.entries]
    assert [one.signature for one in exercise.whole_spec.entries] == signatures
    files = everything(exercise.folder) | everything(exercise.answers)
    for path, content in files.items():
        if path != "kernel.py":
            assert TODO.encode() in content, path
        assert model.name.encode() not in content, path
    assert TODO not in exercise.kernel.read_text(), "a learner has nothing to do with these marks"
    assert TODO in exercise.solution.read_text()
    model_s = everything(model.folder) | everything(model.answers)
    # Texts and the fast solution are about the model's solution alone.
    assert set(files) == set(model_s) - {"commentary.md", "fast.md", "fast.py"}


def test_the_copy_s_files_are_still_the_model_s_code(drafted_like: tuple[Exercise, new.Draft]):
    model, exercise = drafted_like[0], drafted_like[1].exercise

    def without_marks(path: Path) -> list[str]:
        text = path.read_text().replace(exercise.name, model.name)
        lines = re.sub(rf"^ *# {re.escape(TODO)}.*\n(# from the title .*\n)?", "", text, flags=re.M)
        docstring = lines.replace("Brand new", model.any_spec.title)
        return [line for line in docstring.splitlines() if line.strip()]

    for path in [exercise.solution, *exercise.wrong_kernels, exercise.tests]:
        folder = model.folder if path == exercise.tests else model.answers
        assert without_marks(path) == without_marks(folder / path.name)
    spec = exercise.folder / "spec.py"
    assert without_marks(spec) == without_marks(model.folder / "spec.py")


def test_the_lesson_says_what_the_spec_says(drafted_like: tuple[Exercise, new.Draft]):
    model, lesson = drafted_like
    spec = model.whole_spec
    text = lesson.files[Path("README.md")].decode()
    assert text.startswith("# Brand new\n")
    assert f"| entry | `{spec.signature}` |" in text
    task = text.split("## The task")[1].split("\n## ")[0]
    assert all(f"`{argument.name}`" in task for argument in spec.arguments)
    assert all(dtype in task for dtype in spec.dtypes)
    assert f"There are {len(spec.hints)}: `grader hint {new_name(model)}` shows" in text
    assert not [hint for hint in spec.hints if words(hint) in words(text)]
    numbered = re.findall(r"^(\d)\. \*\*(\w+)\*\*", text, re.MULTILINE)
    assert [step for _, step in numbered] == [step.name for step in steps_of(spec)]
    assert set(re.findall(r"grader (?:show|check) (\w+)", text)) == {new_name(model)}
    traffic = re.search(r"\*\*traffic\*\*(.*?)on average", words(text))
    assert traffic is not None
    moves = re.findall(r"`(\w+)` (read|written) at most (once|twice|\w+ times)", traffic[1])
    numbers = {"once": 1, "twice": 2, "three times": 3}
    assert {(a, done): numbers.get(n) or int(n.split()[0]) for a, done, n in moves} == {
        (argument.name, done): most
        for argument in spec.arguments
        for done, most in (("read", argument.most_reads), ("written", argument.most_writes))
        if most
    }
    if spec.gates is not None:
        table = re.search(r"\| pass \| ([\d.]+) \|\n\| great \| ([\d.]+) \|", text)
        assert table is not None
        assert (float(table[1]), float(table[2])) == (spec.gates.passing, spec.gates.great)
        assert spec.scored is not None
        assert f"**speed** (on a GPU): {spec.scored.dtype}" in text
    budgets = re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \| ([\d,]+) \|$", text, re.MULTILINE)
    assert {name.replace(" ", "_"): (most, best) for name, most, best in budgets} == {
        b.count: (f"{b.most:,}", f"{b.best:,}") for b in spec.budgets
    }
    assert max(map(len, text.splitlines())) <= 100


def test_the_copy_verifies(root: Path):
    exercise = made(root, "p02_mine", "p01")
    found = verify.run([exercise], "cpu", print, trials.Sample(count=1))
    assert [one for one in found if not one.ok] == []
    assert {one.kind for one in found} >= {"stub", "solution", "wrong", "no_work"}


def test_other_files_come_along_and_caches_do_not(root: Path):
    model = catalog.find(root, "05_swiglu")
    (model.folder / "__pycache__").mkdir()
    (model.folder / "__pycache__" / "spec.pyc").write_bytes(b"old")
    (model.folder / ".hidden").write_text("mine")
    (model.folder / "pictures").mkdir()
    (model.folder / "pictures" / "grid.png").write_bytes(b"\x89PNG 05_swiglu")
    (model.answers / "notes.md").write_text("see ../05_swiglu/README.md, not 105_swiglu")
    exercise = made(root, "40_my_op", "05")
    assert (exercise.folder / "pictures" / "grid.png").read_bytes() == b"\x89PNG 05_swiglu"
    assert (exercise.answers / "notes.md").read_text() == (
        "see ../40_my_op/README.md, not 105_swiglu"
    )
    assert not (exercise.folder / ".hidden").exists()
    assert not (exercise.folder / "__pycache__" / "spec.pyc").exists()


def test_a_learner_s_work_on_the_model_is_not_copied(root: Path):
    deep = "-" * 100_000 + "1"  # more than Python's parser takes
    catalog.find(root, "05_swiglu").kernel.write_text(deep)
    assert "NotImplementedError" in made(root, "40_my_op", "05").kernel.read_text()


def test_a_mistake_that_is_no_python_is_copied_with_its_mark(root: Path):
    answers = catalog.find(root, "05_swiglu").answers
    (answers / "wrong_colon.py").write_text('"""No colon.\n\nRejected at: load\n"""\ndef f()\n')
    copied = made(root, "40_my_op", "05").answers / "wrong_colon.py"
    assert copied.read_text().startswith(f"# {TODO} a mistake")
    assert "Rejected at: load" in copied.read_text()


# -- what is refused; nothing is written then


@pytest.mark.parametrize(
    "name",
    [
        *("", "my_op", "40", "40_", "4_op", "40-my-op", "40_my op", "40_my.op", "40_my/op", "40_é"),
        *("../40_my_op", "/tmp/40_my_op", "40_my_op\n", "٤٠_my_op", "p_my_op", "q40_my_op"),
        "40_" + "a" * 100,
    ],
)
def test_a_name_that_is_none(name: str, root: Path):
    with pytest.raises(UsageError, match="cannot be the name of an exercise") as told:
        new.draft(root, name, "05_swiglu")
    assert "such as 40_my_op" in told.value.next_step


@pytest.mark.parametrize(
    ("name", "like", "message", "next_step"),
    [
        ("40_my_op", None, "--like is missing", "Add --like .*: 01_vector_add, 05_swiglu"),
        ("40_my_op", "05_swglu", "There is no exercise named '05_swglu'", "Did you mean 05_swiglu"),
        ("40_my_op", "p01", "p01_map is in puzzles/, and 40_my_op", "named p40_my_op"),
        ("p40_my_op", "05", "05_swiglu is in exercises/, and p40_my_op", "like a puzzle"),
        ("05_swiglu", "05", "exercises/05_swiglu exists already", "another name"),
        ("05_other", "05", "number of 05_other is taken by 05_swiglu", "06_other is free"),
        ("005_other", "05", "number of 005_other is taken by 05_swiglu", "06_other is free"),
        ("p01_other", "p01", "number of p01_other is taken by p01_map", "p02_other is free"),
    ],
)
def test_an_impossible_draft_is_refused_with_a_reason(
    name: str, like: str | None, message: str, next_step: str, root: Path
):
    before = everything(root)
    with pytest.raises(UsageError, match=message) as told:
        new.draft(root, name, like)
    assert re.search(next_step, told.value.next_step)
    assert everything(root) == before


def test_puzzles_of_both_languages_are_counted_apart(root: Path):
    drafted = new.draft(root, "t01_other", "p01")
    assert drafted.exercise.folder == root / "puzzles" / "t01_other"
    new.write(drafted)
    with pytest.raises(UsageError, match="number of t01_mine is taken by t01_other") as told:
        new.draft(root, "t01_mine", "p01")
    assert told.value.next_step == "t02_mine is free."


@pytest.mark.parametrize("place", ["exercises/40_my_op", "solutions/40_my_op"])
@pytest.mark.parametrize("kind", ["file", "empty folder", "dangling link"])
def test_an_existing_folder_is_not_written_over(place: str, kind: str, root: Path):
    path = root / place
    if kind == "file":
        path.write_text("mine")
    elif kind == "empty folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    with pytest.raises(UsageError, match=f"{place} exists already; nothing was changed"):
        new.draft(root, "40_my_op", "05")


def test_a_folder_made_meanwhile_is_not_written_over(root: Path):
    draft = new.draft(root, "40_my_op", "05")
    (root / "exercises" / "40_my_op").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        new.write(draft)
    assert list((root / "exercises" / "40_my_op").iterdir()) == []
    assert not (root / "solutions" / "40_my_op").exists()


def test_a_learner_s_copy_of_a_course_has_nothing_to_begin_with(root: Path):
    shutil.rmtree(root / "solutions")
    with pytest.raises(UsageError, match="05_swiglu has no solution to copy") as told:
        new.draft(root, "40_my_op", "05")
    assert "learner's copy" in told.value.next_step


def test_a_model_without_properties_is_not_whole(root: Path):
    (root / "exercises" / "05_swiglu" / "test_kernel.py").unlink()
    with pytest.raises(UsageError, match=r"05_swiglu is not whole: .*test_kernel.py is missing"):
        new.draft(root, "40_my_op", "05")


def test_a_solution_without_markers_is_named(root: Path):
    solution = root / "solutions" / "05_swiglu" / "kernel.py"
    solution.write_text(re.sub(r".*(BEGIN|END) SOLUTION.*\n", "", solution.read_text()))
    with pytest.raises(BrokenExercise, match=f"{solution} marks no part as the solution"):
        new.draft(root, "40_my_op", "05")


def test_a_spec_without_a_title_to_replace_is_named(root: Path):
    spec = root / "exercises" / "05_swiglu" / "spec.py"
    spec.write_text(spec.read_text().replace('title="SwiGLU"', 'title="Swi" "GLU".lower()'))
    with pytest.raises(BrokenExercise, match=f'{spec} has no line title="..."'):
        new.draft(root, "40_my_op", "05")


def fails_after(monkeypatch: pytest.MonkeyPatch, renames: int) -> None:
    """A disk that takes so many folders and no more."""
    real, done = os.rename, []

    def rename(source: Path, target: Path) -> None:
        if len(done) == renames:
            raise OSError(28, "No space left on device", str(target))
        done.append(target)
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)


@pytest.mark.parametrize("renames", [0, 1])
def test_a_full_disk_leaves_nothing_behind(
    renames: int, root: Path, monkeypatch: pytest.MonkeyPatch
):
    before = everything(root)
    draft = new.draft(root, "40_my_op", "05")
    fails_after(monkeypatch, renames)
    with pytest.raises(
        UsageError, match=r"cannot be written in .*: No space left on device"
    ) as told:
        new.write(draft)
    assert told.value.next_step.startswith("Nothing was changed.")
    assert everything(root) == before
    assert sorted(os.listdir(root / "solutions")) == ["01_vector_add", "05_swiglu", "p01_map"]
    assert sorted(os.listdir(root / "exercises")) == ["01_vector_add", "05_swiglu"]


def test_a_course_that_cannot_be_written(root: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(root))

    draft = new.draft(root, "40_my_op", "05")
    monkeypatch.setattr(files.tempfile, "TemporaryDirectory", refused)  # root may write anywhere
    with pytest.raises(UsageError, match=r"40_my_op cannot be written in .*: Permission denied"):
        new.write(draft)


# -- the command


def test_the_command_lists_the_files_and_the_next_step(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("GRADER_COURSE", str(root))
    assert cli.main(["new", "40_my_op", "--like", "05"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith(
        "40_my_op: My op, begun as a copy of 05_swiglu\n"
        "  exercises/40_my_op   README.md, eager.py, kernel.py, spec.py, test_kernel.py\n"
        "  solutions/40_my_op   kernel.py, survivors.toml, 13 wrong kernels\n"
    )
    assert "`grader verify 40_my_op`" in said.out
    assert cli.main(["new", "40_my_op", "--like", "05"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_one_wrong_kernel_is_no_plural(root: Path):
    draft = new.draft(root, "40_my_op", "05")
    few = {Path("kernel.py"): b"", Path("wrong_a.py"): b""}
    one = new.Draft(draft.exercise, draft.model, draft.title, draft.files, few)
    assert "solutions/40_my_op   kernel.py, 1 wrong kernel\n" in drafted.report(one)
