"""TTIR to machine code without a GPU: figures, refusals, and the time limit."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from grader.backends.triton import compile_ttir
from grader.machine import processes

OPTIONS = {"num_warps": 4, "num_ctas": 1, "num_stages": 3, "maxnreg": None}
JOB = {"file": "0.ttir", "options": OPTIONS, "limit_s": 120, "sass": True}
ADD = """module {
  tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> \
{tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %lanes = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32> loc(#loc)
    %0 = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>> loc(#loc)
    %1 = tt.addptr %0, %lanes : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32> loc(#loc)
    %2 = tt.load %1 : tensor<1024x!tt.ptr<f32>> loc(#loc)
    BODY
    %4 = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>> loc(#loc)
    %5 = tt.addptr %4, %lanes : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32> loc(#loc)
    tt.store %5, %3 : tensor<1024x!tt.ptr<f32>> loc(#loc)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc("/home/kernel-1/kernel.py":7:3)
"""
TWICE = "%3 = arith.addf %2, %2 : tensor<1024xf32> loc(#loc)"
ASSEMBLY = (
    '%3 = tt.elementwise_inline_asm "add.f32 $0, $1, $1;" {constraints = "=f,f", '
    "packed_element = 1 : i32, pure = true} %2 : tensor<1024xf32> -> tensor<1024xf32> loc(#loc)"
)
MEMORY = ASSEMBLY.replace("add.f32 $0, $1, $1", "ld.global.f32 $0, [$1]")
ASSUMED = """%true = arith.constant true loc(#loc)
    llvm.intr.assume %true : i1 loc(#loc)
    gpu.barrier loc(#loc)"""
EXTERNAL = (
    '%3 = tt.extern_elementwise %2 {libname = "LIBRARY", libpath = "PATH", pure = true, '
    'symbol = "SYMBOL"} : (tensor<1024xf32>) -> tensor<1024xf32> loc(#loc)'
)

Run = Callable[..., list[dict[str, Any]]]


def kernel(body: str = TWICE) -> str:
    return ADD.replace("BODY", body)


def external(library: str, path: str, symbol: str) -> str:
    body = EXTERNAL.replace("LIBRARY", library).replace("PATH", path)
    return kernel(body.replace("SYMBOL", symbol))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Compile texts as the judge does, but for the walls, which need no second test here."""

    def carry_out(text: str, *jobs: Mapping[str, Any], all_s: float = 600) -> list[dict[str, Any]]:
        (tmp_path / "0.ttir").write_text(text)
        listed = [{**JOB, **job} for job in jobs]
        (tmp_path / "jobs.json").write_text(json.dumps(listed))
        subprocess.run(
            [sys.executable, "-I", "-m", compile_ttir.__name__, str(tmp_path), str(all_s), ""],
            env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]},
            check=True,
        )
        return [json.loads(line) for line in (tmp_path / "built.jsonl").read_text().splitlines()]

    return carry_out


@pytest.mark.slow
def test_one_text_compiles_for_each_gpu(run: Run) -> None:
    built = run(kernel(), *({"target": target} for target in (75, 90, 100)))
    assert [one.get("error") for one in built] == [None] * 3
    for one in built:
        assert 8 <= one["registers"] <= 64
        assert (one["spills"], one["shared"], one["threads"]) == (0, 0, 128)
        assert one["loads"] == one["stores"] == {"128": 2}


@pytest.mark.slow
@pytest.mark.parametrize("body", [ASSEMBLY, f"{ASSUMED}\n    {TWICE}"])
def test_arithmetic_in_assembly_assumptions_and_barriers_compile(run: Run, body: str) -> None:
    [built] = run(kernel(body), {"target": 90})
    assert "error" not in built, built


@pytest.mark.slow
def test_options_reach_the_compiler(run: Run) -> None:
    [eight] = run(kernel(), {"target": 90, "options": {**OPTIONS, "num_warps": 8}})
    assert (eight["threads"], eight["loads"]) == (256, {"128": 1})


@pytest.mark.slow
def test_loads_and_stores_are_counted_where_they_are_asked_for(run: Run) -> None:
    [built] = run(kernel(), {"target": 90, "sass": False})
    assert (built["loads"], built["stores"]) == ({}, {})


@pytest.mark.slow
def test_a_refusal_of_the_backend_is_one_sentence(run: Run) -> None:
    [refused] = run(kernel(), {"target": 75, "options": {**OPTIONS, "num_ctas": 2}})
    assert refused["error"].startswith("num_ctas > 1 requires NVIDIA SM90+")


@pytest.mark.slow
def test_the_time_limit_is_told_apart_and_ends_the_jobs(run: Run) -> None:
    built = run(kernel(), {"target": 90, "limit_s": 0.001}, {"target": 90})
    assert built == [{"timed_out": 0.001}]


@pytest.mark.slow
def test_answers_keep_the_order_of_jobs_that_run_at_once(run: Run) -> None:
    order = [8, 1, 2, 4, 8, 4]
    options = [{**OPTIONS, "num_warps": warps} for warps in order]
    # The first takes longest: its machine code is listed.
    jobs = [
        {"target": 90, "options": one, "sass": number == 0} for number, one in enumerate(options)
    ]
    built = run(kernel(), *jobs)
    assert [one["threads"] for one in built] == [32 * warps for warps in order]


@pytest.mark.slow
def test_no_job_begins_after_the_time_for_all(run: Run) -> None:
    """The judge takes jobs without an answer for those of a compiler that was killed."""
    answers = run(kernel(), {"target": 90, "sass": False}, {"target": 90}, all_s=0)
    assert answers == [{"timed_out": 0}]


@pytest.mark.slow
@pytest.mark.parametrize("without", ["", "pids"])
def test_a_compiler_does_not_outlive_the_judge(tmp_path: Path, without: str) -> None:
    """The judge is a process here that waits, and the compiler one that never ends."""
    (tmp_path / "0.ttir").write_text(kernel())
    (tmp_path / "jobs.json").write_text(json.dumps([{**JOB, "target": 90}]))
    program = (
        f"import time; from pathlib import Path; import {compile_ttir.__name__} as c; "
        "from dataclasses import replace; "
        "build = lambda path, job: print('began', flush=True) or time.sleep(60); "
        "compiler = replace(c.COMPILER, build=build); "
        f"c.carry_out(compiler, Path({str(tmp_path)!r}), 600, {without!r})"
    )
    judge = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {program!r}], "
        f"env={{'HOME': {str(tmp_path)!r}, 'PATH': '/usr/bin'}})"
    )
    processes.adopt_orphans()
    before = processes.descendants()
    with subprocess.Popen([sys.executable, "-c", judge], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"began\n"
        below = processes.descendants() - before
        assert len(below) >= 3  # the judge, the compiler's process, and that of its job
        running.kill()
        # All of them hold this pipe: it ends with the last.
        assert select.select([running.stdout], [], [], 30)[0]
        assert running.stdout.read() == b""
    for pid in sorted(below):  # parents first: their ends leave their children to this process
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
    assert not processes.descendants() & below


def test_triton_s_own_operations_and_libdevice_are_let_through() -> None:
    compile_ttir.check(kernel())
    compile_ttir.check(external("libdevice", "", "__nv_tanhf"))
    compile_ttir.check(external("", "", "__nv_tanhf"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (kernel(MEMORY), "inline assembly beyond arithmetic is not compiled here: "),
        (external("mine", "", "__nv_tanhf"), "__nv_tanhf of another library than libdevice"),
        (external("", "/tmp/mine.bc", "__nv_tanhf"), "of another library than libdevice"),
        (external("", "", "system"), "system of another library than libdevice"),
    ],
)
def test_code_of_the_file_s_own_is_refused_at_its_line(text: str, sentence: str) -> None:
    with pytest.raises(compile_ttir.Refused) as refused:
        compile_ttir.check(text)
    assert sentence in str(refused.value)
    assert refused.value.line == 7


def test_a_dialect_below_triton_s_language_is_refused() -> None:
    body = '%3 = "llvm.inline_asm"(%2) : (tensor<1024xf32>) -> tensor<1024xf32> loc(#loc)'
    with pytest.raises(compile_ttir.Refused):
        compile_ttir.check(kernel(body))


def test_a_diagnostic_names_the_line_of_the_kernel_file(tmp_path: Path) -> None:
    log = tmp_path / "errors.txt"
    log.write_text(
        "/lib/triton/language/standard.py:40:1: error: 'tt.dot' op is too large\n"
        "/home/kernel-1/kernel.py:12:8: note: called from\n"
    )
    found = compile_ttir._diagnosed(log, RuntimeError("PassManager::run failed"))
    assert (str(found), found.line) == ("'tt.dot' op is too large", 12)
