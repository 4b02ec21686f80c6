"""The lines outside of `backends/` that name a backend; for the tests and for bench/house.py."""

from __future__ import annotations

import re
from pathlib import Path

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
