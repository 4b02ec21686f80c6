"""The learner's lines of operations, whichever worker's copy of the file they name."""

from __future__ import annotations

import pytest

from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.records import Site

HOME = "/worker-1/home"
SOURCE = Source(f"{HOME}/kernel-b/kernel.py", ["", "x = tl.load(p)"])
LIBRARY = Site("/lib/triton/language/standard.py", 2)


@pytest.mark.parametrize("folder", ["kernel-b", "kernel-a"], ids=["this worker's", "an earlier's"])
def test_a_line_of_the_file(folder: str) -> None:
    site = Site(f"{HOME}/{folder}/kernel.py", 2)
    assert SOURCE.quoted(site) == "line 2 (x = tl.load(p))"


@pytest.mark.parametrize(
    "file",
    ["/worker-2/home/kernel-b/kernel.py", f"{HOME}/kernel-b/other.py", LIBRARY.file],
)
def test_a_line_of_another_file(file: str) -> None:
    assert SOURCE.quoted(Site(file, 2)) == "another file"


def test_a_librarys_line_stands_for_the_line_that_calls_it() -> None:
    site = Site(LIBRARY.file, 7, callers=(Site(SOURCE.file, 2),))
    assert SOURCE.line_of(site) == 2
