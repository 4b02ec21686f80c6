"""A copy of 01_vector_add that is graded in two fifths of the time.

For tests that grade right kernels and are not about what the cases find: a right kernel takes all
of them, up to a million elements, and four laws with a dozen cases each.
"""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = "01_vector_add"
FEW = """
from dataclasses import replace

SPEC = replace(SPEC, edges=SPEC.edges[5:9], largest=(2000,), most_elements=2000)
"""
SECOND_LAW = "\n\n@given(case=cases)\ndef test_opposites_cancel("


def put_into(course: Path) -> Path:
    """Copy the exercise with four of its edges and one of its laws; return the copy's folder."""
    folder = course / "exercises" / NAME
    shutil.copytree(ROOT / "exercises" / NAME, folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec, tests = folder / "spec.py", folder / "test_kernel.py"
    spec.write_text(spec.read_text(encoding="utf-8") + FEW, encoding="utf-8")
    first, found, _ = tests.read_text(encoding="utf-8").partition(SECOND_LAW)
    assert found
    tests.write_text(first, encoding="utf-8")
    return folder
