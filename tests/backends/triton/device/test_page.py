"""docs/simulated-gpu.md lists the operations that the device executes, each of which has a test."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from grader.backends.triton.device import operations, plan, ptx

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "simulated-gpu.md").read_text(encoding="utf-8")
TESTS = Path(__file__).parent
OPERATION = re.compile(r"`((?:arith|cf|gpu|llvm|math|scf|tt|ttg|ub)\.[\w.]+)`")


def test_the_page_lists_every_operation() -> None:
    listed = OPERATION.findall(PAGE)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(operations.names()) | plan.ENDS


def test_the_page_lists_every_instruction_of_ptx() -> None:
    [listed] = re.findall(r"The device executes (`abs`.*?), with", PAGE, re.DOTALL)
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(ptx.NAMES)


@cache
def texts() -> str:
    paths = [*TESTS.rglob("*.py"), *TESTS.rglob("*.ttir")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("name", sorted(operations.names()))
def test_every_operation_is_in_a_test(name: str) -> None:
    assert re.search(rf"{re.escape(name)}(?![\w.])", texts())
