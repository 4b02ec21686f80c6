"""One check end to end, as `make quick` runs it: command, judge, worker, report, exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from grader import cli
from grader.grading import WarmJudge, check

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("kernel", "code", "status", "failed"),
    [
        ("kernel.py", 0, "pass", []),
        pytest.param(*("wrong_size_fixed.py", 1, "fail", ["correctness"]), marks=pytest.mark.slow),
    ],
)
def test_a_check_grades_a_kernel_file(
    kernel: str,
    code: int,
    status: str,
    failed: list[str],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    if failed:  # the judge of the right one is started as a user's is
        request.getfixturevalue("_with_one_judge")
    monkeypatch.chdir(ROOT)
    words = ["--kernel", f"solutions/p01_map/{kernel}", "--device", "cpu", "--json"]
    assert cli.main(["check", "p01_map", *words]) == code
    result = json.loads(capfd.readouterr().out)
    assert result["status"] == status
    assert [step["name"] for step in result["steps"] if step["outcome"] == "fail"] == failed


@pytest.fixture(scope="module")
def one_judge() -> Iterator[WarmJudge]:
    with WarmJudge() as judge:
        yield judge


@pytest.fixture
def _with_one_judge(one_judge: WarmJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one judge for several checks."""
    monkeypatch.setattr(check, "run", partial(check.run, judge=one_judge))


@pytest.mark.slow
@pytest.mark.usefixtures("_with_one_judge")
@pytest.mark.parametrize(
    ("exercise", "old", "new", "rule"),
    [
        ("p15_axis_sum", "float32(0.0)", "0.0", "`total` begins as a bare number"),
        ("t04_reduction", ".to(tl.int64)", "", "A program number is multiplied with 32 bits"),
        ("p15_axis_sum", "a[row, column]", "a[row, 0]", None),
        ("p15_axis_sum", "", "", None),
    ],
)
def test_a_kernel_that_passes_is_shown_what_a_lesson_warns_of(
    exercise: str,
    old: str,
    new: str,
    rule: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(ROOT)
    kernel = tmp_path / "kernel.py"
    text = (ROOT / "solutions" / exercise / "kernel.py").read_text(encoding="utf-8")
    kernel.write_text(text.replace(old, new))
    code = cli.main(["check", exercise, "--kernel", str(kernel), "--device", "cpu"])
    said = " ".join(capfd.readouterr().out.split())
    assert code == int(new == "a[row, 0]"), "a note is no failure"
    assert ("» note" in said) == (rule is not None)
    assert rule is None or rule in said
