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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from specs import with_spec

from grader import cli
from grader.course.catalog import Exercise
from grader.grading import check, steps
from grader.grading.check import Request
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.result import result_of
from grader.grading.session import Grading
from grader.grading.workers import Bench
from grader.machine import devices
from grader.model.errors import BrokenExercise, CannotGrade, GraderError
from grader.model.exercise import Case
from grader.model.messages import TensorRef
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, Step, parse_result
from grader.model.verdict import exit_code, status_of
from grader.sandbox import fork_server
from grader.sandbox.arena import Arena, HostArena, view
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.remote_kernel import RemoteKernel
from grader.sandbox.worker_link import Call, KernelFailure
from grader.worker import confine

pytestmark = pytest.mark.slow

STEPS = steps.every()
BAD = Path(__file__).parents[1] / "bad"
COURSE = Path(__file__).parents[1] / "courses" / "bad"
COPY = Exercise(COURSE / "exercises" / "01_copy")
COPY_NUMBA = Exercise(COURSE / "exercises" / "02_copy_numba")
GOOD = BAD / "copies.py"
NO_WALLS = ",".join(confine.NAMES)

NOT_YOURS = "Tell whoever wrote the exercise; your kernel is not at fault."


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


def wait_until(happens: Callable[[], bool], limit_s: float = 20.0) -> None:
    deadline = time.monotonic() + limit_s
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


# -- kernel files that are graded: what is told


@dataclass(frozen=True)
class Bad:
    """A kernel file, the step that fails and everything that its learner is told.

    `lines` are the numbers of the learner's lines, outermost first; `case` is set where the message
    depends on the case.
    """

    file: str
    step: str
    kind: str
    message: str
    hint: str | None = None
    lines: tuple[int, ...] = ()
    case: str | None = None

    @property
    def only(self) -> Case | None:
        return Case.parse(self.case) if self.case else None


LOAD, CORRECTNESS = "load", "correctness"
RETURNS = "A kernel returns; it does not end the process. Ending it counts as a failure."
LOOPS = (
    "Look for a loop that never ends, a kernel that waits for itself, or far more blocks than the "
    "work needs."
)
BOUNDS = (
    "Most crashes are accesses out of bounds: check each index, and the mask or `if` that guards "
    "it."
)
MASK = "Each access needs a mask that says which of its indices lie inside the array."
IF = "Each access needs an `if` that checks that its index lies inside the array."
PACKAGES = "A kernel can import torch, triton, numba and numpy only, and no other file of yours."
MEMORY = "The kernel may allocate only a little beyond its arguments."
LINE = "the kernel broke the connection from its process to the grader: "
FILES = "A kernel file must leave the open files of its process alone."
TOO_FAR = "Is a mask or `if` missing, or does it allow one element too many?"
SYNTAX = "Python stops at the first line that it cannot read; look at the line before, too."

TRITON = (
    Bad(
        "empty.py",
        *(LOAD, "empty", "the kernel file is empty"),
        hint="Take empty.py again from your last commit, or begin with the course's stub.",
    ),
    Bad(
        "launches_nothing.py",
        *(CORRECTNESS, "never_written", "out[0, 0] was never written"),
        hint="Do the programs cover the whole output, and does the mask let the last write? "
        "An output begins as NaN, which stays NaN whatever is added to it.",
        case="2x3,float32",
    ),
    Bad(
        "syntax_error.txt",
        *(LOAD, "syntax", "Python cannot read the file: expected ':' (line 3)", SYNTAX),
        lines=(3,),
    ),
    Bad(
        "binary.py",
        *(LOAD, "syntax"),
        "Python cannot read the file: source code string cannot contain null bytes",
        SYNTAX,
    ),
    Bad(
        "imports_missing.py",
        *(LOAD, "import", "ModuleNotFoundError: No module named 'no_such_package'", PACKAGES),
        lines=(3,),
    ),
    Bad(
        "imports_neighbour.py",
        *(LOAD, "import", "ModuleNotFoundError: No module named 'copies'", PACKAGES),
        lines=(3,),
    ),
    Bad(
        "entry_misspelt.py",
        *(LOAD, "missing_entry"),
        "The file defines no function copy(x, out). There is cpoy: rename it.",
    ),
    Bad("entry_missing.py", LOAD, "missing_entry", "The file defines no function copy(x, out)."),
    Bad(
        "entry_is_a_number.py",
        *(LOAD, "not_callable"),
        "copy is of type int and cannot be called. Define it as: def copy(x, out):",
    ),
    Bad(
        "entry_is_jitted.py",
        *(LOAD, "not_callable"),
        "copy is a kernel, which needs a grid. Give it another name, and launch it in "
        "def copy(x, out): the grader calls that function.",
    ),
    Bad(
        "three_parameters.py",
        *(LOAD, "parameters"),
        "copy(x, out, n) cannot take the 2 arguments of the grader's call. "
        "Write: def copy(x, out):",
    ),
    Bad("raises_at_import.py", LOAD, "exception", "KeyError: 'float16'", lines=(3,)),
    Bad(
        "loops_at_import.py",
        *(LOAD, "timeout", "importing the file took longer than 2 s and was stopped", LOOPS),
    ),
    Bad(
        "exits_at_import.py",
        *(LOAD, "exit", "the code called sys.exit(0)", RETURNS),
        lines=(5,),
    ),
    Bad(
        "dies_at_import.py",
        *(LOAD, "exit"),
        "the kernel's process ended itself with exit status 0 while the file was imported",
        RETURNS,
    ),
    Bad(
        "crashes_at_import.py",
        *(LOAD, "crash"),
        "the kernel's process was ended by SIGSEGV (it touched memory that it does "
        "not own) while the file was imported",
        BOUNDS,
    ),
    Bad(
        "raises.py",
        *(CORRECTNESS, "exception"),
        "RuntimeError: shape '[7, -1]' is invalid for input of size 1",
        lines=(9, 5),
    ),
    # Not "not started": that is what a `raise NotImplementedError` of the file itself says.
    Bad(
        "library_lacks_it.py",
        *(CORRECTNESS, "exception"),
        "NotImplementedError: Cannot copy out of meta tensor; no data!",
        lines=(7,),
    ),
    Bad("raises_nonsense.py", CORRECTNESS, "exception", "Nonsense", lines=(10,)),
    Bad(
        "recurses.py",
        *(CORRECTNESS, "exception", "RecursionError: maximum recursion depth exceeded"),
        lines=(5,) * 20,
    ),
    Bad(
        "not_constexpr.py",
        *(CORRECTNESS, "exception"),
        "ValueError: arange's arguments must be of type tl.constexpr",
        lines=(14, 9),
    ),
    Bad(
        "not_jitted.py",
        *(CORRECTNESS, "exception", "TypeError: 'function' object is not subscriptable"),
        "Only a function with @triton.jit above it is a kernel, which kernel[grid](...) launches; "
        "any other is called with () alone.",
        lines=(12,),
    ),
    Bad(
        "loops.py",
        *(CORRECTNESS, "timeout", "one call took longer than 2 s and was stopped", LOOPS),
    ),
    Bad(
        "stops_itself.py",
        *(CORRECTNESS, "timeout", "one call took longer than 2 s and was stopped", LOOPS),
    ),
    Bad(
        "reads_address_0.py",
        *(CORRECTNESS, "crash"),
        "the kernel's process was ended by SIGSEGV (it touched memory that it does "
        "not own) during a call",
        BOUNDS,
    ),
    Bad(
        "aborts.py",
        *(CORRECTNESS, "crash"),
        "the kernel's process was ended by SIGABRT (the C library or the code itself "
        "gave up) during a call",
        BOUNDS,
    ),
    Bad(
        "ends_process.py",
        *(CORRECTNESS, "exit"),
        "the kernel's process ended itself with exit status 0 during a call",
        RETURNS,
    ),
    Bad(
        "exits.py",
        *(CORRECTNESS, "exit", "the code called sys.exit(0)", RETURNS),
        lines=(7,),
    ),
    Bad(
        "allocates_100_gb.py",
        *(CORRECTNESS, "out_of_memory"),
        "the kernel asked for more memory than it gets: tried to allocate 100000000000 bytes",
        MEMORY,
        lines=(7,),
    ),
    Bad(
        "allocates_100_gb_in_python.py",
        *(CORRECTNESS, "out_of_memory", "the kernel asked for more memory than it gets", MEMORY),
        lines=(5,),
    ),
    Bad(
        "writes_float32.py",
        *(CORRECTNESS, "out_of_bounds"),
        "store writes 1 element past the end of out (out spans 1 element); 1 of 2 active lanes "
        "are outside: is the mask missing?",
        MASK,
        lines=(19, 14),
        case="1x2,float16",
    ),
    Bad(
        "transposes.py",
        *(CORRECTNESS, "value"),
        "out[0, 2] is wrong",
        case="2x3,float32,seed=3",
    ),
    Bad(
        "has_no_mask.py",
        *(CORRECTNESS, "out_of_bounds"),
        "load reads 1 element past the end of x (x spans 6 elements); 1 of 4 active lanes are "
        "outside: is the mask missing?",
        MASK,
        lines=(17, 11),
        case="2x3,float32",
    ),
    Bad(
        "catches.py",
        *(CORRECTNESS, "out_of_bounds"),
        "load reads 1 element past the end of x (x spans 3 elements); 1 of 4 active lanes are "
        "outside: is the mask missing?",
        MASK,
        lines=(13,),
        case="1x3,float32",
    ),
    Bad(
        "writes_past_end.py",
        *(CORRECTNESS, "stray_write"),
        "the kernel wrote out of bounds: 1 element past the end of out",
        TOO_FAR,
    ),
    Bad(
        "writes_before_start.py",
        *(CORRECTNESS, "stray_write"),
        "the kernel wrote out of bounds: 1 element before the start of out",
        TOO_FAR,
    ),
    Bad(
        "writes_into_padding.py",
        *(CORRECTNESS, "stray_write"),
        "the kernel wrote between the rows of out: 1 element past the end of row 0",
        "The rows of out are 6 elements apart and 3 long: is the mask missing, or another stride "
        "used?",
        case="2x3,float16,pad=1",
    ),
    Bad(
        "changes_input.py",
        *(CORRECTNESS, "input_changed"),
        "the kernel changed its input x at element 5",
        "Inputs must be as they were; write only to the outputs.",
        case="2x3,float32",
    ),
    Bad("closes_descriptors.py", CORRECTNESS, "protocol", LINE + "it was closed", FILES),
    Bad("writes_garbage.py", CORRECTNESS, "protocol", LINE + "a line that is not JSON", FILES),
    Bad(
        "answers_out_of_turn.py",
        *(CORRECTNESS, "protocol", LINE + "an answer to another message", FILES),
    ),
    Bad(
        "never_ends_its_line.py",
        *(CORRECTNESS, "protocol", LINE + "a line longer than 1048576 bytes", FILES),
    ),
)
# Where no wall keeps signals in: a kernel file that reaches other processes is told so.
OPEN = (
    Bad(
        "kills_parent.py",
        *(CORRECTNESS, "protocol"),
        "the parent of the kernel's process was killed during a call",
        "A kernel file must leave other processes alone.",
    ),
)
NUMBA = (
    Bad(
        "numba_entry_is_jitted.py",
        *(LOAD, "not_callable"),
        "copy is a kernel, which needs a grid. Give it another name, and launch it in "
        "def copy(x, out): the grader calls that function.",
    ),
    Bad(
        "numba_raises.py",
        *(CORRECTNESS, "exception"),
        "ZeroDivisionError: integer division or modulo by zero",
        lines=(13, 9),
    ),
    Bad(
        "numba_loops.py",
        *(CORRECTNESS, "timeout", "one call took longer than 2 s and was stopped", LOOPS),
    ),
    Bad(
        "numba_has_no_check.py",
        *(CORRECTNESS, "out_of_bounds"),
        "thread 1 of block 0 uses index 1 of x, which has 1 element: is a bounds check missing?",
        IF,
        lines=(13, 9),
    ),
    Bad(
        "numba_catches.py",
        *(CORRECTNESS, "out_of_bounds"),
        "thread 1 of block 0 uses index 1 of x, which has 1 element: is a bounds check missing?",
        IF,
        lines=(14, 9),
    ),
    Bad(
        "numba_block_too_large.py",
        *(CORRECTNESS, "launch_refused"),
        "a block of 2048 threads is too large: a GPU runs at most 1024",
        "A launch is kernel[blocks, threads](...): at least one block, 1 to 1,024 threads in each, "
        "and at most 48 KiB of shared memory.",
        lines=(14,),
    ),
    Bad(
        "numba_does_without_kernel.py",
        *(CORRECTNESS, "no_kernel"),
        "the answer does not come from a kernel: with the launches of all kernels switched off, "
        "100 % of out came out right all the same",
        "Let a kernel of yours (@cuda.jit) compute it and write it; torch and numpy may prepare "
        "memory.",
    ),
)
# Those that only leave something behind are right; the first shows that the judge is sound still.
RIGHT = (
    *("copies.py", "prints_megabytes.py", "prints_part_of_a_line.py", "writes_files.py"),
    *("leaves_threads.py", "leaves_child.py", "leaves_daemon.py", "launches_by_data.py"),
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
        patch.setenv(fork_server.WITHOUT, NO_WALLS)
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


def assert_told(result: Result, bad: Bad) -> None:
    assert result.status is Status.FAIL
    assert exit_code([result]) == 1
    assert result.points == 0
    step = failed_step(result)
    failure = step.failure
    assert failure is not None
    assert (step.name, failure.kind) == (bad.step, bad.kind)
    assert failure.message == bad.message
    assert failure.hint == bad.hint
    assert tuple(frame.line for frame in failure.frames) == bad.lines
    text = (BAD / bad.file).read_text().splitlines() if bad.lines else []
    assert [f.code for f in failure.frames] == [text[n - 1].strip() for n in bad.lines]
    # Without a kernel no case is at fault, but the whole file.
    of_a_case = bad.step == CORRECTNESS and bad.kind != "no_kernel"
    assert bool(failure.case) == bool(failure.replay) == of_a_case


@pytest.mark.parametrize("bad", TRITON, ids=ids(TRITON))
def test_a_bad_kernel_file_is_told_what_is_wrong(graded: Graded, bad: Bad):
    assert_told(graded.results[bad.file], bad)


@pytest.mark.parametrize("bad", OPEN, ids=ids(OPEN))
def test_without_walls_a_bad_kernel_file_is_told_what_is_wrong(
    graded_in_the_open: Graded, bad: Bad
):
    assert_told(graded_in_the_open.results[bad.file], bad)


def test_without_walls_whoever_outlives_its_parent_is_ended(graded_in_the_open: Graded):
    assert exit_code([graded_in_the_open.results["outlives_parent.py"]]) == 0
    assert graded_in_the_open.survivors["outlives_parent"] == []
    assert exit_code([graded_in_the_open.results[GOOD.name]]) == 0


@pytest.mark.parametrize("bad", NUMBA, ids=ids(NUMBA))
def test_a_bad_numba_kernel_is_told_what_is_wrong(graded_numba: Graded, bad: Bad):
    assert_told(graded_numba.results[bad.file], bad)


@pytest.mark.parametrize("file", RIGHT)
def test_what_a_right_kernel_leaves_behind_is_cleared_away(graded: Graded, file: str):
    assert exit_code([graded.results[file]]) == 0
    assert graded.survivors[Path(file).stem] == []


def test_only_the_first_part_of_what_is_printed_is_kept(graded: Graded):
    printed = graded.results["prints_megabytes.py"].output
    assert printed.startswith("first words\ufffd[2J\nxxxx")
    assert printed.endswith("x … (cut)")
    assert len(printed) < 5000


def test_what_is_printed_without_an_end_of_line_is_kept(graded: Graded):
    assert graded.results["prints_part_of_a_line.py"].output.startswith("no end of line")


def test_a_compile_error_is_told_with_the_learners_lines():
    """Triton's front end needs no GPU, only a process that has not asked for its interpreter."""
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
    Bad(
        "gpu_loops.py",
        *(CORRECTNESS, "timeout", "one call took longer than 10 s and was stopped", LOOPS),
        case="2x3,float32",
    ),
    Bad(
        "gpu_reads_far_away.py",
        *(CORRECTNESS, "out_of_bounds"),
        "the kernel touched memory far outside its tensors, and the GPU stopped it",
        MASK,
        case="2x3,float32",
    ),
    Bad(
        "gpu_allocates.py",
        *(CORRECTNESS, "out_of_memory"),
        "the kernel asked for more memory than it gets: Tried to allocate 9313.23 GiB",
        MEMORY,
        lines=(7,),
        case="2x3,float32",
    ),
    Bad(
        "gpu_other_device.py",
        *(CORRECTNESS, "exception"),
        "AcceleratorError: CUDA error: invalid device ordinal\n"
        "GPU device may be out of range, do you have enough GPUs?",
        lines=(15,),
        case="2x3,float32",
    ),
    # What is left running belongs to the call: its end is waited for, up to the time limit.
    Bad(
        "gpu_leaves_work_running.py",
        *(CORRECTNESS, "timeout", "one call took longer than 10 s and was stopped", LOOPS),
        case="2x3,float32",
    ),
)


@pytest.fixture(scope="module")
def cuda() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA GPU")


@pytest.fixture(scope="module")
def graded_on_gpu(cuda: None, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Graded:
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
def test_a_kernel_that_goes_wrong_on_a_gpu_is_told_why(graded_on_gpu: Graded, bad: Bad):
    assert_told(graded_on_gpu.results[bad.file], bad)


@pytest.mark.gpu
def test_a_compile_error_on_a_gpu_is_told_with_the_learners_lines(graded_on_gpu: Graded):
    """And it is told after kernels that hung and crashed on the same GPU."""
    failure = failed_step(graded_on_gpu.results["not_constexpr.py"]).failure
    assert failure is not None
    assert failure.kind == "compile"
    assert "arange's arguments must be of type tl.constexpr" in failure.message
    assert [frame.line for frame in failure.frames] == [14, 9]


@pytest.mark.gpu
@pytest.mark.usefixtures("cuda")
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
    ("arguments", "told"),
    [
        (
            ["01_cpoy"],
            "error: There is no exercise named '01_cpoy'.\nnext: Did you mean 01_copy?\n",
        ),
        (
            ["01_copy", "--kernel", "nowhere.py"],
            "error: The kernel file nowhere.py does not exist.\n"
            "next: Name the kernel file with --kernel FILE.\n",
        ),
        (
            ["01_copy", "--kernel", str(BAD)],
            f"error: The kernel file {BAD} is a folder, not a kernel file.\n"
            "next: Name the kernel file with --kernel FILE.\n",
        ),
    ],
    ids=["unknown exercise", "missing kernel file", "folder"],
)
def test_what_does_not_exist_is_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
):
    assert run_cli(capsys, "check", *arguments) == (2, told)


def test_many_slow_calls_are_stopped_together(home: Path, tmp_path: Path):
    """A check makes a hundred: with half a minute for each, a class's CI would wait for hours."""
    limits = ("call_s=2.0", "call_s=60.0, check_s=3.0")
    exercise = exercise_with(tmp_path, "spec.py", *limits)
    graded = grade([Request(exercise, BAD / "dawdles.py", Options(device="cpu"))], home)
    message = "the calls of this check took longer than 3 s together and were stopped"
    bad = Bad("dawdles.py", CORRECTNESS, "timeout", message, LOOPS)
    assert_told(graded.results["dawdles.py"], bad)


def test_a_missing_kernel_of_ones_own_is_told_how_to_start(tmp_path: Path):
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "01_copy").symlink_to(COPY.folder)
    exercise = Exercise(tmp_path / "exercises" / "01_gone")
    with pytest.raises(GraderError) as caught:
        check.run([Request(exercise, exercise.kernel)], print)
    assert caught.value.exit_code == 2
    assert caught.value.message == f"The kernel file {exercise.kernel} does not exist."
    # Its learner has no solutions to make a stub from.
    assert caught.value.next_step.startswith("Take kernel.py again from your last commit, or")


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


def test_a_killed_judge_is_no_pass(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(fork_server.WITHOUT, NO_WALLS)
    with pytest.raises(GraderError) as caught:
        check.run([Request(COPY, BAD / "kills_judge.py", Options(device="cpu"))], print)
    assert caught.value.exit_code == 4
    assert caught.value.message == (
        "The judge ended (exit status -9) before it had graded everything: 0 of 1."
    )
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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    exercise = exercise_with(tmp_path, "spec.py", "SPEC =", "SPEC = 1 / 0")
    monkeypatch.setenv("GRADER_COURSE", str(tmp_path))
    code, said = run_cli(capsys, "check", "01_other", "--kernel", str(GOOD))
    assert code == 4
    assert f"The exercise 01_other is broken: {exercise.folder / 'spec.py'} fails with" in said
    assert said.endswith(f"next: {NOT_YOURS}\n")


def test_a_spec_that_exits_is_no_pass(tmp_path: Path):
    exercise = exercise_with(tmp_path, "spec.py", "SPEC =", "raise SystemExit(0)\nSPEC =")
    with pytest.raises(BrokenExercise, match="fails with SystemExit: 0"):
        check.run([Request(exercise, GOOD)], print)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            '{"x": draw.tensor(case.shape)}',
            "draw.tensor(case.shape, loudness=2)",
            "The exercise is broken: drawing the inputs fails for 1x1,float32,seed=7: TypeError: "
            "CaseDraw.tensor() got an unexpected keyword argument 'loudness'",
        ),
        (
            '{"out": inputs["x"]}',
            '{"out": inputs["y"]}',
            "The exercise is broken: the reference fails for 1x1,float32,seed=7: KeyError: 'y'",
        ),
        (
            '{"out": inputs["x"]}',
            "{}",
            "The exercise is broken: the reference returns [], and the kernel fills ['out'].",
        ),
    ],
    ids=["inputs", "reference", "no answer"],
)
def test_functions_of_a_spec_that_are_wrong_are_not_the_learners_fault(
    tmp_path: Path, old: str, new: str, told: str
):
    exercise = exercise_with(tmp_path, "spec.py", old, new)
    case = Case((1, 1), "float32", seed=7)
    grading = Grading(exercise, GOOD, Options(seed=1, case=case, pretend="zeros"), ForkServers())
    run(grading, STEPS[LOAD])
    step = run(grading, STEPS[CORRECTNESS])
    grading.close()
    assert exit_code([result_of(grading)]) == 4
    assert step.failure is not None
    assert (step.failure.message, step.failure.hint) == (told, NOT_YOURS)


def test_properties_that_cannot_be_imported_are_not_the_learners_fault(tmp_path: Path):
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
    assert step.failure is not None
    assert step.failure.message == (
        "test_kernel.py is broken: ModuleNotFoundError: No module named 'hypotheses'"
    )
    assert step.failure.hint == NOT_YOURS
    assert f"printed by {kernel}:\nfirst words" in err
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
    ("seen", "told"),
    [
        ({"built": None}, "There is no GPU to grade on: this torch was built without CUDA."),
        (
            {"available": False},
            "There is no GPU to grade on: torch sees none (does `nvidia-smi` show one?).",
        ),
        (
            {"capability": (7, 0)},
            "The GPU is too old: its compute capability is 7.0; kernels need 7.5.",
        ),
    ],
    ids=["built without", "none", "too old"],
)
def test_without_a_gpu_that_fits_nothing_runs_on_cuda(
    gpu: Callable[..., None], seen: dict[str, object], told: str
):
    gpu(**seen)
    with pytest.raises(CannotGrade) as caught:
        devices.choose_device("cuda")
    assert (caught.value.exit_code, caught.value.message) == (3, told)
    assert caught.value.next_step == "Grade in simulation instead: --device cpu."
    assert devices.choose_device("auto") == "cpu"


def test_a_gpu_that_fits_is_chosen(gpu: Callable[..., None]):
    gpu()
    assert [devices.choose_device(wanted) for wanted in ("auto", "cuda", "cpu")] == [
        *("cuda", "cuda", "cpu")
    ]


def test_a_gpu_without_bindings_is_told_what_to_install(
    gpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    gpu()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(CannotGrade, match=r"pip install 'kernel-grader\[gpu\]'"):
        devices.choose_device("cuda")


def test_a_gpu_that_others_fill_is_not_the_learners_fault(monkeypatch: pytest.MonkeyPatch):
    import torch

    class DriverError(Exception):
        pass

    def create(size: int) -> None:
        raise DriverError("cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY")

    vmm = SimpleNamespace(DriverError=DriverError, SharedMemory=SimpleNamespace(create=create))
    monkeypatch.setitem(sys.modules, "grader.machine.gpu_memory", vmm)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (100 << 20, 80_000 << 20))
    grading = Grading(COPY, GOOD, Options(seed=1, device="cuda", pretend="zeros"), ForkServers())
    step = run(grading, STEPS[LOAD])
    assert status_of([step], ["load"], ()) is Status.CANNOT_GRADE
    assert step.failure is not None
    assert step.failure.message == (
        "The GPU has 100 MiB of 80,000 MiB free and the check needs 256 MiB more: another program "
        "holds the rest (cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY)."
    )
    assert step.failure.hint == (
        "`nvidia-smi` shows which one; or grade without the GPU: --device cpu."
    )


@pytest.mark.parametrize("error", ["CUDA error: out of memory\nCompile with ...", "device is busy"])
def test_a_gpu_that_refuses_is_not_the_learners_fault(monkeypatch: pytest.MonkeyPatch, error: str):
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
    assert step.failure is not None
    assert step.failure.message == f"The GPU cannot be used now: {error.splitlines()[0]}."


def test_a_judge_without_gpu_memory_is_not_the_exercises_fault(monkeypatch: pytest.MonkeyPatch):
    import torch

    def full(case: object, draw: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    copy = with_spec(COPY, replace(COPY.spec, inputs=full))
    grading = Grading(copy, GOOD, Options(seed=1, pretend="zeros"), ForkServers())
    run(grading, STEPS[LOAD])
    step = run(grading, STEPS[CORRECTNESS])
    grading.close()
    assert status_of([*grading.steps.values()], [LOAD, CORRECTNESS], ()) is Status.CANNOT_GRADE
    assert "too little free memory for drawing the inputs" in step.summary


# -- kernels that are wrong now and then


class NowAndThen:
    """Copies, but for the calls that `fails` names by their number, which end in a failure."""

    def __init__(self, arena: Arena, fails: Callable[[int], bool], kind: str) -> None:
        self.arena, self.fails, self.kind, self.calls = arena, fails, kind, 0

    def load(self) -> None:
        pass

    def call(self, calls: Sequence[Call]) -> None:
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

    def close(self) -> str:
        return ""


def correctness_of(fails: Callable[[int], bool], kind: str) -> tuple[Step, int]:
    """The step correctness of such a kernel, and how many calls it took."""
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
