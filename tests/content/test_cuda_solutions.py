"""The solutions in CUDA C++ beside those in Triton: whole, compiled, and passing on a GPU."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from needs_nvrtc import NEEDS_NVRTC

from grader.course import catalog, stubs
from grader.course.exercise import Exercise

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BOTH = [each for each in catalog.exercises(ROOT) if "cuda" in each.whole_spec.also_in]
NAMES = [exercise.name for exercise in BOTH]

each = pytest.mark.parametrize("exercise", BOTH, ids=NAMES)


def checked(device: str, *more: str) -> dict[str, dict[str, Any]]:
    """The results of all of them by one judge, by their exercises."""
    command = ["check", *NAMES, "--solution", "--backend", "cuda", "--json", "--device", device]
    done = subprocess.run(
        [sys.executable, "-m", "grader.cli", *command, *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    results = map(json.loads, done.stdout.splitlines())
    found = {result["exercise"]: result for result in results}
    assert list(found) == NAMES, done.stderr
    return found


@pytest.fixture(scope="module")
def compiled() -> dict[str, dict[str, Any]]:
    return checked("cpu", "--seed", "1")


def entry(path: Path, name: str) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (found,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    return ast.unparse(found.args)


def test_there_are_three():
    assert NAMES == ["01_vector_add", "04_online_softmax", "06_cross_entropy"]


@each
def test_a_stub_leaves_out_the_same_as_in_triton(exercise: Exercise):
    first, other = exercise.in_all_backends
    assert not stubs.drifted(other)
    assert entry(first.solution, exercise.spec.entry) == entry(other.solution, exercise.spec.entry)
    stub = other.kernel.read_text(encoding="utf-8")
    assert "// TODO: " in stub
    assert "raise NotImplementedError(" in stub


@NEEDS_NVRTC
@each
def test_each_dtype_compiles_without_spills(exercise: Exercise, compiled):
    result = compiled[exercise.name]
    steps = {step["name"]: step for step in result["steps"]}
    assert (result["kernel"]["backend"], result["status"]) == ("cuda", "cannot_grade")
    assert steps["correctness"]["failure"]["kind"] == "not_simulated"
    assert steps["compile"]["outcome"] == "pass"
    required = [one for one in steps["compile"]["compiled"] if one["required"]]
    assert {one["dtype"] for one in required} == set(exercise.spec.dtypes)
    assert {one["spills"] for one in required} == {0}
    # More registers, and fewer than four blocks of 512 threads fit into a multiprocessor.
    assert max(one["registers"] for one in required) <= 32


@pytest.mark.gpu
@NEEDS_NVRTC
def test_each_passes_every_step_on_a_gpu():
    for name, result in checked("cuda").items():
        ends = {step["name"]: step["outcome"] for step in result["steps"]}
        assert result["status"] == "pass", (name, ends, result["message"])
        assert {"correctness", "properties", "memory", "compile", "speed"} <= ends.keys()
