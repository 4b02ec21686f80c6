"""Triton's warnings about a kernel: once for each place, in a line that says what to write."""

from __future__ import annotations

import importlib.metadata
import sys
import warnings
from pathlib import Path

import pytest
import torch
from beginners_mistakes import sources
from fake_device import simulated_gpu

from grader.backends.triton import warned
from grader.worker.load import load_entry

BETWEEN = (
    "line 24: `and` and `or` join two numbers. Between blocks write `&` and `|`, with each "
    "comparison in parentheses: (0 <= i) & (i < n). For `not` write `~`.\n"
)
LARGEST = (
    "line 24: max and min take two numbers. Of two blocks, lane by lane, write tl.maximum(a, b).\n"
)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("and of two vectors", BETWEEN),
        pytest.param(
            "max of two vectors",
            LARGEST,
            marks=pytest.mark.skipif(
                importlib.metadata.version("triton").startswith("3.6"),
                reason="Triton 3.6 only says that a later version will warn",
            ),
        ),
    ],
)
def test_a_place_is_named_once(
    name: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # is restored afterwards
    monkeypatch.setattr(warned, "_shown", set())
    warned.install()
    file = tmp_path / "kernel.py"
    file.write_text(sources()[name])
    (tmp_path / "gpu").mkdir()
    with simulated_gpu(tmp_path / "gpu") as (_, _, memory):
        x = memory[:64].view(torch.float32)
        add = load_entry(file, "add", ["x", "out"])
        add(x, x)
        add(x[:7], x)  # another length, which compiles it once more
    assert capsys.readouterr().err == said


def test_other_warnings_are_printed_as_before(monkeypatch: pytest.MonkeyPatch):
    seen: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *rest: seen.append(str(message)))
    warned.install()
    warnings.showwarning(UserWarning("of the learner's"), UserWarning, "kernel.py", 3)
    assert seen == ["of the learner's"]
