"""The messages about a graded class, as text."""

from __future__ import annotations

import shutil
from pathlib import Path

import class_runs
import pytest
from syrupy.assertion import SnapshotAssertion

from grader import cli

SMALL = Path(__file__).parents[2] / "courses" / "small"


@pytest.mark.slow
def test_each_message_names_what_is_wrong_and_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, snapshot: SnapshotAssertion
):
    course = Path(shutil.copytree(SMALL, tmp_path / "small"))
    monkeypatch.setenv("GRADER_COURSE", str(course))
    monkeypatch.chdir(tmp_path)
    class_runs.results(tmp_path / "results", class_runs.a_class())
    class_runs.results(tmp_path / "other", class_runs.run(course="other"))
    for name, content in (
        ("manual.csv", "login,exercise,points\nmallory,01_double,3\nada,,3\nada,01_double,x\n"),
        ("head.csv", "student,points\n"),
    ):
        (tmp_path / name).write_text(content)
    (tmp_path / "empty").mkdir()
    for command in (
        "export csv-wide results --manual manual.csv --out x.csv",
        "export csv-wide results --manual head.csv",
        "export csv-wide results --manual none.csv",
        "export csv-wide results empty",
        "export csv-wide x.jsonl --manual manual.csv",
        "export csv-wide other",
        "feedback empty --out x",
        "overview results --out x --section Z",
        "similarity empty --out x",
        "similarity nowhere --out x",
        "similarity results --out x",
    ):
        cli.main(command.split())
        assert capsys.readouterr().err.replace(str(tmp_path), "FOLDER") == snapshot(name=command)
    (course / "course.toml").write_text('name = "small"\n[grades]\ndeadline = "soon"\n')
    cli.main(["feedback", "results", "--out", "x"])
    assert capsys.readouterr().err.replace(str(tmp_path), "FOLDER") == snapshot(name="rules")
