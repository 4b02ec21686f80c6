"""numba's LLVM code to machine code: what is refused before NVVM sees it, and the figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fuzzing import JSON, as_bytes, fuzz, mutated
from hypothesis import given
from hypothesis import strategies as st
from needs_nvvm import NEEDS_NVVM

from grader.backends.numba import compile_llvm
from grader.worker.compile_jobs import Refused

OPTIONS = {"num_warps": 3, "maxnreg": None, "shared": 0}
JOB = {"file": "0.text", "options": OPTIONS, "target": 90, "limit_s": 120, "sass": True}
HEADER = """; ModuleID = "double" asm
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0, i32 3, i32 2}
"""
MODULE = f"""{HEADER}
@"shared" = internal addrspace(3) global [64 x float] undef, align 4
@"text" = private constant [7 x i8] c"asm \\22x\\00"

define void @"double"(float* %x, float* %"out") {{
asm:
  %tid = call i32 @"llvm.nvvm.read.ptx.sreg.tid.x"()
  %from = getelementptr float, float* %x, i32 %tid
  %value = load float, float* %from
  %place = getelementptr [64 x float], [64 x float] addrspace(3)* @"shared", i32 0, i32 %tid
  store float %value, float addrspace(3)* %place
  call void @"llvm.nvvm.barrier0"()
  %other = load float, float addrspace(3)* %place
  BODY
  %to = getelementptr float, float* %"out", i32 %tid
  store float %made, float* %to
  ret void
}}

declare i32 @"llvm.nvvm.read.ptx.sreg.tid.x"()
declare void @"llvm.nvvm.barrier0"()
MORE

!nvvm.annotations = !{{!1}}
!1 = !{{void (float*, float*)* @"double", !"kernel", i32 1}}
"""
TWICE = "%made = fadd float %other, %other"
HELPER = f"""{HEADER}
define linkonce_odr float @"helper"(float %x) {{
  %y = call float @"__nv_sinf"(float %x)
  ret float %y
}}
declare float @"__nv_sinf"(float)
"""

Run = Callable[..., list[dict[str, Any]]]


def text(body: str = TWICE, more: str = "", *modules: str, fastmath: Any = False) -> str:
    own = MODULE.replace("BODY", body).replace("MORE", more)
    return json.dumps({"modules": [own, *modules], "fastmath": fastmath, "opt": True})


def calls(function: str) -> str:
    """Return a text that takes this function from elsewhere."""
    return text(f'%made = call float @"{function}"(float %other)', declared(function))


def declared(function: str) -> str:
    return f'declare float @"{function}"(float)'


def assembly(template: str, keyword: str = "asm") -> str:
    return text(f'%made = call float {keyword} "{template}", "=f,f"(float %other)')


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Compile texts as the judge does, but for the walls, which need no second test here."""

    def carry_out(kernel: str, *jobs: Mapping[str, Any]) -> list[dict[str, Any]]:
        (tmp_path / "0.text").write_text(kernel)
        listed = [{**JOB, **job} for job in jobs]
        (tmp_path / "jobs.json").write_text(json.dumps(listed))
        subprocess.run(
            [sys.executable, "-I", "-m", compile_llvm.__name__, str(tmp_path), "600", ""],
            env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]},
            check=True,
        )
        return [json.loads(line) for line in (tmp_path / "built.jsonl").read_text().splitlines()]

    return carry_out


@NEEDS_NVVM
@pytest.mark.slow
def test_one_text_compiles_for_each_gpu(run: Run):
    built = run(text(), *({"target": target} for target in (75, 90, 100)))
    assert [one.get("error") for one in built] == [None] * 3
    for one in built:
        assert 4 <= one["registers"] <= 32
        assert (one["spills"], one["shared"], one["threads"]) == (0, 256, 96)
        assert one["loads"] == one["stores"] == {"32": 1}


@NEEDS_NVVM
@pytest.mark.slow
def test_a_launch_adds_shared_memory_and_a_kernel_limits_registers(run: Run):
    # Sixty values, each loaded before the first is used.
    places = [f"%p{n} = getelementptr float, float* %x, i32 {n}" for n in range(60)]
    loads = [f"%v{n} = load volatile float, float* %p{n}" for n in range(60)]
    products = [f"%s{n} = fmul float {f'%s{n - 1}' if n else '%other'}, %v{n}" for n in range(60)]
    [plain, limited] = run(
        text("\n".join([*places, *loads, *products, "%made = fadd float %s59, %v0"])),
        {"options": {**OPTIONS, "shared": 1000}, "target": 100},  # two jobs share no file's target
        {"options": {**OPTIONS, "maxnreg": 24}},
    )
    assert (plain["shared"], limited["shared"]) == (1256, 256)
    assert limited["registers"] <= 24 < plain["registers"]


@NEEDS_NVVM
@pytest.mark.slow
def test_functions_in_other_modules_and_libdevice_are_compiled_with_the_kernel(run: Run):
    kernel = text(
        "%made = call float @helper(float %other)", "declare float @helper(float)", HELPER
    )
    [built] = run(kernel, {})
    assert built.get("error") is None
    assert built["registers"] > 16


@NEEDS_NVVM
@pytest.mark.slow
@pytest.mark.parametrize("function", ["cudaCGGetIntrinsicHandle", "_ZL4hexp6__half_nbst"])
def test_what_a_launch_would_link_is_left_out(run: Run, function: str):
    [built] = run(calls(function), {})
    assert built.get("error") is None


@NEEDS_NVVM
@pytest.mark.slow
def test_a_refusal_of_nvidia_s_compiler_is_one_sentence(run: Run):
    [refused] = run(text("%made = fadd float %other, %nowhere"), {})
    assert refused == {"error": "use of undefined value '%nowhere'", "line": None}


def test_nvidia_s_words_lose_their_form():
    said = "error: Error: :  Function `f' Basic Block `a': \n  context:  %v\n  Not supported\n\n"
    sentence = "Function `f' Basic Block `a': context: %v Not supported"
    assert compile_llvm._sentence(said) == sentence
    assert compile_llvm._sentence("kernel (6, 36): parse type: no error: x") == "type: no error: x"


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise ImportError("no library")

    monkeypatch.setattr(compile_llvm, "_nvvm", fail)
    monkeypatch.setattr(compile_llvm, "_tool", lambda name: Path(sys.executable))
    assert compile_llvm._missing() == "NVVM"
    monkeypatch.setattr(compile_llvm, "_tool", lambda name: Path("nowhere"))
    assert compile_llvm._missing() == "ptxas-blackwell"


def test_a_version_of_ptx_that_ptxas_does_not_know_is_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    said = "ptxas k.ptx, line 1; fatal   : Unsupported .version 9.5; current version is '9.1'"
    seen: list[str] = []

    def assemble(command: object, ptx: str, path: Path) -> str:
        seen.append(ptx)
        return said if ".version 9.5" in ptx else "Used 8 registers"

    monkeypatch.setattr(compile_llvm, "_run", assemble)
    ptx = ".version 9.5\n.target sm_90a\n"
    assert compile_llvm._assembled([], ptx, tmp_path) == "Used 8 registers"
    assert seen == [ptx, ".version 9.1\n.target sm_90a\n"]


def test_an_error_of_ptxas_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = "ptxas fatal   : Unresolved extern function 'f'"
    monkeypatch.setattr(compile_llvm, "_run", lambda *_: said)
    with pytest.raises(Refused, match="Unresolved extern function 'f'"):
        compile_llvm._assembled([], "", tmp_path)


# -- before LLVM sees it


def test_what_numba_writes_is_let_through():
    assert compile_llvm.read(text()).links is False
    assert compile_llvm.read(text(TWICE, declared("helper"), HELPER)).links is False
    for function in ("vprintf", "__assertfail", "__nv_tanhf"):
        assert compile_llvm.read(calls(function)).links is False


@pytest.mark.parametrize(
    "template",
    [
        "activemask.b32 $0;",
        "mov.u32 $0, %lanemask_lt;",
        "mov.u32 $0, %dynamic_smem_size;",
        "nanosleep.u32 $0;",
        "cvt.rn.f16.f32 $0, $1;",
        "tanh.approx.f32 $0, $1;",
        "ld.global.cg.b32 $0, [$1];",
        "st.global.cs.b32 [$0], $1;",
    ],
)
def test_the_assembly_that_numba_writes_is_let_through(template: str):
    compile_llvm.read(assembly(template))
    compile_llvm.read(assembly(template, "asm sideeffect"))


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (assembly("add.f32 $0, $1, $1;"), "inline assembly is not compiled here"),
        (assembly("activemask.b32 $0; exit;"), "inline assembly is not compiled here"),
        (assembly("ld.global.cg.b32 $0, [$1];\\0Aexit;", "asm volatile"), "inline assembly"),
        (text(TWICE, 'module asm ".entry other() {}"'), "inline assembly is not compiled here"),
        (text(TWICE, "", 'module asm ".file 1"'), "inline assembly is not compiled here"),
        (text('%made = call float asm\n; "brkpt;"\n"exit;", ""()'), "inline assembly"),
        (text('; \r %made = call float asm "exit;", ""()'), "inline assembly"),
        (text('call i32asm "exit;", ""()'), "inline assembly"),
        (text('call %0asm "exit;", ""()', "%0 = type float"), "inline assembly"),
        (text('/* " */ %made = call float asm "exit;", ""() ; "'), "none that numba writes"),
        (text(TWICE, "@0 = external global i32declare void @system()"), "system is a function"),
        (text(TWICE, "@g = alias float, float* @0declare void @system()"), "system is a function"),
        (calls("system"), "system is a function of another library"),
        (text(TWICE, "declare void\n@system()"), "system is a function of another library"),
        (text(TWICE, 'declare float @"llvm.x\\28"(float)'), "is a function of another library"),
    ],
)
def test_code_of_another_kind_is_refused(kernel: str, sentence: str):
    with pytest.raises(Refused, match=sentence):
        compile_llvm.read(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"modules": [], "fastmath": false, "opt": true}',
        '{"modules": [1], "fastmath": false, "opt": true}',
        '{"modules": ["\\u0000"], "fastmath": false, "opt": true}',
        json.dumps({"modules": [""] * 257, "fastmath": False, "opt": True}),
        text(fastmath="-dump"),
    ],
)
def test_texts_of_another_form_are_refused(kernel: str):
    with pytest.raises(Refused, match="its code is none that numba writes"):
        compile_llvm.read(kernel)


PIECES = (
    "asm",
    '"',
    ";",
    "\n",
    "declare ",
    "define ",
    "@f",
    '@"g"',
    "brkpt;",
    "module ",
    "\\",
    "(",
)
SOURCES = mutated(json.loads(text(TWICE, "", HELPER)))
MODULES = st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=4)).map("".join))


@fuzz(60)
@given(
    (SOURCES | JSON).map(as_bytes).map(bytes.decode)
    | MODULES.map(lambda made: json.dumps({"modules": made, "fastmath": False, "opt": True}))
)
def test_any_text_is_refused_or_let_through_to_the_compiler(kernel: str):
    with suppress(Refused):
        assert all(isinstance(module, str) for module in compile_llvm.read(kernel).modules)
