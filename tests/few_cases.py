"""A copy of 01_vector_add, or of 04_online_softmax, that is graded in two fifths of the time.

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

few = {"edges": SPEC.edges[5:9], "largest": (*SPEC.largest[:-1], 2000), "most_elements": 2000}
SPEC = replace(SPEC, **few)
"""
LAW = "\n\n@given(case=cases)\n"


def put_into(course: Path, name: str = NAME) -> Path:
    """Copy the exercise with four of its edges and one of its laws; return the copy's folder."""
    folder = course / "exercises" / name
    shutil.copytree(ROOT / "exercises" / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec, tests = folder / "spec.py", folder / "test_kernel.py"
    spec.write_text(spec.read_text(encoding="utf-8") + FEW, encoding="utf-8")
    before, law, *others = tests.read_text(encoding="utf-8").split(LAW)
    assert others
    tests.write_text(before + LAW + law, encoding="utf-8")
    return folder
