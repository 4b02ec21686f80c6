"""One check end to end, as `make quick` runs it: command, judge, worker, report, exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader import cli

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
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(ROOT)
    words = ["--kernel", f"solutions/p01_map/{kernel}", "--device", "cpu", "--json"]
    assert cli.main(["check", "p01_map", *words]) == code
    result = json.loads(capfd.readouterr().out)
    assert result["status"] == status
    assert [step["name"] for step in result["steps"] if step["outcome"] == "fail"] == failed
