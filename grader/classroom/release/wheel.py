"""The running grader as a wheel, from which a release is installed without an index.

The format: https://packaging.python.org/specifications/binary-distribution-format. The same grader
makes the same bytes: members are sorted, and dated 1980-01-01, the first day that zip knows.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement

import grader
from grader.course import INSTALLED_COURSE
from grader.model import CannotGrade

NAME = "kernel-grader"
TAG = "py3-none-any"


def file_name() -> str:
    return f"{_stem()}-{TAG}.whl"


def build() -> bytes:
    """Pack the package's files and the metadata that an installation needs.

    Leaves out the description, and what an installer recorded about this machine. Raises
    CannotGrade if the grader runs without being installed.
    """
    info = f"{_stem()}.dist-info"
    members = dict(_package())
    members |= {f"{info}/{path}": content for path, content in _metadata()}
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: true\nTag: {TAG}\n".encode()
    )
    record = io.StringIO()
    writer = csv.writer(record, lineterminator="\n")
    writer.writerows(
        (path, f"sha256={_digest(content)}", len(content))
        for path, content in sorted(members.items())
    )
    writer.writerow((f"{info}/RECORD", "", ""))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(members.items()):
            _add(archive, path, content)
        _add(archive, f"{info}/RECORD", record.getvalue().encode())
    return packed.getvalue()


def requires() -> list[str]:
    """Return the grader's requirements, with extras as markers.

    They come from the sources if the grader runs from there: they may have changed since it was
    installed. Raises CannotGrade as `build` does.
    """
    sources = Path(grader.__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(sources.read_text("utf-8"))["project"] if sources.is_file() else {}
    if project.get("name") != NAME:
        return list(_installed().requires or ())
    needed = [Requirement(text) for text in project["dependencies"]]
    for extra, texts in project["optional-dependencies"].items():
        for more in map(Requirement, texts):
            mark = f'extra == "{extra}"'
            more.marker = Marker(f"({more.marker}) and {mark}" if more.marker else mark)
            needed.append(more)
    return [str(one) for one in needed]


def _stem() -> str:
    return f"{NAME.replace('-', '_')}-{grader.__version__}"


def _installed() -> metadata.Distribution:
    # setuptools leaves a folder without METADATA beside the sources: it is skipped.
    for distribution in metadata.distributions(name=NAME):
        if distribution.read_text("METADATA"):
            return distribution
    raise CannotGrade(
        "The grader that runs here is not installed, and cannot be packed for students.",
        "Install it (`pip install -e .` in its folder), or name one with --grader.",
    )


def _package() -> Iterator[tuple[str, bytes]]:
    folder = Path(grader.__file__).parent
    for path in folder.rglob("*"):
        inner = path.relative_to(folder)
        left_out = any(part == "__pycache__" or part.startswith(".") for part in inner.parts)
        # The course that an installation carries has its solutions.
        left_out |= path.is_relative_to(INSTALLED_COURSE)
        if path.is_file() and not left_out:
            yield f"grader/{inner.as_posix()}", path.read_bytes()


def _metadata() -> Iterator[tuple[str, bytes]]:
    installed = _installed()
    headers, _, _ = (installed.read_text("METADATA") or "").partition("\n\n")
    rewritten = ("Version:", "Provides-Extra:", "Requires-Dist:")
    lines = [line for line in headers.splitlines() if not line.startswith(rewritten)]
    lines += [f"Version: {grader.__version__}", *(f"Requires-Dist: {one}" for one in requires())]
    lines += [f"Provides-Extra: {extra}" for extra in _extras()]
    yield "METADATA", "".join(f"{line}\n" for line in lines).encode()
    for path in ("entry_points.txt", "top_level.txt", "licenses/LICENSE"):
        if text := installed.read_text(path):
            yield path, text.encode()


def _extras() -> list[str]:
    return sorted(set(re.findall(r'extra == "([^"]+)"', "\n".join(requires()))))


def _add(archive: zipfile.ZipFile, path: str, content: bytes) -> None:
    member = zipfile.ZipInfo(path)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    archive.writestr(member, content)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
