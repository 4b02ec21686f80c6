"""Bad input: one clear message, the right exit code, and nothing left behind.

The kernel files are in bad/, each with a docstring that says what it does wrong. They are graded by
real judges and workers. One judge grades many, so that each also shows that the judge goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from messages import text_of
from specs import with_spec
from syrupy.assertion import SnapshotAssertion
from waiting import wait_until

from grader import cli
from grader.course.exercise import Exercise
from grader.grading import check, steps
from grader.grading.check import Request
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.result import result_of
from grader.grading.session import Grading
from grader.grading.workers import Bench
from grader.machine import devices
from grader.machine.processes import adopt_orphans
from grader.model.cases import Case
from grader.model.device_report import Origin
from grader.model.errors import BrokenExercise, CannotGrade, GraderError
from grader.model.messages import TensorRef
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, Step, parse_result
from grader.model.verdict import exit_code, status_of
from grader.reports import terminal
from grader.sandbox import commands
from grader.sandbox.arena import Arena, HostArena, view
from grader.sandbox.executor import Call, KernelFailure
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.remote_kernel import RemoteKernel
from grader.worker import confine

pytestmark = pytest.mark.slow

STEPS = steps.every()
BAD = Path(__file__).parents[1] / "bad"
COURSE = Path(__file__).parents[1] / "courses" / "bad"
COPY = Exercise(COURSE / "exercises" / "01_copy")
COPY_NUMBA = Exercise(COURSE / "exercises" / "02_copy_numba")
GOOD = BAD / "copies.py"
NO_WALLS = ",".join(confine.NAMES)


# -- nothing is left behind


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The temporary directory of all that these tests start, which tells their processes apart."""
    folder = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        yield folder


@pytest.fixture(autouse=True)
def _nothing_is_left(home: Path) -> Iterator[None]:
    yield
    assert processes(home) == []
    assert list(home.iterdir()) == []


def processes(home: Path) -> list[str]:
    """A line about each process that has to do with this directory."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            name = (folder / "comm").read_text().strip()
            arguments = (folder / "cmdline").read_bytes()
            traces = [arguments, (folder / "environ").read_bytes(), os.readlink(folder / "cwd")]
        except OSError:
            continue  # it has just ended
        if any(str(home) in (t if isinstance(t, str) else t.decode("latin1")) for t in traces):
            found.append(f"{folder.name} {name} {arguments.decode('latin1')}")
    return found


# -- kernel files that are graded


@dataclass(frozen=True)
class Bad:
    """A kernel file, the step that fails and the kind of failure.

    `lines` are the numbers of the learner's lines, outermost first; `case` is set where the message
    depends on the case. The golden file holds the message and the hint.
    """

    file: str
    step: str
    kind: str
    lines: tuple[int, ...] = ()
    case: str | None = None

    @property
    def only(self) -> Case | None:
        return Case.parse(self.case) if self.case else None


LOAD, CORRECTNESS = "load", "correctness"

TRITON = (
    Bad("empty.py", LOAD, "empty"),
    Bad("launches_nothing.py", CORRECTNESS, "never_written", case="2x3,float32"),
    Bad("syntax_error.txt", LOAD, "syntax", lines=(3,)),
    Bad("binary.py", LOAD, "syntax"),
    Bad("imports_missing.py", LOAD, "import", lines=(3,)),
    Bad("imports_neighbour.py", LOAD, "import", lines=(3,)),
    Bad("entry_misspelt.py", LOAD, "missing_entry"),
    Bad("entry_missing.py", LOAD, "missing_entry"),
    Bad("entry_is_a_number.py", LOAD, "not_callable"),
    Bad("entry_is_jitted.py", LOAD, "not_callable"),
    Bad("three_parameters.py", LOAD, "parameters"),
    Bad("raises_at_import.py", LOAD, "exception", lines=(3,)),
    Bad("loops_at_import.py", LOAD, "timeout"),
    Bad("exits_at_import.py", LOAD, "exit", lines=(5,)),
    Bad("dies_at_import.py", LOAD, "exit"),
    Bad("crashes_at_import.py", LOAD, "crash"),
    Bad("raises.py", CORRECTNESS, "exception", lines=(9, 5)),
    # Not "not started": that is what a `raise NotImplementedError` of the file itself says.
    Bad("library_lacks_it.py", CORRECTNESS, "exception", lines=(7,)),
    Bad("imitates_a_report.py", CORRECTNESS, "exception", lines=(12,)),
    Bad("raises_nonsense.py", CORRECTNESS, "exception", lines=(10,)),
    Bad("recurses.py", CORRECTNESS, "exception", lines=(5,) * 20),
    Bad("not_constexpr.py", CORRECTNESS, "compile", lines=(14, 9)),
    Bad("not_jitted.py", CORRECTNESS, "exception", lines=(12,)),
    Bad("loops.py", CORRECTNESS, "timeout"),
    Bad("stops_itself.py", CORRECTNESS, "timeout"),
    Bad("reads_address_0.py", CORRECTNESS, "crash"),
    Bad("reads_by_address.py", CORRECTNESS, "crash"),
    Bad("aborts.py", CORRECTNESS, "crash"),
    Bad("ends_process.py", CORRECTNESS, "exit"),
    Bad("exits.py", CORRECTNESS, "exit", lines=(7,)),
    Bad("allocates_100_gb.py", CORRECTNESS, "out_of_memory", lines=(7,)),
    Bad("allocates_100_gb_in_python.py", CORRECTNESS, "out_of_memory", lines=(5,)),
    Bad("writes_float32.py", CORRECTNESS, "out_of_bounds", lines=(19, 14), case="1x2,float16"),
    Bad("transposes.py", CORRECTNESS, "value", case="2x3,float32,seed=3"),
    Bad("has_no_mask.py", CORRECTNESS, "out_of_bounds", lines=(17, 11), case="2x3,float32"),
    Bad("catches.py", CORRECTNESS, "out_of_bounds", lines=(13,), case="1x3,float32"),
    Bad("writes_past_end.py", CORRECTNESS, "stray_write"),
    Bad("writes_before_start.py", CORRECTNESS, "stray_write"),
    Bad("writes_into_padding.py", CORRECTNESS, "stray_write", case="2x3,float16,pad=1"),
    Bad("changes_input.py", CORRECTNESS, "input_changed", case="2x3,float32"),
    Bad("closes_descriptors.py", CORRECTNESS, "protocol"),
    Bad("writes_garbage.py", CORRECTNESS, "protocol"),
    Bad("answers_out_of_turn.py", CORRECTNESS, "protocol"),
    Bad("never_ends_its_line.py", CORRECTNESS, "protocol"),
)
# Where no wall keeps signals in: a kernel file that reaches other processes is told so.
OPEN = (Bad("kills_parent.py", CORRECTNESS, "protocol"),)
NUMBA = (
    Bad("numba_entry_is_jitted.py", LOAD, "not_callable"),
    Bad("numba_raises.py", CORRECTNESS, "exception", lines=(13, 9)),
    Bad("numba_loops.py", CORRECTNESS, "timeout", (8,)),
    Bad("numba_has_no_check.py", CORRECTNESS, "out_of_bounds", lines=(13, 9)),
    Bad("numba_catches.py", CORRECTNESS, "out_of_bounds", lines=(14, 9)),
    Bad("numba_block_too_large.py", CORRECTNESS, "launch_refused", lines=(14,)),
    Bad("numba_does_without_kernel.py", CORRECTNESS, "no_kernel"),
)
# Those that only leave something behind are right; the first shows that the judge is sound still.
RIGHT = (
    *("copies.py", "prints_megabytes.py", "prints_part_of_a_line.py", "writes_files.py"),
    *("leaves_threads.py", "leaves_child.py", "leaves_daemon.py", "launches_by_data.py"),
    *("nests_folders.py", "looks_at_tensors.py"),
)


@dataclass(frozen=True)
class Graded:
    """The results of one judge by the name of the kernel file.

    `survivors` are the processes that a kernel left, seen when the judge had gone on to the next.
    """

    results: dict[str, Result]
    survivors: dict[str, list[str]]


def grade(requests: Sequence[Request], home: Path) -> Graded:
    """Have one judge grade these."""
    survivors: dict[str, list[str]] = {}

    def heard(result: Result) -> None:
        kernel = Path(result.kernel.path).stem
        survivors[kernel] = [line for line in processes(home) if kernel in line]

    results = check.run(requests, print, heard)
    names = [request.kernel.name for request in requests]
    return Graded(dict(zip(names, results, strict=True)), survivors)


def made(file: str, folder: Path) -> Path:
    """The kernel file; those that no editor would keep are written here."""
    contents = {"empty.py": b" \n", "binary.py": b"def copy(x, out):\n    out.copy_(x)\0\n"}
    if file not in contents:
        return BAD / file
    (folder / file).write_bytes(contents[file])
    return folder / file


def everything_below(folder: Path) -> dict[Path, float]:
    """The files and when they were written; what Python compiles them to does not count."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path: path.stat().st_mtime for path in files}


@pytest.fixture(scope="module")
def graded(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    requests = [
        Request(COPY, made(bad.file, home.parent), Options(device="cpu", case=bad.only))
        for bad in TRITON
    ] + [Request(COPY, BAD / file, Options(device="cpu")) for file in RIGHT]
    before = everything_below(COURSE)
    empty = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(empty)
        everything = grade(requests, home)
    assert list(empty.iterdir()) == []
    assert everything_below(COURSE) == before
    return everything


@pytest.fixture(scope="module")
def graded_in_the_open(home: Path) -> Graded:
    """What a machine does that offers no walls."""
    requests = [Request(COPY, BAD / bad.file, Options(device="cpu")) for bad in OPEN]
    outliving = Request(COPY, BAD / "outlives_parent.py", Options(device="cpu"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(commands.WITHOUT, NO_WALLS)
        return grade([*requests, outliving, Request(COPY, GOOD, Options(device="cpu"))], home)


@pytest.fixture(scope="module")
def graded_numba(home: Path) -> Graded:
    requests = [Request(COPY_NUMBA, BAD / bad.file, Options(device="cpu")) for bad in NUMBA]
    right = Request(COPY_NUMBA, BAD / "numba_copies.py", Options(device="cpu", require_speed=True))
    return grade([*requests, right], home)


def ids(bad: Sequence[Bad]) -> list[str]:
    return [one.file for one in bad]


def failed_step(result: Result) -> Step:
    """The one step that failed: those before it passed, those after it were not run."""
    failed = [step for step in result.steps if step.outcome is Outcome.FAIL]
    assert len(failed) == 1
    for step in result.steps[result.steps.index(failed[0]) + 1 :]:
        assert (step.outcome, step.points) == (Outcome.NOT_RUN, 0)
    return failed[0]


def assert_failed(result: Result, bad: Bad) -> str:
    """Compare all but the texts; return these."""
    assert result.status is Status.FAIL
    assert exit_code([result]) == 1
    assert result.points == 0
    step = failed_step(result)
    failure = step.failure
    assert failure is not None
    assert (step.name, failure.kind) == (bad.step, bad.kind)
    assert tuple(frame.line for frame in failure.frames) == bad.lines
    text = (BAD / bad.file).read_text().splitlines() if bad.lines else []
    assert [f.code for f in failure.frames] == [text[n - 1].strip() for n in bad.lines]
    # Without a kernel no case is at fault, but the whole file.
    of_a_case = bad.step == CORRECTNESS and bad.kind != "no_kernel"
    assert bool(failure.case) == bool(failure.replay) == of_a_case
    return text_of(failure)


@pytest.mark.parametrize("bad", TRITON, ids=ids(TRITON))
def test_a_bad_kernel_file_fails_with_its_message(
    graded: Graded, bad: Bad, snapshot: SnapshotAssertion
):
    assert assert_failed(graded.results[bad.file], bad) == snapshot


@pytest.mark.parametrize("bad", OPEN, ids=ids(OPEN))
def test_without_walls_a_bad_kernel_file_fails_with_its_message(
    graded_in_the_open: Graded, bad: Bad, snapshot: SnapshotAssertion
):
    assert assert_failed(graded_in_the_open.results[bad.file], bad) == snapshot


def test_without_walls_whoever_outlives_its_parent_is_ended(graded_in_the_open: Graded):
    outliving = graded_in_the_open.results["outlives_parent.py"]
    failure = failed_step(outliving).failure
    assert failure is not None
    assert (exit_code([outliving]), failure.kind) == (1, "protocol")
    assert graded_in_the_open.survivors["outlives_parent"] == []
    assert exit_code([graded_in_the_open.results[GOOD.name]]) == 0


@pytest.mark.parametrize("bad", NUMBA, ids=ids(NUMBA))
def test_a_bad_numba_kernel_fails_with_its_message(
    graded_numba: Graded, bad: Bad, snapshot: SnapshotAssertion
):
    assert assert_failed(graded_numba.results[bad.file], bad) == snapshot


@pytest.mark.parametrize("file", RIGHT)
def test_what_a_right_kernel_leaves_behind_is_cleared_away(graded: Graded, file: str):
    assert exit_code([graded.results[file]]) == 0
    assert graded.survivors[Path(file).stem] == []


def test_no_line_of_a_learners_text_passes_for_the_reports(graded: Graded):
    result = graded.results["imitates_a_report.py"]
    report = terminal.check_report(result).plain
    theirs = [line for line in report.splitlines() if "10/10" in line or "✔ speed" in line]
    assert theirs == [
        "      | PASS  10/10 points · 3.2 s · seed 1",
        "      |   ✔ speed         great",
    ]
    assert report.count("next: ") == 2
    assert report.count("\nnext: ") == 1


def test_only_the_first_part_of_what_is_printed_is_kept(graded: Graded):
    printed = graded.results["prints_megabytes.py"].output
    assert printed.startswith("first words\ufffd[2J\nxxxx")
    assert printed.endswith("x … (cut)")
    assert len(printed) < 5000


def test_what_is_printed_without_an_end_of_line_is_kept(graded: Graded):
    assert graded.results["prints_part_of_a_line.py"].output.startswith("no end of line")


def test_a_compile_error_is_told_with_the_learners_lines():
    """Triton's front end needs no GPU."""
    code = """
import dataclasses, importlib.util, json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from grader.worker import faults
for file in sys.argv[1:]:
    found = importlib.util.spec_from_file_location("kernel", file)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    try:
        triton.compile(ASTSource(module.copy_kernel, types), GPUTarget("cuda", 80, 32))
    except Exception as error:
        print(json.dumps(dataclasses.asdict(faults.describe(error, file))))
"""
    files = [BAD / "not_constexpr.py", BAD / "not_constexpr_in_helper.py"]
    command = [sys.executable, "-I", "-c", code, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    faults = [json.loads(line) for line in done.stdout.splitlines()]
    for fault in faults:
        assert fault["kind"] == "compile"
        assert fault["message"].startswith("the kernel cannot be compiled: ")
        assert "arange's arguments must be of type tl.constexpr" in fault["message"]
    assert [[line for line, _, _ in fault["frames"]] for fault in faults] == [[9], [14, 9]]


# -- the same on a GPU


ON_GPU = (
    Bad("gpu_loops.py", CORRECTNESS, "timeout", lines=(10,), case="2x3,float32"),
    Bad("gpu_reads_far_away.py", CORRECTNESS, "out_of_bounds", case="2x3,float32"),
    Bad("gpu_allocates.py", CORRECTNESS, "out_of_memory", lines=(7,), case="2x3,float32"),
    Bad("gpu_other_device.py", CORRECTNESS, "exception", lines=(15,), case="2x3,float32"),
    # What is left running belongs to the call: its end is waited for, up to the time limit.
    Bad("gpu_leaves_work_running.py", CORRECTNESS, "timeout", case="2x3,float32"),
)


@pytest.fixture(scope="module")
def graded_on_gpu(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    exercise = exercise_with(
        tmp_path_factory.mktemp("patient"),
        *("spec.py", "load_s=2.0, call_s=2.0", "load_s=60.0, call_s=10.0"),
    )
    requests = [
        Request(exercise, BAD / bad.file, Options(device="cuda", case=bad.only)) for bad in ON_GPU
    ]
    compiling = Request(
        exercise, BAD / "not_constexpr.py", Options(device="cuda", case=Case.parse("2x3,float32"))
    )
    return grade([*requests, compiling], home)


@pytest.mark.gpu
@pytest.mark.parametrize("bad", ON_GPU, ids=ids(ON_GPU))
def test_a_bad_kernel_file_fails_on_a_gpu_with_its_message(
    graded_on_gpu: Graded, bad: Bad, snapshot: SnapshotAssertion
):
    assert assert_failed(graded_on_gpu.results[bad.file], bad) == snapshot


@pytest.mark.gpu
def test_a_compile_error_on_a_gpu_is_told_with_the_learners_lines(graded_on_gpu: Graded):
    """And it is told after kernels that hung and crashed on the same GPU."""
    failure = failed_step(graded_on_gpu.results["not_constexpr.py"]).failure
    assert failure is not None
    assert failure.kind == "compile"
    assert "arange's arguments must be of type tl.constexpr" in failure.message
    assert [frame.line for frame in failure.frames] == [14, 9]


@pytest.mark.gpu
def test_a_gpu_that_is_full_is_not_the_learners_fault():
    # In a process of its own: this one's context would make it another program to later tests.
    fill = """
import torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - (64 << 20), dtype=torch.uint8, device="cuda")
print("full", flush=True)
input()
"""
    filler = subprocess.Popen(
        [sys.executable, "-c", fill], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with filler:
        assert filler.stdout is not None
        assert filler.stdout.readline() == "full\n"
        (result,) = check.run([Request(COPY, GOOD, Options(device="cuda"))], print)
        filler.kill()
    assert exit_code([result]) == 3
    assert result.steps[0].outcome is Outcome.CANNOT_GRADE


# -- commands that ask for what is not there


def run_cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it said on standard error; it prints nothing else."""
    code = cli.main(arguments)
    printed = capsys.readouterr()
    assert printed.out == ""
    return code, printed.err


@pytest.fixture
def _in_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_COURSE", str(COURSE))


@pytest.mark.usefixtures("_in_the_course")
@pytest.mark.parametrize(
    "arguments",
    [["01_cpoy"], ["01_copy", "--kernel", "nowhere.py"], ["01_copy", "--kernel", str(BAD)]],
    ids=["unknown exercise", "missing kernel file", "folder"],
)
def test_what_does_not_exist_is_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], snapshot: SnapshotAssertion
):
    code, printed = run_cli(capsys, "check", *arguments)
    assert code == 2
    assert printed.replace(str(BAD), "FOLDER") == snapshot


def test_many_slow_calls_are_stopped_together(
    home: Path, tmp_path: Path, snapshot: SnapshotAssertion
):
    """A check makes a hundred: with half a minute for each, a class's CI would wait for hours."""
    limits = ("call_s=2.0", "call_s=60.0, check_s=3.0")
    exercise = exercise_with(tmp_path, "spec.py", *limits)
    graded = grade([Request(exercise, BAD / "dawdles.py", Options(device="cpu"))], home)
    bad = Bad("dawdles.py", CORRECTNESS, "timeout")
    assert assert_failed(graded.results["dawdles.py"], bad) == snapshot


def test_a_learner_whose_kernel_file_is_gone_reads_how_to_start(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    """The learner has no solutions to make a stub from."""
    exercise = exercise_with(tmp_path, "spec.py", "SPEC =", "SPEC =")
    exercise.kernel.unlink()
    with pytest.raises(GraderError) as caught:
        check.run([Request(exercise, exercise.kernel)], print)
    assert caught.value.exit_code == 2
    assert text_of(caught.value).replace(str(tmp_path), "COURSE") == snapshot


# -- the command as a process


def start_cli(course: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """`grader` with a process group of its own, as a shell gives it one, that Ctrl-C reaches.

    The suite itself may run where Ctrl-C is ignored, in the background of a script for instance.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "grader.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"GRADER_COURSE": str(course)},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def is_importing(home: Path) -> bool:
    return bool(list(home.iterdir()))


def has_called(home: Path) -> bool:
    return bool(list(home.glob("grader-worker-*/home/called")))


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`grader check` of a kernel that never returns, with no time limit that matters here."""
    exercise_with(tmp_path, "spec.py", "call_s=2.0", "call_s=600.0")
    kernel = BAD / "waits.py"
    arguments = ("check", "01_other", "--kernel", kernel, "--device", "cpu")
    with start_cli(tmp_path, *arguments) as command:
        try:
            yield command
        finally:
            command.kill()  # or leaving `with` would wait for it


@pytest.mark.parametrize("moment", [is_importing, has_called])
def test_ctrl_c_ends_everything(
    waiting: subprocess.Popen[str], moment: Callable[[Path], bool], home: Path
):
    wait_until(lambda: moment(home))
    os.killpg(waiting.pid, signal.SIGINT)  # as a terminal does
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert processes(home) == []


def test_a_killed_command_takes_everything_with_it(waiting: subprocess.Popen[str], home: Path):
    wait_until(lambda: has_called(home))
    waiting.kill()
    waiting.wait()
    wait_until(lambda: not processes(home))


def test_a_killed_judge_is_no_pass(
    home: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setenv(commands.WITHOUT, NO_WALLS)
    with pytest.raises(GraderError) as caught:
        check.run([Request(COPY, BAD / "kills_judge.py", Options(device="cpu"))], print)
    assert caught.value.exit_code == 4
    assert text_of(caught.value) == snapshot
    wait_until(lambda: not processes(home))


# -- a broken exercise


def exercise_with(tmp_path: Path, file: str, old: str, new: str) -> Exercise:
    """The copying exercise with something else in one of its files."""
    folder = tmp_path / "exercises" / "01_other"
    folder.mkdir(parents=True)
    for source in COPY.folder.glob("*.py"):
        text = source.read_text()
        if source.name == file:
            assert old in text
            text = text.replace(old, new)
        (folder / source.name).write_text(text)
    return Exercise(folder)


def test_a_spec_that_raises_is_not_the_learners_fault(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
):
    exercise_with(tmp_path, "spec.py", "SPEC =", "SPEC = 1 / 0 or")
    monkeypatch.setenv("GRADER_COURSE", str(tmp_path))
    code, printed = run_cli(capsys, "check", "01_other", "--kernel", str(GOOD))
    assert code == 4
    assert printed.replace(str(tmp_path), "COURSE") == snapshot


def test_a_spec_that_exits_is_no_pass(tmp_path: Path, snapshot: SnapshotAssertion):
    exercise = exercise_with(tmp_path, "spec.py", "SPEC =", "raise SystemExit(0)\nSPEC =")
    with pytest.raises(BrokenExercise) as caught:
        check.run([Request(exercise, GOOD)], print)
    assert text_of(caught.value).replace(str(tmp_path), "COURSE") == snapshot


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"x": draw.tensor(case.shape)}', "draw.tensor(case.shape, loudness=2)"),
        ('{"out": inputs["x"]}', '{"out": inputs["y"]}'),
        ('{"out": inputs["x"]}', "{}"),
    ],
    ids=["inputs", "reference", "no answer"],
)
def test_functions_of_a_spec_that_are_wrong_are_not_the_learners_fault(
    tmp_path: Path, old: str, new: str, snapshot: SnapshotAssertion
):
    exercise = exercise_with(tmp_path, "spec.py", old, new)
    grading = Grading(exercise, GOOD, Options(seed=1, pretend="zeros"), ForkServers())
    run(grading, STEPS[LOAD])
    step = run(grading, STEPS[CORRECTNESS])
    grading.close()
    assert exit_code([result_of(grading)]) == 4
    assert text_of(step.failure) == snapshot


def test_properties_that_cannot_be_imported_are_not_the_learners_fault(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    """And standard output holds the result alone, whatever the kernel prints."""
    exercise_with(tmp_path, "test_kernel.py", "from hypothesis", "from hypotheses")
    kernel = BAD / "prints_megabytes.py"
    with start_cli(
        *(tmp_path, "check", "01_other", "--kernel", kernel, "--device", "cpu", "--json")
    ) as command:
        out, err = command.communicate()
    assert command.returncode == 4
    (result,) = [parse_result(line) for line in out.splitlines()]
    step = next(step for step in result.steps if step.name == "properties")
    assert text_of(step.failure) == snapshot
    assert f"printed by {kernel}:\n| first words" in err
    assert len(err) < 5000


# -- machines that cannot grade


def test_speed_that_is_required_needs_a_gpu(graded_numba: Graded):
    result = graded_numba.results["numba_copies.py"]
    assert exit_code([result]) == 3
    *others, speed = result.steps
    assert {step.outcome for step in others} == {Outcome.PASS}
    assert speed.outcome is Outcome.CANNOT_GRADE
    assert speed.summary == "needs a CUDA GPU: this check was simulated on the CPU"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let torch see this GPU."""
    import torch

    def see(built: str | None = "13", available: bool = True, capability: object = (9, 0)) -> None:
        monkeypatch.setattr(torch.version, "cuda", built)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
        for name in ("cuda", "cuda.bindings"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))

    return see


@pytest.mark.parametrize(
    "seen",
    [{"built": None}, {"available": False}, {"capability": (7, 0)}],
    ids=["built without", "none", "too old"],
)
def test_without_a_gpu_that_fits_nothing_runs_on_cuda(
    gpu: Callable[..., None], seen: dict[str, object], snapshot: SnapshotAssertion
):
    gpu(**seen)
    with pytest.raises(CannotGrade) as caught:
        devices.choose_device("cuda")
    assert caught.value.exit_code == 3
    assert text_of(caught.value) == snapshot
    assert devices.choose_device("auto") == "cpu"


def test_a_gpu_that_fits_is_chosen(gpu: Callable[..., None]):
    gpu()
    assert [devices.choose_device(wanted) for wanted in ("auto", "cuda", "cpu")] == [
        *("cuda", "cuda", "cpu")
    ]


def test_without_bindings_a_message_names_what_to_install(
    gpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    gpu()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(CannotGrade) as caught:
        devices.choose_device("cuda")
    assert text_of(caught.value) == snapshot


def test_a_gpu_that_others_fill_is_not_the_learners_fault(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    import torch

    class DriverError(Exception):
        pass

    def create(size: int) -> None:
        raise DriverError("cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY")

    monkeypatch.setattr("grader.machine.DriverError", DriverError)
    monkeypatch.setattr("grader.machine.SharedMemory", SimpleNamespace(create=create))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (100 << 20, 80_000 << 20))
    grading = Grading(COPY, GOOD, Options(seed=1, device="cuda", pretend="zeros"), ForkServers())
    step = run(grading, STEPS[LOAD])
    assert status_of([step], ["load"], ()) is Status.CANNOT_GRADE
    assert text_of(step.failure) == snapshot


@pytest.mark.parametrize(
    "error",
    ["CUDA error: out of memory\nCompile with ...", "device is busy"],
    ids=["two lines", "one line"],
)
def test_a_gpu_that_refuses_is_not_the_learners_fault(
    monkeypatch: pytest.MonkeyPatch, error: str, snapshot: SnapshotAssertion
):
    import torch

    def refuse() -> None:
        raise RuntimeError(error)

    monkeypatch.setitem(
        sys.modules, "grader.machine.gpu_memory", SimpleNamespace(DriverError=1, SharedMemory=1)
    )
    monkeypatch.setattr(torch.cuda, "synchronize", refuse)
    grading = Grading(COPY, GOOD, Options(seed=1, device="cuda", pretend="zeros"), ForkServers())
    step = run(grading, STEPS[LOAD])
    assert status_of([step], ["load"], ()) is Status.CANNOT_GRADE
    assert text_of(step.failure) == snapshot


def test_a_judge_without_gpu_memory_is_not_the_exercises_fault(snapshot: SnapshotAssertion):
    import torch

    def full(case: object, draw: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    copy = with_spec(COPY, replace(COPY.spec, inputs=full))
    grading = Grading(copy, GOOD, Options(seed=1, pretend="zeros"), ForkServers())
    run(grading, STEPS[LOAD])
    step = run(grading, STEPS[CORRECTNESS])
    grading.close()
    assert status_of([*grading.steps.values()], [LOAD, CORRECTNESS], ()) is Status.CANNOT_GRADE
    assert step.summary == snapshot


# -- kernels that are wrong now and then


class NowAndThen:
    """Copies, but for the calls that `fails` names by their number, which end in a failure."""

    def __init__(self, arena: Arena, fails: Callable[[int], bool], kind: str) -> None:
        self.arena, self.fails, self.kind, self.calls = arena, fails, kind, 0

    def load(self) -> None:
        pass

    def call(self, calls: Sequence[Call], *, other_order: bool = False) -> None:
        self.calls += 1
        if self.fails(self.calls):
            raise KernelFailure(Failure(kind=self.kind, message="it failed"))
        x, out = calls[0]
        assert isinstance(x, TensorRef)
        assert isinstance(out, TensorRef)
        view(self.arena.memory, out).copy_(view(self.arena.memory, x))

    def without_kernels(self, call: Call) -> bool:
        """What it does is taken for the work of kernels."""
        return True

    def count(self, call: Call) -> Mapping[str, int]:
        """Nothing here counts."""
        return {}

    def origins(self) -> tuple[Origin, ...]:
        return ()

    def close(self) -> str:
        return ""


def correctness_of(fails: Callable[[int], bool], kind: str) -> tuple[Step, int]:
    """The step correctness of such a kernel, and how many calls it took."""
    adopt_orphans()  # as a judge does: what is ended while it starts may leave a child
    grading = Grading(COPY, GOOD, Options(seed=1), ForkServers())
    arena = HostArena(1 << 24)
    kernel = NowAndThen(arena, fails, kind)
    grading.workers.benches["cpu"] = Bench(arena, kernel, RemoteKernel(COPY.spec, kernel, arena))
    run(grading, STEPS[LOAD])
    step = run(grading, STEPS[CORRECTNESS])
    grading.close()
    assert step.outcome is Outcome.FAIL
    assert step.failure is not None
    assert step.failure.kind == kind
    return step, kernel.calls


def test_a_drawn_case_that_takes_too_long_is_tried_once():
    """Each further try would cost the whole time limit."""
    after_the_edges = len(COPY.spec.edges) + 1
    _, calls = correctness_of(lambda call: call >= after_the_edges, "timeout")
    assert calls == after_the_edges


def test_a_failure_that_does_not_come_again_counts():
    step, _ = correctness_of(lambda call: call == len(COPY.spec.edges) + 2, "exception")
    assert step.failure is not None
    assert step.failure.case is not None
