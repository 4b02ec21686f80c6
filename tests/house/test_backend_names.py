"""No line outside of `backends/` names a backend: adding one changes no line elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader import backends

GRADER = Path(backends.__file__).parents[1]
# Fields of grader/result/v1 whose meaning is a contract.
FIELDS = {"triton: str | None = None", "numba_cuda: str | None = None"}


# Also the name of a device, and of NVIDIA's packages: only a backend of this name counts.
DEVICE = "cuda"
AS_BACKEND = (
    rf"""backends?(?:\.name)?\s*(?:[=!]=?|\.|\bin\b)\W*{DEVICE}\b|find\(["']{DEVICE}["']\)"""
)


def lines_with(words: set[str]) -> list[str]:
    """Return each line outside of `backends/` that holds one of the words, with its place."""
    patterns = [AS_BACKEND if word == DEVICE else word for word in sorted(words)]
    pattern = re.compile("|".join(patterns), re.IGNORECASE)
    return [
        f"{path.relative_to(GRADER)}:{number}: {line.strip()}"
        for path in sorted(GRADER.rglob("*.py"))
        if path.relative_to(GRADER).parts[0] != "backends"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line) and line.strip() not in FIELDS
    ]


def test_no_line_outside_names_a_backend():
    words = {word for one in backends.every() for word in (one.name, *one.modules)}
    assert {"triton", "numba"} <= words
    assert lines_with(words) == []


@pytest.mark.parametrize(
    "line", ['if backend == "cuda":', "import grader.backends.cuda", 'backends.find("cuda")']
)
def test_a_backend_that_has_a_devices_name_is_found(line: str):
    assert re.search(AS_BACKEND, line)


def test_the_search_finds_what_is_there():
    assert [line.partition(":")[0] for line in lines_with({"torchinductor_cache_dir"})] == [
        "sandbox/fork_server.py"
    ]
