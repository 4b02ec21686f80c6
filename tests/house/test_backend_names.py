"""No line outside of `backends/` names a backend: adding one changes no line elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from grader import backends

GRADER = Path(backends.__file__).parents[1]
# Fields of grader/result/v1 whose meaning is a contract.
FIELDS = {"triton: str | None = None", "numba_cuda: str | None = None"}


def lines_with(words: set[str]) -> list[str]:
    """Return each line outside of `backends/` that holds one of the words, with its place."""
    pattern = re.compile("|".join(sorted(words)), re.IGNORECASE)
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


def test_the_search_finds_what_is_there():
    assert [line.partition(":")[0] for line in lines_with({"torchinductor_cache_dir"})] == [
        "sandbox/fork_server.py"
    ]
