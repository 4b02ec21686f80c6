"""CUDA C++ checked without a GPU: what compiles cannot be graded, and what does not has failed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from needs_nvrtc import NEEDS_NVRTC

from grader.course import catalog, stubs
from grader.grading import check
from grader.grading.options import Options
from grader.grading.warm_judge import WarmJudge
from grader.model.verdict import exit_code

pytestmark = [pytest.mark.slow, NEEDS_NVRTC]

COURSE = Path(__file__).parents[2] / "courses" / "cuda"
SOLUTION = (COURSE / "solutions/01_vector_add/kernel.py").read_text(encoding="utf-8")

Graded = Callable[[Path], tuple[int, dict[str, Any], dict[str, dict[str, Any]]]]


def by_the_command(kernel: Path) -> tuple[int, dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the exit code, the result, and its steps by name."""
    command = ["check", "01", "--device", "cpu", "--json", "--seed", "1", "--kernel", str(kernel)]
    done = subprocess.run(
        [sys.executable, "-m", "grader.cli", *command], cwd=COURSE, capture_output=True, text=True
    )
    assert done.stdout, done.stderr
    return done.returncode, *_with_steps(done.stdout)


@pytest.fixture(scope="module")
def graded() -> Iterator[Graded]:
    """Grade as the command does, all in one judge, which starts new workers for each file.

    Machine code is made for the required target alone: the first test has that of all targets.
    """
    exercise = catalog.find(COURSE, "01_vector_add")
    options = Options(device="cpu", seed=1, shrink=False, elsewhere=False)
    with WarmJudge() as judge:

        def grade(kernel: Path) -> tuple[int, dict[str, Any], dict[str, dict[str, Any]]]:
            request = check.Request(exercise, kernel, options)
            (result,) = check.run([request], lambda text: None, judge=judge)
            return exit_code([result]), *_with_steps(result.model_dump_json(by_alias=True))

        yield grade


def _with_steps(text: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    result = json.loads(text)
    return result, {step["name"]: step for step in result["steps"]}


def changed(folder: Path, old: str, new: str) -> Path:
    assert SOLUTION.count(old) == 1
    kernel = folder / "changed.py"
    kernel.write_text(SOLUTION.replace(old, new), encoding="utf-8")
    return kernel


def line_of(kernel: Path, text: str) -> int:
    lines = kernel.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_what_compiles_has_figures_and_cannot_be_graded_here():
    code, result, steps = by_the_command(COURSE / "solutions/01_vector_add/kernel.py")
    assert (code, result["status"]) == (3, "cannot_grade")
    assert steps["load"]["outcome"] == "pass"
    correctness = steps["correctness"]
    assert (correctness["outcome"], correctness["failure"]["kind"]) == (
        "cannot_grade",
        "not_simulated",
    )
    assert correctness["summary"].endswith("simulated: its language runs on a GPU only.")
    assert steps["compile"]["outcome"] == "pass"
    required = [one for one in steps["compile"]["compiled"] if one["required"]]
    assert [(one["kernel"], one["dtype"], one["target"]) for one in required] == [
        ("vector_add<float>", "float32", 90),
        ("vector_add<__nv_bfloat16>", "bfloat16", 90),
    ]
    for one, bits in zip(required, (32, 16), strict=True):
        assert 4 <= one["registers"] <= 32
        assert (one["spills"], one["shared_bytes"], one["threads"]) == (0, 0, 256)
        assert one["loads"] == [{"bits": bits, "instructions": 2}]
    assert {one["target"] for one in steps["compile"]["compiled"]} == {75, 90, 100}
    assert (steps["memory"]["outcome"], steps["speed"]["outcome"]) == ("not_run", "not_run")


def test_the_page_shows_this_solution():
    page = (COURSE.parents[2] / "docs" / "cuda.md").read_text(encoding="utf-8")
    assert f"```python\n{SOLUTION}```" in page


def test_the_untouched_stub_is_not_started(graded: Graded):
    stub = catalog.find(COURSE, "01_vector_add")
    assert not stubs.drifted(stub)
    code, result, _ = graded(stub.kernel)
    assert (code, result["status"]) == (1, "not_started")


def test_torchs_stream_will_do(graded: Graded, tmp_path: Path):
    stream = "torch.cuda.current_stream(torch.cuda.current_device())"
    code, _, steps = graded(changed(tmp_path, "Device().default_stream", stream))
    assert (code, steps["compile"]["outcome"]) == (3, "pass")


def test_an_error_while_the_file_is_imported_fails_there(graded: Graded, tmp_path: Path):
    kernel = changed(
        tmp_path, "@functools.cache", 'Program("\\nint i = j;", "c++").compile("cubin")'
    )
    code, _, steps = graded(kernel)
    failure = steps["load"]["failure"]
    assert (code, failure["kind"]) == (1, "compile")
    assert failure["frames"][-1]["line"] == line_of(kernel, "int i")


def test_a_name_that_a_library_lacks_is_no_import_of_another_library(
    graded: Graded, tmp_path: Path
):
    _, _, steps = graded(changed(tmp_path, "import Device,", "import Devise as Device,"))
    failure = steps["load"]["failure"]
    assert failure["kind"] == "import"
    assert "spelling" in failure["hint"]


def test_a_source_includes_no_file_of_the_course(graded: Graded, tmp_path: Path):
    """Neither where the worker compiles it, nor where the judge does."""
    asks = '#if __has_include("{0}")\n#error {1}\n#endif\n#include <cuda_bf16.h>'
    secret = COURSE / "solutions/01_vector_add/kernel.py"
    hidden = changed(tmp_path, "#include <cuda_bf16.h>", asks.format(secret, "a solution"))
    code, _, steps = graded(hidden)
    assert (code, steps["compile"]["outcome"]) == (3, "pass")
    seen = changed(tmp_path, "#include <cuda_bf16.h>", asks.format("/etc/passwd", "the system's"))
    code, _, steps = graded(seen)
    assert "the system's" in steps["correctness"]["failure"]["message"]


def test_clusters_with_shared_memory_of_a_launch_are_compiled(graded: Graded, tmp_path: Path):
    kernel = changed(
        tmp_path,
        "block=THREADS)",
        "block=THREADS, cluster=2, shmem_size=100 << 10)\n"
        "    from cuda.bindings import driver\n"
        "    most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES\n"
        "    driver.cuKernelSetAttribute(most, 100 << 10, compiled(x.dtype).handle, 0)",
    )
    code, _, steps = graded(kernel)
    assert (code, steps["compile"]["outcome"]) == (3, "pass")
    required = [one for one in steps["compile"]["compiled"] if one["required"]]
    assert {one["shared_bytes"] for one in required} == {100 << 10}
    assert {one["blocks"] for one in required} == {2}


def test_a_cluster_of_more_blocks_may_be_allowed(graded: Graded, tmp_path: Path):
    kernel = changed(
        tmp_path,
        "block=THREADS)",
        "block=THREADS, cluster=16)\n"
        "    from cuda.bindings import driver\n"
        "    larger = driver.CUfunction_attribute."
        "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED\n"
        "    driver.cuKernelSetAttribute(larger, 1, compiled(x.dtype).handle, 0)",
    )
    code, _, steps = graded(kernel)
    assert (code, steps["compile"]["outcome"]) == (3, "pass")


def test_shared_memory_that_was_not_allowed_is_refused(graded: Graded, tmp_path: Path):
    """As on a GPU, whose driver says only that a value is invalid."""
    kernel = changed(tmp_path, "block=THREADS)", "block=THREADS, shmem_size=100 << 10)")
    code, _, steps = graded(kernel)
    assert (code, steps["correctness"]["failure"]["kind"]) == (1, "launch_refused")
    assert "cuKernelSetAttribute" in steps["correctness"]["failure"]["message"]


def test_an_error_of_the_compiler_fails_at_the_learners_line(graded: Graded):
    kernel = COURSE / "solutions/01_vector_add/wrong_undeclared.py"
    code, result, steps = graded(kernel)
    assert (code, result["status"]) == (1, "fail")
    failure = steps["correctness"]["failure"]
    assert failure["kind"] == "compile"
    assert failure["message"] == 'the kernel cannot be compiled: identifier "j" is undefined'
    assert failure["frames"][-1]["line"] == line_of(kernel, "y[j]")
    assert "from its declaration on" in failure["hint"]


def test_what_compiles_for_one_dtype_only_fails(graded: Graded, tmp_path: Path):
    only = 'x[i] + y[i]; static_assert(sizeof(T) == 4, "float");'
    kernel = changed(tmp_path, "x[i] + y[i];", only)
    code, result, steps = graded(kernel)
    assert (code, result["status"]) == (1, "fail")
    assert steps["correctness"]["outcome"] == "cannot_grade"
    failure = steps["compile"]["failure"]
    assert failure["kind"] == "compile"
    assert failure["frames"][-1]["line"] == line_of(kernel, "sizeof(T)")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("n = x.numel()", "n = x.cuda().numel()", "its Python code asks the GPU's driver"),
        ("Device().default_stream", "Device().uuid", "only a GPU has Device.uuid"),
        (
            "n = x.numel()",
            "n = compiled(x.dtype).occupancy",
            "only a GPU has Kernel.occupancy",
        ),
        (
            "n = x.numel()",
            "n = compiled(x.dtype).attributes.num_regs",
            "only a GPU has KernelAttributes.num_regs",
        ),
        (
            "n = x.numel()",
            "from cuda.core import Linker; n = Linker(None)",
            "a Linker needs a GPU here",
        ),
        (
            "n = x.numel()",
            "from cuda.core.utils import StridedMemoryView as View\n"
            "    n = View.from_any_interface(x, stream_ptr=-1).as_tensor_map((64,))",
            "its Python code asks the GPU's driver",
        ),
    ],
)
def test_what_only_a_gpu_knows_is_no_fault(
    graded: Graded, tmp_path: Path, old: str, new: str, reason: str
):
    code, result, steps = graded(changed(tmp_path, old, new))
    assert (code, result["status"]) == (3, "cannot_grade")
    assert steps["correctness"]["summary"] == f"The kernel cannot be simulated: {reason}."


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        (
            "get_kernel(name)",
            'get_kernel("vector_add")',
            "compile",
            "the kernel cannot be compiled: the source has no kernel vector_add",
        ),
        ("THREADS = 256", "THREADS = 2048", "launch_refused", "a block has 2,048 threads"),
        (
            "out.data_ptr(), n",
            "out.data_ptr()",
            "launch_refused",
            "the launch passes 3 of the 4 arguments of vector_add<float>",
        ),
        ("x.data_ptr(), y", "x, y", "exception", "TypeError: the argument is of unsupported type"),
        (
            'std="c++17"',
            'std="c++99"',
            "compile",
            "the kernel cannot be compiled: nvrtc: error: invalid value for --std(-std)",
        ),
        (
            'Program(SOURCE, "c++"',
            'Program("c++", SOURCE',
            "exception",
            'ValueError: a source is in "c++", "ptx" or "nvvm": Program(SOURCE, "c++", options)',
        ),
        (
            'compile("cubin"',
            'compile("sass"',
            "exception",
            'ValueError: Unsupported target_type="sass" for NVRTC',
        ),
        (
            "block=THREADS",
            "block=THREADS, shmem_size=-1",
            "launch_refused",
            "the launch asks for -1 bytes of shared memory",
        ),
        (
            "grid=-(-n // THREADS)",
            "grid=(1, 65_536)",
            "launch_refused",
            "the grid has 65,536 blocks along y, and a GPU takes 65,535",
        ),
        (
            "block=THREADS",
            "block=(1, 1, 65)",
            "launch_refused",
            "a block has 65 threads along z, and a GPU takes 64",
        ),
        (
            "block=THREADS",
            "block=THREADS, cluster=(3, 3)",
            "launch_refused",
            "a cluster has 9 blocks, and a GPU takes 8",
        ),
        (
            "launch(Device().default_stream",
            "launch(None",
            "exception",
            "TypeError: a launch is launch(stream, LaunchConfig(...), kernel",
        ),
    ],
)
def test_a_launch_that_a_gpu_would_refuse_fails(
    graded: Graded, tmp_path: Path, old: str, new: str, kind: str, message: str
):
    code, _, steps = graded(changed(tmp_path, old, new))
    failure = steps["correctness"]["failure"]
    assert (code, failure["kind"]) == (1, kind)
    assert failure["message"].startswith(message)
    assert failure["hint"]


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ('compile("cubin", name_expressions=(name,))', 'compile("cubin")', "name_expressions"),
        ("name_expressions=(name,)", "name_expressions=name", "tuple"),
        ("    // END SOLUTION\n}", "    // END SOLUTION\n", "closing brace"),
        ("block=THREADS", "block=THREADS, shmem_size=1 << 20", "error that the call returns"),
        ("if (i < n)", 'asm("foo;"); if (i < n)', "asm statement"),
        ("if (i < n)", "__shared__ T a[1 << 16]; a[i] = x[i]; if (a[i + 1] > T(0))", "shmem_size"),
    ],
)
def test_a_hint_names_the_likely_mistake(
    graded: Graded, tmp_path: Path, old: str, new: str, hint: str
):
    code, _, steps = graded(changed(tmp_path, old, new))
    assert code == 1
    assert hint in steps["correctness"]["failure"]["hint"]


HONEST = Path(__file__).parents[2] / "redteam" / "honest" / "cuda" / "01_vector_add"


@pytest.mark.parametrize("kernel", ["extern_c_and_macros", "several_kernels"])
def test_honest_kernels_compile(graded: Graded, kernel: str):
    """Others of the corpus take long: `make redteam-honest` compiles them."""
    code, _, steps = graded(HONEST / f"{kernel}.py")
    assert (code, steps["correctness"]["failure"]["kind"]) == (3, "not_simulated")
    assert steps["compile"]["outcome"] == "pass"


@pytest.mark.parametrize(
    "kernel", ["grid_of_the_occupancy", "launched_by_the_driver", "graph_of_torch", "tensor_maps"]
)
def test_honest_kernels_that_need_a_driver_are_no_fault(graded: Graded, kernel: str):
    code, result, steps = graded(HONEST / f"{kernel}.py")
    assert (code, result["status"]) == (3, "cannot_grade")
    assert steps["correctness"]["failure"]["kind"] == "not_simulated"


CHEATS = Path(__file__).parents[2] / "redteam" / "cheats"


@pytest.mark.parametrize(
    ("cheat", "kind"),
    [
        # Whatever a worker reports, no output was computed by a kernel.
        ("c11_forges_the_dry_run", "protocol"),
        ("c20_launches_from_a_kernel", "compile"),
        ("c27_graph_of_cuda_core", "launch_refused"),
        ("c33_includes_the_solution", "compile"),
        ("c65_ready_made_machine_code", "launch_refused"),
    ],
)
def test_cheats_in_cuda_are_stopped(graded: Graded, cheat: str, kind: str):
    code, _, steps = graded(CHEATS / f"{cheat}.py")
    assert (code, steps["correctness"]["failure"]["kind"]) == (1, kind)
    assert steps["correctness"]["failure"]["hint"]
