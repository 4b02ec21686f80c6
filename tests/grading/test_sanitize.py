"""One call under compute-sanitizer: what is run, and what becomes of each way to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.correctness.inputs import CaseDraw
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check, sanitize
from grader.grading.check import Request
from grader.grading.options import Options
from grader.grading.plan import with_step
from grader.grading.session import Grading
from grader.model.cases import Case
from grader.model.errors import CannotGrade
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, Sanitized, parse_result
from grader.sandbox import commands
from grader.sandbox.fork_servers import ForkServers
from grader.worker import single_call

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COURSES = Path(__file__).parents[1] / "courses"
EXERCISES = {exercise.name: exercise for exercise in with_step(catalog.parts(ROOT), "speed")}
ADD, DOT = EXERCISES["01_vector_add"], EXERCISES["02_dot_reduction"]
LOADED = parse_result((COURSES / "result.json").read_bytes()).steps[0]
CASE = Case((1025,), "float32", seed=7)

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NO_MASK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at add_kernel+0x1a0 in {home}/kernel.py:16
=========     by thread (1,0,0) in block (1,0,0)
=========     Access to 0x7f0000001004 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f0000000000 of size 4,100 bytes
========= ERROR SUMMARY: 1 error
"""

FAKE = """\
#!{python} -I
import json, pathlib, shutil, sys, time
log = pathlib.Path(sys.argv[sys.argv.index("--log-file") + 1])
home = pathlib.Path(sys.argv[-1])
seen = pathlib.Path({seen!r})
shutil.copytree(home, seen / sys.argv[2], dirs_exist_ok=True)
with (seen / "commands").open("a") as commands:
    print(json.dumps(sys.argv[1:]), file=commands)
(home / "addresses.json").write_text({addresses!r})
if {report!r}:
    log.write_text({report!r}.replace("{{home}}", str(home)))
print({said!r})
time.sleep({sleeps})
sys.exit({status})
"""

Fake = Callable[..., Path]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Makes a compute-sanitizer that reports what it is told to, and keeps what it was given."""

    def make(
        report: str = CLEAN, *, said: str = "", status: int = 0, sleeps: float = 0, addresses="{}"
    ) -> Path:
        program = tmp_path / "compute-sanitizer"
        (tmp_path / "seen").mkdir(exist_ok=True)
        program.write_text(
            FAKE.format(
                python=sys.executable,
                seen=str(tmp_path / "seen"),
                report=report,
                said=said,
                status=status,
                sleeps=sleeps,
                addresses=addresses,
            )
        )
        program.chmod(0o755)
        return program

    return make


def grading(exercise: Exercise = ADD, kernel: Path | None = None, **options: object) -> Grading:
    """As a judge leaves it when the kernel has loaded."""
    chosen = Options(**({"seed": 1, "case": CASE} | options))
    made = Grading(exercise, kernel or exercise.solution, chosen, ForkServers())
    made.steps["load"] = LOADED
    return made


def outcomes(found: tuple[Sanitized, ...]) -> list[tuple[str, Outcome]]:
    return [(one.tool, one.outcome) for one in found]


def test_both_tools_run_and_silence_with_a_summary_passes(fake: Fake, tmp_path: Path):
    found = sanitize.sanitize(grading(), fake())
    assert outcomes(found) == [("memcheck", Outcome.PASS), ("racecheck", Outcome.PASS)]
    assert [one.summary for one in found] == ["1,025 elements of float32: nothing found"] * 2
    commands = [json.loads(c) for c in (tmp_path / "seen/commands").read_text().splitlines()]
    assert [c[:2] for c in commands] == [["--tool", "memcheck"], ["--tool", "racecheck"]]
    assert all(
        c[-5:-1] == [sys.executable, "-I", "-m", "grader.worker.single_call"] for c in commands
    )
    assert all(not Path(c[-1]).exists() for c in commands), "the home is removed"


def test_the_report_does_not_lie_where_the_kernel_runs(fake: Fake, tmp_path: Path):
    sanitize.sanitize(grading(), fake())
    for line in (tmp_path / "seen/commands").read_text().splitlines():
        command = json.loads(line)
        log, home = Path(command[command.index("--log-file") + 1]), Path(command[-1])
        assert home not in log.parents


def test_an_error_fails_with_the_learners_line_and_the_arrays_name(
    fake: Fake, snapshot: SnapshotAssertion
):
    wrong = ADD.solution.parent / "wrong_no_mask.py"
    program = fake(NO_MASK, status=1, addresses=json.dumps({"x": 0x7F0000000000}))
    memcheck, _ = sanitize.sanitize(grading(kernel=wrong), program)
    assert memcheck.outcome is Outcome.FAIL
    assert memcheck.summary == snapshot
    (error,) = memcheck.errors
    assert text_of(error) == snapshot
    assert error.frames[0].code == "    x = tl.load(x_ptr + offsets)"
    assert memcheck.replay == (
        "grader check 01_vector_add --kernel solutions/01_vector_add/wrong_no_mask.py "
        "--case '1025,float32,seed=7' --sanitize"
    )
    assert "Invalid __global__ read" in memcheck.report


@pytest.mark.parametrize("addresses", ["", "[]", '{"x": "0x1", "y": true}', "[" * 100_000])
def test_addresses_are_believed_only_as_far_as_they_can_be_read(
    fake: Fake, addresses: str, snapshot: SnapshotAssertion
):
    memcheck, _ = sanitize.sanitize(grading(), fake(NO_MASK, addresses=addresses))
    assert text_of(memcheck.errors[0]) == snapshot


def test_a_pipe_in_the_place_of_the_addresses_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "addresses.json")
    assert sanitize._addresses(tmp_path / "addresses.json", ADD.spec) == {}


def test_a_timeout_has_its_own_message(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(commands, "START_S", 0.5)
    quick = replace(ADD.spec.limits, load_s=0.2, call_s=0.3)
    slow = grading()
    slow.spec = replace(slow.spec, limits=quick)
    memcheck, _ = sanitize.sanitize(slow, fake(sleeps=60))
    assert memcheck.outcome is Outcome.CANNOT_GRADE
    assert memcheck.summary == snapshot


@pytest.mark.parametrize(
    ("report", "said", "status", "told"),
    [
        ("", "cannot open the GPU", 0, "cannot open the GPU"),
        ("", "", 0, None),
        (CLEAN, "RuntimeError: no kernel", 1, "RuntimeError: no kernel"),
        ("========= COMPUTE-SANITIZER\n", "", 0, None),
        (CLEAN.replace("ERROR", "Error: driver too old\n========= ERROR"), "", 0, None),
    ],
)
def test_no_answer_is_no_pass(
    fake: Fake, report: str, said: str, status: int, told: str | None, snapshot: SnapshotAssertion
):
    memcheck, racecheck = sanitize.sanitize(grading(), fake(report, said=said, status=status))
    assert memcheck.outcome is racecheck.outcome is Outcome.CANNOT_GRADE
    assert memcheck.summary == snapshot
    if told:
        assert memcheck.summary.endswith(f": {told}")


def test_a_kernel_that_does_not_load_is_not_run(fake: Fake, tmp_path: Path):
    broken = grading()
    broken.steps["load"] = LOADED.model_copy(
        update={"outcome": Outcome.FAIL, "failure": Failure(kind="syntax", message="no")}
    )
    found = sanitize.sanitize(broken, fake())
    assert {one.outcome for one in found} == {Outcome.NOT_RUN}
    assert not (tmp_path / "seen/commands").exists()


def test_a_stub_is_not_run(fake: Fake):
    stub = grading()
    stub.steps["correctness"] = LOADED.model_copy(
        update={"name": "correctness", "outcome": Outcome.NOT_STARTED}
    )
    assert {one.outcome for one in sanitize.sanitize(stub, fake())} == {Outcome.NOT_RUN}


@pytest.mark.parametrize("name", [n for n in EXERCISES if n[0] == "0"])
def test_the_worker_finds_the_arguments_as_they_were_drawn(name: str, fake: Fake, tmp_path: Path):
    exercise = EXERCISES[name]
    axes = len(exercise.spec.largest)
    shape = (7,) if axes == 1 else (3, 7, 5)[:axes]
    case = Case(shape, exercise.spec.dtypes[0], pad=2 * exercise.spec.strided, offset=1, seed=3)
    sanitize.sanitize(grading(exercise, case=case), fake())
    folder = tmp_path / "seen/memcheck"
    call = json.loads((folder / "call.json").read_text())
    drawn = exercise.spec.inputs(case, CaseDraw(case))
    assert [a["name"] for a in call["arguments"]] == [a.name for a in exercise.spec.arguments]
    for argument in call["arguments"]:
        if "value" in argument:
            assert argument["value"] == drawn[argument["name"]]
            continue
        tensor = single_call.tensor_of(folder, argument, "cpu")
        end = tensor.storage_offset() + 1
        end += sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        assert tensor.untyped_storage().nbytes() == end * tensor.element_size(), "exactly as large"
        if argument["name"] in drawn:
            expected = drawn[argument["name"]]
            assert tensor.stride() == expected.stride()
            assert torch.equal(tensor, expected)
    assert (folder / "kernel.py").read_bytes() == exercise.solution.read_bytes()


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=str)
def test_the_small_case_has_several_blocks_and_an_odd_tail(exercise: Exercise):
    case = sanitize.small_case(exercise.spec)
    assert 1025 <= case.elements <= 100_000
    assert case.shape[-1] % 2
    assert not case.offset


def test_without_a_fitting_edge_the_counted_case_is_taken():
    spec = replace(ADD.spec, edges=(Case((3,), "float32"), Case((2048,), "float32")))
    assert sanitize.small_case(spec) == spec.counted


def test_without_a_gpu_it_cannot_be_asked_for(snapshot: SnapshotAssertion):
    with pytest.raises(CannotGrade) as told:
        sanitize.require("cpu")
    assert told.value.exit_code == 3
    assert text_of(told.value) == snapshot


def test_without_the_tool_it_says_where_to_get_it(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(sanitize.toolkit, "find", lambda name: None)
    with pytest.raises(CannotGrade) as told:
        sanitize.require("cuda")
    assert text_of(told.value) == snapshot


def test_a_check_on_the_cpu_ends_before_it_grades(snapshot: SnapshotAssertion):
    request = Request(ADD, ADD.solution, Options(device="cpu", case=CASE, sanitize=True))
    with pytest.raises(CannotGrade) as caught:
        check.run([request], lambda text: None)
    assert text_of(caught.value) == snapshot


DECORATORS = {
    "cuda.jit": True,
    "cuda.jit(device=True)": True,
    "cuda.jit(debug=True, opt=False)": False,
}


@pytest.fixture(scope="module")
def lines_known() -> dict[str, str]:
    """The lineinfo that numba is given for each decorator: one process says it of all."""
    code = """
import sys
from grader.backends.numba import plain_call
from numba import cuda
plain_call.install(lines=True)
for decorator in sys.argv[1:]:
    exec(f"@{decorator}\\ndef f(x): pass")
    print(f.targetoptions["lineinfo"])
"""
    command = [sys.executable, "-c", code, *DECORATORS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(DECORATORS, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize(("decorator", "lineinfo"), DECORATORS.items())
def test_numba_kernels_know_their_lines(
    decorator: str, lineinfo: bool, lines_known: dict[str, str]
):
    assert lines_known[decorator] == str(lineinfo)


# -- with compute-sanitizer and a GPU


@pytest.fixture(scope="module")
def gpu() -> None:
    try:
        sanitize.require("cuda")
    except CannotGrade as lack:
        pytest.skip(lack.message)


def sanitized(exercise: Exercise, kernel: Path) -> Result:
    (result,) = check.run(
        [Request(exercise, kernel, Options(device="cuda", shrink=False, sanitize=True))],
        lambda text: None,
    )
    return result


@pytest.mark.gpu
def test_memcheck_names_the_line_of_a_missing_mask(gpu: None):
    wrong = ADD.solution.parent / "wrong_no_mask.py"
    memcheck, _ = sanitized(ADD, wrong).sanitized
    assert memcheck.outcome is Outcome.FAIL, memcheck.report
    lines = {frame.code.strip() for error in memcheck.errors for frame in error.frames}
    assert lines & {"x = tl.load(x_ptr + offsets)", "y = tl.load(y_ptr + offsets)"}, memcheck.report
    assert any("the end of" in error.message for error in memcheck.errors), memcheck.report


@pytest.mark.gpu
@pytest.mark.parametrize("wrong", ["wrong_no_sync_in_tree.py", "wrong_no_sync_after_store.py"])
def test_racecheck_names_the_line_of_a_missing_barrier(gpu: None, wrong: str):
    result = sanitized(DOT, DOT.solution.parent / wrong)
    _, racecheck = result.sanitized
    assert result.status is Status.FAIL
    assert racecheck.outcome is Outcome.FAIL, racecheck.report
    lines = {frame.code.strip() for error in racecheck.errors for frame in error.frames}
    assert "shared[t] += shared[t + half]" in lines, racecheck.report


@pytest.mark.gpu
@pytest.mark.parametrize("name", [n for n in EXERCISES if n[0] == "0"])
def test_the_solutions_are_clean(gpu: None, name: str):
    found = sanitized(EXERCISES[name], EXERCISES[name].solution).sanitized
    assert [one.outcome for one in found] == [Outcome.PASS] * 2, found
