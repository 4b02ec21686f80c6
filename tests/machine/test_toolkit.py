"""Where NVIDIA's tools are found, and what they say of their version."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.machine import toolkit


def tool(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No tool on PATH, and a CUDA_HOME to put one in."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    return tmp_path


def test_path_comes_first(elsewhere: Path, monkeypatch: pytest.MonkeyPatch):
    tool(elsewhere / "cuda/bin/some-tool")
    on_path = tool(elsewhere / "on_path/some-tool")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert toolkit.find("some-tool") == on_path


def test_then_the_toolkit_that_the_environment_names(elsewhere: Path):
    inside = tool(elsewhere / "cuda/bin/some-tool")
    assert toolkit.find("some-tool") == inside


def test_a_file_that_is_no_program_is_no_tool(elsewhere: Path):
    tool(elsewhere / "cuda/bin/some-tool").chmod(0o644)
    assert toolkit.find("some-tool") is None


def test_the_version_is_read_from_what_the_tool_says(tmp_path: Path):
    said = "NVIDIA (R) Compute Sanitizer\nCopyright (c) 2020-2025\nVersion 2025.3.1.0 (build 1)"
    assert toolkit.version(tool(tmp_path / "a", said)) == "2025.3.1.0"
    assert toolkit.version(tool(tmp_path / "b", "hello")) == ""
    assert toolkit.version(tmp_path / "not there") == ""
