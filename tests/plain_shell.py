"""A shell that no CI system has set up, for tests of commands that look for one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.classroom import ci_systems

SYSTEMS = ("GITHUB_", "GITLAB_", "CI", "CLASSROOM", "SUBMISSION_TAG", "GRADER_")


def on_a_plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what CI systems set, and give messages 100 columns."""
    for name in list(os.environ):
        if name.startswith(SYSTEMS):
            monkeypatch.delenv(name)
    monkeypatch.setattr(ci_systems, "AUTOGRADER", Path("/nowhere"))
    monkeypatch.setenv("COLUMNS", "100")
