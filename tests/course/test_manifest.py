"""`release.json` is read as it was written, believed no further, and tells what was changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from grader.course import manifest
from grader.course.manifest import Manifest, ReleasedFile
from grader.model.errors import UsageError

FILES = {
    "README.md": b"read me\n",
    "exercises/01_double/spec.py": b"SPEC\n",
    "exercises/01_double/kernel.py": b"stub\n",
}


def made(files: dict[str, bytes] = FILES) -> Manifest:
    listed = [(path, content, path.endswith("kernel.py")) for path, content in files.items()]
    return manifest.build("small", "1", "0.1.0", listed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A student's repository as it was released."""
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    (tmp_path / manifest.FILE).write_text(manifest.to_json(made()))
    return tmp_path


def test_a_manifest_is_read_as_it_was_written(folder: Path):
    assert manifest.read(folder) == made()
    assert [file.path for file in made().files] == sorted(FILES)
    assert [file.path for file in made().files if file.kernel] == ["exercises/01_double/kernel.py"]


def test_the_content_is_the_same_for_the_same_files_alone():
    assert made().content == made(dict(reversed(FILES.items()))).content
    assert made().content != made(FILES | {"README.md": b"read it\n"}).content
    assert made().content != made(FILES | {"more": b""}).content
    renamed = {path.replace("01_", "02_"): content for path, content in FILES.items()}
    assert made().content != made(renamed).content


def changed(folder: Path) -> list[str]:
    """Released files that are not as they were, but for kernels."""
    files = made().files
    return [
        file.path for file in files if not file.kernel and not manifest.is_unchanged(folder, file)
    ]


def test_an_untouched_repository_has_no_changes(folder: Path):
    (folder / "notes.txt").write_text("the student's own")
    assert changed(folder) == []


def test_kernels_are_the_students_to_change(folder: Path):
    (folder / "exercises/01_double/kernel.py").write_text("my work")
    assert changed(folder) == []
    (folder / "exercises/01_double/kernel.py").unlink()
    assert changed(folder) == []


def test_what_was_changed_or_is_missing_is_named(folder: Path):
    (folder / "exercises/01_double/spec.py").write_text("SPEC = easier")
    assert changed(folder) == ["exercises/01_double/spec.py"]
    (folder / "README.md").unlink()
    assert changed(folder) == ["README.md", "exercises/01_double/spec.py"]
    (folder / "README.md").mkdir()
    assert changed(folder) == ["README.md", "exercises/01_double/spec.py"]


def test_a_link_is_a_change_even_to_the_same_content(folder: Path):
    spec = folder / "exercises/01_double/spec.py"
    spec.rename(folder / "elsewhere.py")
    spec.symlink_to(folder / "elsewhere.py")
    assert changed(folder) == ["exercises/01_double/spec.py"]


def test_a_link_on_the_way_is_a_change(folder: Path):
    (folder / "exercises").rename(folder / "others")
    (folder / "exercises").symlink_to("others")
    assert changed(folder) == ["exercises/01_double/spec.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_a_change(folder: Path):
    (folder / "README.md").chmod(0)
    assert changed(folder) == ["README.md"]


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a/", "a\\b", "C:a"),
        *(".git/config", "a/.GIT/hooks", "a\nb", "a\x00b", "release.json"),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: str):
    with pytest.raises(ValidationError, match="is not the path of a released file"):
        ReleasedFile(path=path, sha256="0")


@pytest.mark.parametrize("path", [".gitignore", ".github/workflows/check.yml", "a/..b", "é/ö"])
def test_other_paths_are_fine(path: str):
    assert ReleasedFile(path=path, sha256="0").path == path


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"schema": "grader/release/v2"}, "schema: Input should be 'grader/release/v1'"),
        ({"content": "0"}, "`content` is not the digest of its files"),
        ({"files": [{"path": "../x", "sha256": "0"}]}, "'../x' is not the path of a released file"),
        ({"version": 1}, "version: Input should be a valid string"),
    ],
)
def test_what_is_no_manifest_is_refused_by_name(folder: Path, change: dict, fault: str):
    entries = json.loads((folder / manifest.FILE).read_text()) | change
    (folder / manifest.FILE).write_text(json.dumps(entries))
    with pytest.raises(UsageError) as raised:
        manifest.read(folder)
    assert fault in raised.value.message
    assert str(folder / manifest.FILE) in raised.value.message
    assert "Value error" not in raised.value.message, "a word of pydantic's"


def test_two_files_of_one_path_are_refused():
    with pytest.raises(ValidationError, match="two of its files have one path"):
        made({"README.md": b"", "readme.md": b""})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "is not a release of a course: it has no release.json"),
        (b"{", "is no grader/release/v1: Invalid JSON"),
        (b"\xff\xfe", "is no grader/release/v1: Invalid JSON"),
        (b"[" * 100_000, "is no grader/release/v1: Invalid JSON"),
        (b" " * (manifest.LARGEST + 1), "it has more than 16,777,216 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(folder: Path, content: bytes | None, fault: str):
    if content is None:
        (folder / manifest.FILE).unlink()
    else:
        (folder / manifest.FILE).write_bytes(content)
    with pytest.raises(UsageError) as raised:
        manifest.read(folder)
    assert fault in raised.value.message


def test_fields_of_a_later_version_are_ignored(folder: Path):
    entries = json.loads((folder / manifest.FILE).read_text()) | {"later": 1}
    (folder / manifest.FILE).write_text(json.dumps(entries))
    assert manifest.read(folder) == made()
