"""course.toml is read as it says, and what is wrong in it is named."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from grader.course import settings
from grader.course.settings import Policy, Settings, When
from grader.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("now", Policy(When.NOW)),
        ("never", Policy(When.NEVER)),
        ("on-pass", Policy(When.ON_PASS)),
        ("after:2026-12-18", Policy(When.AFTER, date(2026, 12, 18))),
    ],
)
def test_a_policy_is_read_and_written(text: str, policy: Policy):
    assert Policy.parse(text) == policy
    assert str(policy) == text


@pytest.mark.parametrize("text", ["", "later", "after", "after:", "after:18.12.2026", "now:2026"])
def test_a_policy_of_no_known_form_is_refused(text: str):
    with pytest.raises(ValueError, match="is not one of now, never, on-pass, after:YYYY-MM-DD"):
        Policy.parse(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As root can read any file, reading fails here as a disk does."""

    def fails(*_: object, **__: object) -> str:
        raise OSError(5, "Input/output error")

    (tmp_path / settings.FILE).write_text('name = "a"\n')
    monkeypatch.setattr(Path, "read_text", fails)
    with pytest.raises(UsageError, match=r"course\.toml cannot be used: .*Input/output error"):
        settings.read(tmp_path)


def test_a_course_without_the_file_shows_no_solutions(tmp_path: Path):
    folder = tmp_path / "my course"
    folder.mkdir()
    assert settings.read(folder) == Settings("my-course", "my-course", "0", Policy(When.NEVER))


def test_the_course_of_this_repository_says_what_it_is():
    found = settings.read(Path(__file__).parents[2])
    assert found.name == "memory-bound-kernels"
    assert found.solutions == Policy(When.ON_PASS)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('title = "A course"', "name is missing"),
        ('name = "a b"', "name may hold letters"),
        ('name = "a"\nversion = "../1"', "version may hold letters"),
        ('name = "a"\nversion = 20', "version is not text: write it in quotes"),
        ('name = "a"\nversion = ""', "version is empty: write it, or leave out the line"),
        ('name = "a"\nsolution = "now"', "solution is not one of name, title, version, solutions"),
        ('name = "a"\nsolutions = "soon"', "'soon' is not one of now"),
        ('name = "a"\n[compile]\ntargets = [91]', "the targets in .compile. may be 75, 80"),
        ('name = "a"\n[compile]\ntargets = "90"', "the targets in .compile. may be 75, 80"),
        ('name = "a"\n[compile]\nfor = [90]', ".compile. has one entry"),
        ('name = "a"\ncompile = 90', ".compile. has one entry"),
        ("name = ", "cannot be used"),
        (b"name = '\xff'", "cannot be used"),
    ],
)
def test_what_is_wrong_in_it_is_named(tmp_path: Path, content: str | bytes, fault: str):
    text = content.encode() if isinstance(content, str) else content
    (tmp_path / "course.toml").write_bytes(text)
    with pytest.raises(UsageError, match=fault):
        settings.read(tmp_path)


def test_a_course_names_gpus_to_compile_for(tmp_path: Path):
    (tmp_path / settings.FILE).write_text('name = "a"\n[compile]\ntargets = [75, 100]\n')
    assert settings.read(tmp_path).targets == (75, 100)
