"""`grader report`: from the files that a learner's checks leave to pages, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from learners_results import WRONG, complete
from reported import timed

from grader import cli
from grader.course import history, progress
from grader.model.results import result_json

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small = REPOSITORY / "tests" / "courses" / "small"
    root = Path(shutil.copytree(small, tmp_path / "course"))
    monkeypatch.setenv("GRADER_COURSE", str(root))
    return root


def pages(root: Path) -> Path:
    return root / progress.STATE / "report"


@pytest.mark.slow
def test_the_page_of_an_exercise_shows_its_last_check(course: Path, capsys):
    progress.record(course, complete())
    assert cli.main(["report", "01"]) == 0
    page = pages(course) / "01_double.html"
    assert capsys.readouterr().err == f"{page}: written; open it in a web browser\n"
    assert "10 of 10 points" in page.read_text(encoding="utf-8")


def test_a_course_without_checks_has_a_page_too(course: Path):
    assert cli.main(["report"]) == 0
    assert [path.name for path in pages(course).iterdir()] == ["index.html"]
    assert (pages(course) / "index.html").read_text(encoding="utf-8").count("not begun") > 3


@pytest.mark.slow
def test_one_broken_spec_hides_no_other_exercise(course: Path, capsys):
    for name in ("01_double", "02_row_sum"):
        progress.record(course, complete().model_copy(update={"exercise": name}))
    (course / "exercises" / "01_double" / "spec.py").write_text("1 / 0")
    assert cli.main(["report"]) == 4
    made = {path.name for path in pages(course).iterdir()}
    assert made == {"index.html", "01_double.html", "02_row_sum.html"}
    index = (pages(course) / "index.html").read_text(encoding="utf-8")
    assert "its spec.py is broken" in index
    assert "02_row_sum" in index
    assert "01_double is broken" in capsys.readouterr().err.splitlines()[-2]


@pytest.mark.slow
def test_results_may_come_from_files(course: Path, tmp_path: Path, capsys):
    """Those of a GPU machine, for example, where `grader check --json` wrote them."""
    given = tmp_path / "results.jsonl"
    older = complete().model_copy(update={"started_at": "2020-01-01T00:00:00+00:00", "points": 0})
    given.write_text(f"{result_json(complete())}\n{result_json(older)}\n{result_json(WRONG)}\nno\n")
    out = tmp_path / "page.html"
    assert cli.main(["report", "01", "--results", str(given), "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert "<strong>PASS</strong> 10 of 10 points" in page
    assert page.count('<th scope="row">20') == 2
    assert "warning: " in capsys.readouterr().err
    assert not (course / progress.STATE).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["01"], "No result of 01_double is kept."),
        (["--results", "none.json"], "--results belongs to one exercise, and none is named."),
        (["01", "--out", "nowhere/page.html"], "there is no folder nowhere"),
        (["05"], "There is no exercise named '05'."),
    ],
)
def test_what_cannot_be_shown_is_a_usage_error(
    course: Path, words: list[str], message: str, capsys
):
    assert cli.main(["report", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "\nnext: " in said


@pytest.mark.slow
def test_a_real_check_leaves_its_picture_to_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    puzzle = REPOSITORY / "puzzles" / "p01_map"
    own = Path(shutil.copytree(puzzle, tmp_path / "puzzles" / "p01_map"))
    wrong = REPOSITORY / "solutions" / "p01_map" / "wrong_off_by_one.py"
    shutil.copy(wrong, own / "kernel.py")
    monkeypatch.setenv("GRADER_COURSE", str(tmp_path))
    assert cli.main(["check", "p01", "--device", "cpu"]) == 1
    assert history.read(tmp_path / progress.STATE, "p01_map").picture is not None
    assert cli.main(["report", "p01"]) == 0
    page = (pages(tmp_path) / "p01_map.html").read_text(encoding="utf-8")
    assert 'aria-label="Drawing of the failing case"' in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "drawn"),
    [
        ("65,536 × 8,192 in float32", True),
        ("65536×8192 float32", True),  # of an older result
        ("what is this", False),
        ("?", False),
    ],
)
def test_the_spec_counts_the_operations_of_the_roofline(
    case: str, drawn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GRADER_COURSE", str(REPOSITORY))
    one = timed(exercise="04_online_softmax", title="Online softmax")
    speed = one.steps[-1].speed.model_copy(update={"case": case})
    steps = (*one.steps[:-1], one.steps[-1].model_copy(update={"speed": speed}))
    given = tmp_path / "result.json"
    given.write_text(result_json(one.model_copy(update={"steps": steps})), encoding="utf-8")
    out = tmp_path / "page.html"
    assert cli.main(["report", "04", "--results", str(given), "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert ("Roofline of memory" in page, "No roofline: " in page) == (drawn, not drawn)
