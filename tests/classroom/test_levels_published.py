"""Solutions in levels, published and on the board: the lesson's, those beside it, the fast one."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import publications
import pytest

from grader.authoring import new
from grader.classroom.board import baselines, nicknames
from grader.classroom.board.forbidden import Forbidden
from grader.classroom.publish import folder, models, records
from grader.cli.commands import app
from grader.course import catalog, settings, stubs
from grader.grading.bench_contenders import contenders
from grader.model.errors import UsageError
from grader.model.results import parse_result
from grader.reports import solutions as pages

LEVELS = Path(__file__).parents[1] / "courses" / "levels"
ANSWERS = LEVELS / "solutions" / "01_double"


def measured(file: str, share: float) -> dict[str, Any]:
    """A result of that solution, timed on a GPU."""
    made = json.loads((LEVELS.parent / "result.json").read_text(encoding="utf-8"))
    sha256 = hashlib.sha256((ANSWERS / file).read_bytes()).hexdigest()
    made |= {
        "kernel": {"path": f"solutions/01_double/{file}", "sha256": sha256},
        "environment": publications.H200,
    }
    interval = {"share": share, "share_low": share - 0.01, "share_high": share + 0.01}
    speed = publications.SPEED | interval
    made["steps"][-1] |= {"outcome": "pass", "points": 3, "speed": speed}
    return made


@pytest.fixture(scope="module")
def published() -> pages.Published:
    results = [measured("kernel.py", 0.612), measured("fast.py", 0.975)]
    given = [parse_result(json.dumps(one).encode()) for one in results]
    made, problems = models.collect([catalog.find(LEVELS, "01")], given)
    assert problems == []
    return pages.published(settings.read(LEVELS), made)


def test_each_solution_is_published_with_its_text(published: pages.Published):
    for name in ("kernel.py", "kernel_cuda.py", "fast.py", "fast.md"):
        whole = (ANSWERS / name).read_text(encoding="utf-8")
        assert published.files[f"01_double/{name}"].strip() == whole.strip()
    assert "01_double/kernel_cuda.md" not in published.files, "its docstring is its text"
    (one,) = published.record.exercises
    assert [(each.file, each.title) for each in one.further] == [
        ("kernel_cuda.py", "In CUDA C++"),
        ("fast.py", "Fast, in CUDA C++"),
    ]


def test_the_figures_of_a_solution_are_its_own(published: pages.Published):
    text = published.files["01_double/README.md"]
    first, in_cuda, fast = (
        text[text.index(begin) : text.index(end)]
        for begin, end in (
            ("## Figures", "## In CUDA C++"),
            ("## In CUDA C++", "## Fast, in CUDA C++"),
            ("## Fast, in CUDA C++", "## Mistakes"),
        )
    )
    assert ("61.2 %" in first, "97.5 %" in first) == (True, False)
    assert "%" not in in_cuda
    assert "are of other files" in in_cuda, "nothing of another solution is shown for it"
    assert "four at once" in fast
    assert ("61.2 %" in fast, "97.5 %" in fast) == (False, True)


def test_the_page_has_a_part_for_each(published: pages.Published):
    page = published.files["01_double/index.html"]
    for file in ("kernel_cuda.py", "fast.py"):
        assert f'<section id="{file}"' in page
        assert f'<a href="#{file}">' in page
    assert "<em>four at once</em>" in page
    assert "97.5 %" in page
    assert "four_at_once" in page, "the source is there"


def test_a_mistake_is_compared_with_the_solution_in_its_language(published: pages.Published):
    text = published.files["01_double/README.md"]
    diff = text[text.index("## Mistakes") :]
    assert "if (i < n - 1) out[i] = 2 * x[i];" in diff
    assert "triton" not in diff


def test_one_of_them_is_read_by_its_name_and_only_unchanged(
    published: pages.Published, tmp_path: Path
):
    folder.write(tmp_path / "out", published.files, published.record)
    (entry,) = folder.read(tmp_path / "out").exercises
    shown = folder.solution(tmp_path / "out", entry, "fast.py")
    assert (shown.file, "four_at_once" in shown.source) == ("fast.py", True)
    assert "four at once" in shown.commentary
    assert folder.solution(tmp_path / "out", entry).others == ("kernel_cuda.py", "fast.py")
    with pytest.raises(UsageError, match=r"no solution 'faster\.py'"):
        folder.solution(tmp_path / "out", entry, "faster.py")
    (tmp_path / "out/01_double/fast.md").write_text("Mine.\n")
    with pytest.raises(UsageError, match=r"fast\.md was changed"):
        folder.solution(tmp_path / "out", entry, "fast.py")


def test_a_record_names_files_of_its_folder_alone(published: pages.Published):
    text = records.to_json(published.record)
    assert records.from_json(text.encode()) == published.record
    for name in ("../fast.py", "fast.sh"):
        with pytest.raises(ValueError, match="not the name of a kernel file"):
            records.from_json(text.replace('"fast.py"', json.dumps(name), 1).encode())


def test_the_command_shows_each(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.chdir(LEVELS)
    for more, found in (
        ([], "There are others beside it: `--file kernel_cuda.py` and `--file fast.py`."),
        (["--file", "fast.py"], "the solution fast.py"),
        (["--file", "kernel_cuda.py"], "one element for each thread"),
    ):
        app(["solution", "01", *more], standalone_mode=False)
        assert found in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"no solution 'kernel_numba\.py'"):
        app(["solution", "01", "--file", "kernel_numba.py"], standalone_mode=False)


def test_a_benchmark_compares_all_of_them():
    exercise = catalog.find(LEVELS, "01")
    beside = ["solution", "solution, cuda", "solution, fast"]
    assert [one.name for one in contenders(exercise, exercise.kernel, [])] == [
        "your kernel",
        *beside,
    ]
    assert [one.name for one in contenders(exercise, exercise.fast, [])] == [
        "solution, fast",
        *beside[:2],
    ]


def test_the_board_shows_each_solution_as_a_baseline(tmp_path: Path):
    names = ("solution", "solution, fast", "solution, cuda", "your kernel", "torch eager, fast")
    point = {"bytes": 1 << 30, "seconds": 1e-3, "bandwidth": 1e12}
    record = {
        "schema": "grader/bench/v1",
        "exercise": "01_double",
        "environment": {"device": "NVIDIA H200"},
        "ceiling": 2e12,
        "points": [{"contender": name, **point} for name in names],
    }
    (tmp_path / "bench.json").write_text(json.dumps(record))
    rows = [one.row.who for one in baselines.read([tmp_path / "bench.json"])]
    assert rows == [
        "model solution",
        "model solution, fast",
        "model solution, cuda",
        baselines.LIMIT,
    ]


@pytest.mark.parametrize("name", ["Model solution", "model solution, fast", "model-solution cuda"])
def test_nobody_calls_himself_like_one(name: str):
    assert nicknames.problem(name, Forbidden([])) == "it is taken: the board uses it itself"


def test_a_new_exercise_has_the_languages_of_its_model_and_none_of_its_study(tmp_path: Path):
    root = tmp_path / "course"
    shutil.copytree(LEVELS, root, ignore=shutil.ignore_patterns("__pycache__"))
    new.write(new.draft(root, "02_twice", "01_double"))
    made = catalog.find(root, "02_twice")
    assert [one.file for one in made.in_all_backends] == ["kernel.py", "kernel_cuda.py"]
    assert not any(stubs.drifted(one) for one in made.in_all_backends)
    assert not made.fast.exists()
    assert not made.fast.with_suffix(".md").exists()
