"""The compile step: what it compiles for, what it reports, and what it fails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from one_step import one_step
from specs import with_spec

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import compiling, steps
from grader.grading.compiling import Code, Fault, Job, Killed, Missing, Refusal, TooLong, Untried
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.compile import findings
from grader.model import CannotGrade, Case, GraderError
from grader.model.compiled import compiled_words
from grader.model.outcomes import Outcome
from grader.model.results import Step
from grader.model.specialisations import BuildOptions, Specialisation
from grader.sandbox.commands import Done
from grader.sandbox.fork_servers import ForkServers

STEPS = steps.every()
ROOT = Path(__file__).parents[3]
ADD = catalog.find(ROOT, "01_vector_add")
ONLINE = catalog.find(ROOT, "04_online_softmax")
KERNEL = Specialisation("add", 'loc("/home/kernel-1/kernel.py":2:0)', BuildOptions())
CODE = Code(
    registers=32,
    spills=0,
    shared=4096,
    tensor=0,
    threads=256,
    loads=((32, 1), (128, 4)),
    stores=((128, 2),),
)


@pytest.fixture
def grading(fork_servers: ForkServers, tmp_path: Path) -> Iterator[Grading]:
    """A grading of the solution of 01, of which nothing has run."""
    made = Grading(ADD, ADD.solution, Options(seed=1), fork_servers)
    yield made
    made.close()


def judged(grading: Grading, monkeypatch: pytest.MonkeyPatch, *built: compiling.Built) -> Finding:
    """Have the step judge these results of compiling one kernel, for 90 and then for 75."""
    jobs = [Job("float32", KERNEL, 90, True), Job("float32", KERNEL, 75, False)][: len(built)]
    monkeypatch.setattr(findings, "jobs", lambda _: jobs)
    monkeypatch.setattr(findings, "build", lambda _: list(built))
    return findings.compiled(grading)


def test_a_kernel_that_compiles_passes_with_its_figures(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = judged(grading, monkeypatch, CODE, replace(CODE, registers=64))
    assert finding.outcome is Outcome.PASS
    assert finding.summary == (
        "sm_90: 32 registers, no spills, 4 KiB shared, 8 blocks per SM (occupancy 100 %), "
        "loads 128 and 32 bit, stores 128 bit"
    )
    assert [(one.target, one.blocks, one.occupancy) for one in finding.compiled] == [
        (90, 8, 1.0),
        (75, 4, 1.0),
    ]
    assert compiled_words(finding.compiled[1], brief=True) == "64 registers, no spills"


def test_a_refusal_fails_at_the_learner_s_line(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = judged(grading, monkeypatch, Refusal("the block is too large", 3), CODE)
    assert (finding.outcome, finding.failure.kind) == (Outcome.FAIL, "compile")
    assert "add for float32 does not run on sm_90: the block is too large" in (
        finding.failure.message
    )
    [frame] = finding.failure.frames
    assert (frame.line, frame.code) == (3, grading.source[2].strip())


def test_a_refusal_by_another_gpu_is_only_reported(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = judged(grading, monkeypatch, CODE, Refusal("no float8 here", None))
    assert finding.outcome is Outcome.PASS
    assert finding.compiled[1].error == "no float8 here"


@pytest.mark.parametrize(
    ("built", "said"),
    [
        (
            replace(CODE, shared=240 << 10),
            "it needs 240 KiB of shared memory per block, and this GPU has 227 KiB",
        ),
        (
            replace(CODE, registers=128, threads=1024),
            "1024 threads of 128 registers each do not fit on a multiprocessor",
        ),
        (replace(CODE, tensor=513), "it needs 513 columns of tensor memory, and this GPU has 512"),
        (TooLong(120.0), "it did not compile within 120 s"),
    ],
)
def test_what_cannot_start_or_ends_late_fails(
    grading: Grading, monkeypatch: pytest.MonkeyPatch, built: compiling.Built, said: str
) -> None:
    finding = judged(grading, monkeypatch, built)
    assert finding.outcome is Outcome.FAIL
    assert said in finding.failure.message


def test_what_was_not_tried_since_the_compiler_ended_is_not_the_kernels_fault(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system had killed the compiler, and the learner read of compilations that took long."""
    with pytest.raises(CannotGrade):
        judged(grading, monkeypatch, Untried())


def test_a_compiler_that_is_killed_for_another_gpu_is_named(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = judged(grading, monkeypatch, CODE, Killed())
    assert finding.outcome is Outcome.PASS
    assert "the system killed the compiler" in finding.compiled[1].error


def test_a_fault_for_another_gpu_is_reported_as_the_graders(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = judged(grading, monkeypatch, CODE, Fault("OSError: no room"))
    assert finding.outcome is Outcome.PASS
    assert "no fault of the kernel" in finding.compiled[1].error


def test_without_a_tool_the_step_is_skipped_with_the_command_that_helps(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = judged(grading, monkeypatch, Missing("ptxas"), Missing("ptxas"))
    assert finding.outcome is Outcome.SKIP
    assert "ptxas is missing: pip install --force-reinstall" in finding.summary


def test_the_gpu_that_is_there_is_required(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert findings.targets(grading) == (90, (75, 100))
    grading.options = Options(targets=(80, 90))
    assert findings.targets(grading) == (90, (80,))
    grading.options = Options(targets=(80, 90), elsewhere=False)
    assert findings.targets(grading) == (90, ())
    grading.options = Options(device="cuda")
    monkeypatch.setattr(grading.workers, "_environment", SimpleNamespace(capability="8.9"))
    assert findings.targets(grading) == (89, (75, 100))


def test_a_spec_names_its_own_targets(grading: Grading) -> None:
    grading.__dict__["spec"] = replace(ADD.spec, targets=(100, 120))
    assert findings.targets(grading) == (100, (120,))
    with pytest.raises(ValueError, match="targets may be 75"):
        replace(ADD.spec, targets=(91,))


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> list[list[dict[str, object]]]:
    """Stands in for the compiler's process; returns the jobs of each run."""
    ran: list[list[dict[str, object]]] = []

    class Command:
        def __init__(self, argv: Sequence[str], home: Path) -> None:
            self.home = home

        def finish(self, limit_s: float) -> Done:
            jobs = json.loads((self.home / "jobs.json").read_text())
            ran.append(jobs)
            code = {"registers": 8, "spills": 0, "shared": 0, "tensor": 0, "threads": 128}
            lines = [code | {"loads": {"128": 1}, "stores": {}, "arithmetic": 3} for _ in jobs]
            if any("late" in (self.home / str(job["file"])).read_text() for job in jobs):
                lines = [{"timed_out": 120.0}]
            if any("broken" in (self.home / str(job["file"])).read_text() for job in jobs):
                lines = [{"fault": "OSError: tool"}]
            if any("killed" in (self.home / str(job["file"])).read_text() for job in jobs):
                lines = [{"killed": True}]
            built = "".join(f"{json.dumps(line)}\n" for line in lines)
            (self.home / "built.jsonl").write_text(built)
            return Done(0, "")

        def close(self) -> None:
            assert self.home.exists()  # it is removed when nothing uses it any more

    monkeypatch.setattr(compiling.commands, "Command", Command)
    monkeypatch.setattr(compiling, "_built", {})
    return ran


def test_a_text_is_compiled_once_wherever_the_file_lies(
    tool: list[list[dict[str, object]]],
) -> None:
    elsewhere = replace(KERNEL, text=KERNEL.text.replace("kernel-1", "kernel-2"))
    first = compiling.build("triton", [Job("float32", KERNEL, 90, True)])
    again = compiling.build("triton", [Job("float32", elsewhere, 90, True)])
    assert first == again
    assert len(tool) == 1
    wider = replace(KERNEL, options=replace(KERNEL.options, num_warps=8))
    compiling.build("triton", [Job("float32", wider, 90, True)])
    compiling.build("triton", [Job("float32", KERNEL, 80, True)])
    assert len(tool) == 3


@pytest.fixture
def homes(tool: list[list[dict[str, object]]], monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Have `tool` stand in for the compiler's process; returns the home of each one that began."""
    began: list[Path] = []
    command = compiling.commands.Command

    def begin(argv: Sequence[str], home: Path) -> object:
        began.append(home)
        return command(argv, home)

    monkeypatch.setattr(compiling.commands, "Command", begin)
    monkeypatch.setattr(findings, "jobs", lambda _: [Job("float32", KERNEL, 90, True)])
    return began


def test_a_compiler_that_waits_gets_the_jobs_of_one_run(
    grading: Grading, homes: list[Path], tool: list[list[dict[str, object]]]
) -> None:
    STEPS["compile"].prepare(grading)
    assert [home.exists() for home in homes] == [True]
    findings.build(grading)
    assert [home.exists() for home in homes] == [False]
    compiling._built.clear()
    findings.build(grading)
    assert (len(homes), len(tool)) == (2, 2)


@pytest.mark.parametrize("known", [False, True], ids=["nothing compiled", "compiled before"])
def test_a_compiler_without_jobs_ends_with_the_check(
    grading: Grading, homes: list[Path], known: bool
) -> None:
    if known:
        findings.build(grading)
    STEPS["compile"].prepare(grading)
    if known:
        findings.build(grading)
    grading.close()
    assert len(homes) == 1 + known
    assert not any(home.exists() for home in homes)


@pytest.mark.parametrize(
    "options",
    [
        Options(device="cuda"),
        Options(case=ADD.spec.edges[0]),
        Options(shrink=False),
        Options(hardened=True),
    ],
    ids=["a GPU", "one case", "trials of an author", "a class"],
)
def test_a_compiler_waits_only_where_somebody_does_and_a_core_is_idle(
    grading: Grading, homes: list[Path], options: Options
) -> None:
    grading.options = options
    STEPS["compile"].prepare(grading)
    assert homes == []


def test_a_required_gpu_comes_first_and_has_more_time(
    tool: list[list[dict[str, object]]],
) -> None:
    compiling.build("triton", [Job("f", KERNEL, 75, False), Job("f", KERNEL, 90, True)])
    assert [(job["target"], job["limit_s"]) for job in tool[0]] == [(90, 120.0), (75, 30.0)]


def test_a_timeout_is_not_remembered(tool: list[list[dict[str, object]]]) -> None:
    late = Job("float32", replace(KERNEL, text="late"), 90, True)
    other = Job("float16", KERNEL, 75, False)
    assert compiling.build("triton", [late, other]) == [TooLong(120.0), Untried()]
    compiling.build("triton", [late])
    assert len(tool) == 2


def test_a_compiler_that_is_killed_for_the_required_gpu_is_the_machines_fault(
    tool: list[list[dict[str, object]]],
) -> None:
    killed = Job("float32", replace(KERNEL, text="killed"), 90, True)
    assert compiling.build("triton", [replace(killed, required=False)]) == [Killed()]
    with pytest.raises(CannotGrade, match="The system killed the compiler"):
        compiling.build("triton", [killed])


def test_a_fault_for_the_required_gpu_is_the_graders(
    tool: list[list[dict[str, object]]],
) -> None:
    broken = Job("float32", replace(KERNEL, text="broken"), 90, True)
    assert compiling.build("triton", [replace(broken, required=False)]) == [Fault("OSError: tool")]
    with pytest.raises(GraderError, match="The compiler's process failed: OSError: tool"):
        compiling.build("triton", [broken])


@pytest.mark.parametrize(
    "line",
    ['{"registers": -1}', "[]", '{"error": 3, "line": 1}', "{", '{"error": "a", "line": ""}'],
)
def test_lines_of_another_form_are_no_results(tmp_path: Path, line: str) -> None:
    (tmp_path / "built.jsonl").write_text(line)
    assert compiling._results(tmp_path / "built.jsonl") == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text('{"missing": "ptxas"}')
    (tmp_path / "built.jsonl").symlink_to(tmp_path / "real")
    assert compiling._results(tmp_path / "built.jsonl") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("torch.add(x, y, out=out)", "no_kernel"),
        ("torch.sub(x, y, out=out)", "value"),
    ],
)
def test_a_call_that_needs_no_kernel_or_is_wrong_does_not_pass(
    fork_servers: ForkServers, tmp_path: Path, body: str, kind: str
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(f"import torch\n\n\ndef vector_add(x, y, out):\n    {body}\n")
    step = compiled(fork_servers, ADD, file)
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, kind)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", [ADD, ONLINE], ids=lambda one: one.name)
def test_the_solutions_compile(fork_servers: ForkServers, exercise: Exercise) -> None:
    step = compiled(fork_servers, exercise, exercise.solution)
    assert step.outcome is Outcome.PASS
    assert {(one.dtype, one.target) for one in step.compiled} == {
        (dtype, target) for dtype in exercise.spec.dtypes for target in (75, 90, 100)
    }
    for one in step.compiled:
        assert (one.error, one.spills) == (None, 0)
        assert bool(one.loads) is one.required
    widest = [max(width.bits for width in one.loads) for one in step.compiled if one.required]
    assert widest == [128] * len(widest)


@pytest.mark.slow
def test_a_kernel_that_needs_too_much_shared_memory_fails(
    fork_servers: ForkServers, tmp_path: Path
) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(MULTIPLIES)
    spec = replace(ADD.spec, dtypes=("float16",), edges=(Case((1025,), "float16"),))
    # Other GPUs and dtypes take long, and need as much.
    step = compiled(fork_servers, with_spec(ADD, spec), file, targets=(90,))
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "compile")
    assert "of shared memory per block, and this GPU has 227 KiB" in step.failure.message


def compiled(fork_servers: ForkServers, exercise: Exercise, kernel: Path, **options: Any) -> Step:
    return one_step("compile", exercise, kernel, fork_servers, **options)


MULTIPLIES = """
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, M: tl.constexpr, K: tl.constexpr):
    here = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    x = tl.load(x_ptr + here, mask=here < n, other=0.0).to(tl.float16)
    y = tl.load(y_ptr + here, mask=here < n, other=0.0).to(tl.float16)
    square = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    total = tl.dot(x, tl.trans(y)).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + square, total, mask=square < n)


@triton.jit
def right(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + here, mask=here < n).to(tl.float32)
    y = tl.load(y_ptr + here, mask=here < n).to(tl.float32)
    tl.store(out_ptr + here, x + y, mask=here < n)


def vector_add(x, y, out):
    add[(1,)](x, y, out, x.numel(), M=128, K=512, num_warps=16)
    right[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
"""
