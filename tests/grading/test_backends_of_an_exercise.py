"""An exercise in several languages: each file is graded in the one that it imports.

`tests/courses/levels` has an exercise in Triton and CUDA C++, with a fast solution in the other
language than the first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from needs_nvrtc import NEEDS_NVRTC

from grader.authoring import trials, verify
from grader.cli import options
from grader.course import catalog, stubs
from grader.grading import check
from grader.model.errors import UsageError
from grader.model.results import parse_result
from grader.reports.contract import contract, course_list

pytestmark = pytest.mark.slow

COURSE = Path(__file__).parents[1] / "courses" / "levels"
DOUBLE = catalog.find(COURSE, "01_double")


def ran(*command: str, cwd: Path = COURSE) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "grader.cli", *command], cwd=cwd, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def verified() -> dict[str, Any]:
    """The findings of one `grader verify` by their kernels, and its exit code."""
    code, out, err = ran("verify", "01", "--device", "cpu", "--mutants", "1", "--json")
    assert out, err
    rows = [json.loads(line) for line in out.splitlines()]
    return {"code": code, **{row["kernel"]: row for row in rows}}


@NEEDS_NVRTC
def test_verify_takes_the_stub_and_the_solution_of_each_language(verified):
    assert verified.pop("code") == 0
    ends = {name: (row["kind"], row["actual"]) for name, row in verified.items()}
    assert ends["stub"] == ("stub", "not_started")
    assert ends["stub, cuda"] == ("stub", "not_started")
    assert ends["solution"] == ("solution", "pass")
    # Without a GPU they are compiled: that is said of them, and no pass.
    assert ends["solution, cuda"] == ("compiled", "cannot_grade")
    assert ends["solution, fast"] == ("compiled", "cannot_grade")
    assert ends["wrong_in_cuda"] == ("compiled", "cannot_grade")


@NEEDS_NVRTC
def test_the_result_names_another_language_than_the_first(verified):
    named = {
        name: row["result"]["kernel"]["backend"]
        for name, row in verified.items()
        if name.startswith(("stub", "solution"))
    }
    assert named == {
        "stub": None,
        "stub, cuda": "cuda",
        "solution": None,
        "solution, cuda": "cuda",
        "solution, fast": "cuda",
    }


@NEEDS_NVRTC
def test_steps_and_points_are_those_of_the_language(verified):
    of_triton, of_cuda = (verified[name]["result"] for name in ("solution", "solution, cuda"))
    steps, of_others = ({step["name"] for step in one["steps"]} for one in (of_triton, of_cuda))
    assert steps - of_others == {"counts"}
    assert of_triton["max_points"] - of_cuda["max_points"] == 2


@NEEDS_NVRTC
def test_what_is_only_compiled_is_excused_for_no_other_reason(verified):
    """Nor is a file in the first language, a stub, or one that was not compiled."""
    judged = parse_result(json.dumps(verified["solution, cuda"]["result"]).encode())
    request = check.Request(DOUBLE, DOUBLE.solution)

    def ok(kind: str = "solution", **changes: Any) -> bool:
        trial = trials.Trial(kind, "solution, cuda", "pass", request)
        return verify._judged(trial, judged.model_copy(update=changes)).ok

    uncompiled = [step for step in judged.steps if step.name != "compile"]
    on_gpu = judged.environment.model_copy(update={"simulated": False})
    assert ok()
    assert not ok("stub")
    assert not ok(kernel=judged.kernel.model_copy(update={"backend": None}))
    assert not ok(steps=tuple(uncompiled))
    assert not ok(environment=on_gpu)


def test_a_file_in_two_languages_is_told_so(tmp_path: Path):
    kernel = tmp_path / "both.py"
    kernel.write_text(f"import cuda.core\n{DOUBLE.solution.read_text(encoding='utf-8')}")
    code, out, err = ran("check", "01", "--device", "cpu", "--json", "--kernel", str(kernel))
    assert out, err
    (load, *_) = json.loads(out)["steps"]
    assert (code, load["failure"]["kind"]) == (1, "several_backends")
    assert load["failure"]["message"].endswith(
        "the modules of Triton and CUDA C++, and must be in one of them"
    )


@NEEDS_NVRTC
def test_the_option_names_the_file_of_a_language():
    code, out, err = ran("check", "01", "--device", "cpu", "--backend", "cuda", "--json")
    assert out, err
    result = json.loads(out)
    assert (code, result["status"]) == (1, "not_started")
    assert result["kernel"]["path"] == "exercises/01_double/kernel_cuda.py"
    (failed,) = (step for step in result["steps"] if step["outcome"] == "not_started")
    assert "grader check 01_double --backend cuda --case" in failed["failure"]["replay"]


def test_a_language_that_the_exercise_does_not_allow_is_named():
    code, _, err = ran("check", "01", "--backend", "numba")
    assert (code, "01_double is not written in 'numba'." in err) == (2, True)
    assert "It may be written in triton, cuda." in err
    code, _, err = ran("check", "01", "--backend", "cuda", "--kernel", "mine.py")
    assert (code, "Leave out --backend" in err) == (2, True)


@pytest.mark.gpu
@NEEDS_NVRTC
def test_on_a_gpu_each_solution_passes_and_each_wrong_kernel_is_rejected():
    code, out, err = ran("verify", "01", "--device", "cuda", "--mutants", "1", "--json")
    assert out, err
    rows = {row["kernel"]: row for row in map(json.loads, out.splitlines())}
    ends = {
        name: (row["kind"], row["actual"])
        for name, row in rows.items()
        if row["kind"] in ("stub", "solution", "wrong", "compiled")
    }
    assert ends == {
        "stub": ("stub", "not_started"),
        "stub, cuda": ("stub", "not_started"),
        "solution": ("solution", "pass"),
        "solution, cuda": ("solution", "pass"),
        "solution, fast": ("solution", "pass"),
        "wrong_in_cuda": ("wrong", "correctness"),
    }
    for name in ("solution", "solution, cuda", "solution, fast"):
        assert any(step["speed"] for step in rows[name]["result"]["steps"])
    assert code == 0


def test_of_all_exercises_those_that_allow_a_language_are_chosen(added: Path):
    """Exercises of other kinds have no language at all."""
    small = catalog.exercises(COURSE.parent / "small")
    some = [DOUBLE, *small, *catalog.exercises(added)]
    (chosen,) = options.written_in(some, "cuda", every=True)
    assert (chosen.name, chosen.backend) == ("01_double", "cuda")
    assert chosen.folder == DOUBLE.folder
    with pytest.raises(UsageError, match="is not written in 'cuda'"):
        options.written_in(some, "cuda", every=False)
    with pytest.raises(UsageError, match="is not written in 'cpp'"):
        options.written_in([DOUBLE], "cpp", every=True)


def test_show_and_list_say_which_languages_there_are():
    page = contract(DOUBLE).plain
    assert "CUDA C++  kernel_cuda.py, checked with `--backend cuda`" in page
    assert "triton, cuda" in course_list([DOUBLE]).plain


def test_the_stubs_are_those_of_the_solutions():
    assert [stubs.drifted(one) for one in DOUBLE.in_all_backends] == [False, False]
    code, out, _ = ran("stub", "--check")
    assert (code, out) == (0, "2 stubs, each as its solution makes it.\n")
