"""`pytest exercises/NAME` by itself: the steps, what a failure reads like, and what is skipped."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import few_cases
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SETTINGS = "[pytest]\naddopts = --import-mode=importlib\n"  # of a small course


def run_pytest(*arguments: str | Path, cwd: Path = ROOT) -> tuple[int, str]:
    """Exit code and output of pytest, as somebody who installed kernel-grader would run it."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "grader.plugin", "-p", "no:cacheprovider"),
            *("-v", "--device", "cpu", "--grader-seed", "1"),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"},
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def outcomes(said: str) -> dict[str, str]:
    """Items and what became of them, in the order in which they ran: `01_vector_add::load`."""
    found = re.findall(r"^\S*?(\w+)/(?:spec|test_kernel)\.py::(\w+) (\w+)", said, re.MULTILINE)
    return {f"{folder}::{item}": outcome for folder, item, outcome in found}


def test_an_exercise_by_itself_prints_its_steps(tmp_path: Path):
    folder = few_cases.put_into(tmp_path)
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    solution = ROOT / "solutions" / folder.name / "kernel.py"
    code, said = run_pytest(f"exercises/{folder.name}", "--kernel", solution, cwd=tmp_path)
    assert code == 0, said
    became = outcomes(said)
    items = [name.removeprefix("01_vector_add::") for name in became]
    assert items[:2] == ["load", "correctness"]
    assert items[-5:] == ["properties", "traffic", "memory", "compile", "speed"]
    assert all(name.startswith("test_") for name in items[2:-5])
    assert len(items) >= 6
    assert became.pop("01_vector_add::speed") == "SKIPPED"
    assert set(became.values()) == {"PASSED"}
    assert "needs a CUDA GPU" in said


SPEC = """
from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Copy",
    summary="A copy.",
    backend="triton",
    entry="copy",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows",),
    edges=(Case((1,), "float32"), Case((300,), "float32")),
    largest=(300,),
    most_elements=300,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
    reference=lambda inputs: {"out": inputs["x"]},
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((1000,), "float32"),
    scored=Scored(dtype="float32"),
    gates=Gates(passing=0.5, great=0.9),
    memory_budget=lambda case: 2**40,
    hints=("one", "two", "three"),
    kernels=False,
)
"""
TESTS = '''
from hypothesis import given
from grader.testing import assert_within, cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_a_copy_is_equal(kernel, case):
    """out is x."""
    inputs = kernel.inputs(case)
    assert_within(kernel.run(inputs)["out"], inputs["x"], 0.0, "out")


@given(case=cases)
def test_the_number_17_is_copied(kernel, case):
    """17 comes out as 17."""
    inputs = kernel.inputs(case)
    inputs["x"].fill_(17.0)
    assert_within(kernel.run(inputs)["out"], 17.0, 0.0, "a copy of 17")
'''
RIGHT = "def copy(x, out):\n    out.copy_(x)\n"
WRONG = "def copy(x, out):\n    out.copy_(x)\n    out[128:] = 0\n"
NOT_17 = "def copy(x, out):\n    out.copy_(x)\n    out[out == 17] = 0\n"
STUB = "def copy(x, out):\n    raise NotImplementedError('write this part')\n"


@pytest.fixture(scope="module")
def fake_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One exercise four times, each with another kernel.py."""
    root = tmp_path_factory.mktemp("course")
    # Every exercise has a test_kernel.py, which pytest's own way of importing would mix up.
    (root / "pytest.ini").write_text(SETTINGS)
    for name, kernel in [
        ("01_right", RIGHT),
        ("02_wrong", WRONG),
        ("03_not_17", NOT_17),
        ("04_stub", STUB),
    ]:
        folder = root / "exercises" / name
        folder.mkdir(parents=True)
        (folder / "spec.py").write_text(SPEC)
        (folder / "test_kernel.py").write_text(TESTS)
        (folder / "kernel.py").write_text(kernel)
    return root


@pytest.fixture(scope="module")
def all_of_them(fake_course: Path) -> tuple[int, str]:
    return run_pytest("exercises", cwd=fake_course)


def test_several_exercises_in_one_run_each_with_their_steps_in_order(
    all_of_them: tuple[int, str],
):
    _, said = all_of_them
    properties = ("test_a_copy_is_equal", "test_the_number_17_is_copied")
    steps = (
        *("load", "correctness", *properties, "properties"),
        *("traffic", "memory", "compile", "speed"),
    )
    expected = [
        f"{name}::{step}"
        for name in ("01_right", "02_wrong", "03_not_17", "04_stub")
        for step in steps
    ]
    assert list(outcomes(said)) == expected, said


def test_each_exercise_has_its_own_verdict(all_of_them: tuple[int, str]):
    code, said = all_of_them
    assert code == 1
    became = list(outcomes(said).values())
    assert became[0:9] == ["PASSED"] * 7 + ["SKIPPED"] * 2  # these files launch no kernel
    assert became[9:18] == ["PASSED", "FAILED"] + ["SKIPPED"] * 7
    assert became[18:27] == ["PASSED"] * 3 + ["FAILED"] * 2 + ["SKIPPED"] * 4
    assert became[27:36] == ["PASSED", "FAILED"] + ["SKIPPED"] * 7


def test_what_needs_a_failed_step_says_which(all_of_them: tuple[int, str]):
    _, said = all_of_them
    assert "needs correctness" in said
    assert "not run: needs properties" in said


def test_a_wrong_output_is_reported_with_its_smallest_case(all_of_them: tuple[int, str]):
    _, said = all_of_them
    told = re.search(
        r"^129 elements of float32 \(counting\): out\[128\] is wrong\n((?: +\S.*\n)+)",
        said,
        re.MULTILINE,
    )
    assert told is not None, said
    lines = dict(line.split(maxsplit=1) for line in told[1].splitlines())
    assert re.fullmatch(r"-?\d.* ± .*", lines["expected"])
    assert lines["got"] == "0"
    assert lines["where"] == "element 128 (1 of 129 elements)"
    assert re.fullmatch(
        r"grader check 02_wrong --case '129,float32,draw=counting(,seed=\d+)?'", lines["replay"]
    )


def test_pytest_reports_a_broken_property(all_of_them: tuple[int, str]):
    _, said = all_of_them
    assert "a copy of 17 at [0]: expected 17 ± 0, got 0" in said


def test_a_stub_says_that_it_is_not_started(all_of_them: tuple[int, str]):
    _, said = all_of_them
    assert "write this part" in said


def test_one_case_only(fake_course: Path):
    code, said = run_pytest("exercises/02_wrong", "--case", "130,float32,seed=3", cwd=fake_course)
    assert code == 1
    assert outcomes(said)["02_wrong::correctness"] == "FAILED"
    assert "130 elements of float32: out[" in said
    assert "--case '130,float32,seed=3'" in said


def test_other_tests_are_left_alone(fake_course: Path, tmp_path: Path):
    shutil.copytree(fake_course / "exercises" / "01_right", tmp_path / "01_right")
    (tmp_path / "test_other.py").write_text("def test_other():\n    assert 1 + 1 == 2\n")
    (tmp_path / "spec_of_mine").mkdir()
    (tmp_path / "spec_of_mine" / "test_mine.py").write_text("def test_mine(): ...\n")
    code, said = run_pytest("test_other.py", "spec_of_mine", "--durations=0", cwd=tmp_path)
    assert code == 0, said
    assert "2 passed" in said


SKIPPED_AND_BLANK = '''

import pytest


@pytest.mark.skip(reason="too slow")
def test_a_law_that_is_left_out(kernel): ...


def test_a_law_without_words(kernel):
    """ """
    assert kernel is None
'''


def test_a_law_that_its_author_skips_does_not_hold(fake_course: Path, tmp_path: Path):
    """It counted as one that holds. A blank docstring left the check without a result."""
    folder = shutil.copytree(fake_course / "exercises" / "01_right", tmp_path / "01_right")
    (folder / "test_kernel.py").write_text(TESTS + SKIPPED_AND_BLANK)
    shutil.copy(fake_course / "pytest.ini", tmp_path)
    code, said = run_pytest("01_right", cwd=tmp_path)
    became = outcomes(said)
    assert code == 1, said
    assert became["01_right::properties"] == "FAILED"
    failed = "2 of 4 properties fail: a law that is left out, a law without words"
    assert failed in said


def test_several_entries_of_a_file_come_one_after_the_other():
    course = ROOT / "tests" / "courses" / "entries"
    words = (course / "exercises/01_scale", "--kernel", course / "solutions/01_scale/kernel.py")
    # In one case: their order is the same in all.
    words = (*words, "--case", "3x257,float16")
    code, said = run_pytest(*words)
    assert code == 0, said
    steps = re.findall(r"::(?:(\w+): )?(\w+) (?:PASSED|SKIPPED)", said)
    entries = [entry for entry, _ in steps if entry]
    assert entries == sorted(entries)
    assert set(entries) == {"scale", "scale_backward"}
    names = [name for _, name in steps]
    first = names.index("test_weights_of_one_change_nothing")
    assert first < entries.count("scale") < names.index("test_no_gradient_gives_none")

    code, said = run_pytest(*words, "--entry", "scale")
    assert code == 0, said
    assert "scale_backward" not in said
    assert "test_no_gradient" not in said
