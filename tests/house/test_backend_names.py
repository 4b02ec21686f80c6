"""No line outside of `backends/` names a backend: adding one changes no line elsewhere."""

from __future__ import annotations

import re

import pytest
from backend_names import AS_BACKEND, lines_with

from grader import backends


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
        "sandbox/commands.py"
    ]
