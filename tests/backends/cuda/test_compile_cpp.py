"""CUDA C++ to machine code: what is refused before NVRTC sees it, and the figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fuzzing import JSON, as_bytes, fuzz, mutated
from hypothesis import given
from needs_nvrtc import NEEDS_NVRTC

from grader.backends.cuda import compile_cpp
from grader.worker.compile_jobs import Refused

OPTIONS = {"num_warps": 3, "maxnreg": None, "shared": 0}
JOB = {"file": "0.text", "options": OPTIONS, "target": 90, "limit_s": 120, "sass": True}
TWICE = """#line 7 "kernel.py"
__shared__ float tile[64];
extern "C" __global__ void twice(const float* x, float* out) {
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = FACTOR * tile[63 - threadIdx.x];
}
"""


def text(code: str = TWICE, **given: Any) -> str:
    value = {"arch": "sm_90", "options": {"define_macro": ["FACTOR=2.0f"]}, "names": []}
    return json.dumps({"code": code, "kernel": "twice"} | value | given)


def run(folder: Path, kernel: str, *jobs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compile a text as the judge does, but for the walls, which need no second test here."""
    (folder / "0.text").write_text(kernel)
    (folder / "jobs.json").write_text(json.dumps([{**JOB, **job} for job in jobs or [{}]]))
    subprocess.run(
        [sys.executable, "-I", "-m", compile_cpp.__name__, str(folder), "600", ""],
        env={"HOME": str(folder), "TMPDIR": str(folder), "PATH": os.environ["PATH"]},
        check=True,
    )
    return [json.loads(line) for line in (folder / "built.jsonl").read_text().splitlines()]


@NEEDS_NVRTC
@pytest.mark.slow
def test_one_text_compiles_for_each_gpu(tmp_path: Path):
    built = run(tmp_path, text(), *({"target": target} for target in (75, 90, 100)))
    assert [one.get("error") for one in built] == [None] * 3
    for one in built:
        assert 4 <= one["registers"] <= 32
        assert (one["spills"], one["shared"], one["threads"]) == (0, 256, 96)
        assert one["loads"] == one["stores"] == {"32": 1}


@NEEDS_NVRTC
@pytest.mark.slow
def test_a_launch_adds_shared_memory(tmp_path: Path):
    (built,) = run(tmp_path, text(), {"options": {**OPTIONS, "shared": 1000}})
    assert built["shared"] == 1256


@NEEDS_NVRTC
@pytest.mark.slow
def test_the_figures_are_those_of_the_launched_kernel(tmp_path: Path):
    other = 'extern "C" __global__ void other(double* x) { x[0] = sin(x[1]) * pow(x[2], x[3]); }'
    built = [
        run(folder, text(f"{TWICE}{other}", kernel=name))[0]
        for name in ("twice", "other")
        if (folder := tmp_path / name).mkdir() is None
    ]
    assert built[0]["registers"] < built[1]["registers"]
    assert built[0]["shared"] == 256
    assert built[0]["loads"] == {}  # of two kernels' loads, none is said to be this one's


@NEEDS_NVRTC
@pytest.mark.slow
def test_features_of_one_family_compile_where_the_file_asks_for_it(tmp_path: Path):
    asks = TWICE.replace(
        "FACTOR * ", 'FACTOR * 1.0f; asm("setmaxnreg.inc.sync.aligned.u32 64;");//'
    )
    plain, own = ((tmp_path / name) for name in ("plain", "own"))
    plain.mkdir()
    own.mkdir()
    assert "error" in run(plain, text(asks))[0]
    assert "error" not in run(own, text(asks, arch="sm_90a"))[0]


@NEEDS_NVRTC
@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "kernel", "error", "line"),
    [
        (TWICE.replace("];\n}", "]\n}"), "twice", 'expected a ";"', 12),
        (TWICE, "thrice", "the source has no kernel thrice", None),
        ('#line 3 "kernel.py"\n#include <cstdio>\n', "twice", "there is no header cstdio", 3),
    ],
)
def test_what_nvrtc_refuses_has_its_sentence_and_line(
    tmp_path: Path, code: str, kernel: str, error: str, line: int | None
):
    assert run(tmp_path, text(code, kernel=kernel)) == [{"error": error, "line": line}]


@pytest.mark.parametrize(
    "given",
    [
        {"options": {"include_path": ["/"]}},
        {"options": {"pre_include": "/etc/passwd"}},
        {"options": {"ptxas_options": ["-o", "x"]}},
        {"options": {"std": "c++17 --x"}},
        {"options": {"max_register_count": "32"}},
        {"options": {"define_macro": [["A", "B"]]}},
        {"options": {"ftz": 1}},
        {"code": None},
        {"code": "\0"},
        {"arch": 90},
        {"names": None},
        {"names": [1]},
        {"kernel": None},
        {"options": 3},
    ],
)
def test_a_text_that_no_worker_of_ours_writes_is_refused(given: dict[str, Any]):
    with pytest.raises(Refused):
        compile_cpp.read(text(**given))


@pytest.mark.parametrize("whole", ["", "[]", "3", "{}", "[" * 100_000])
def test_a_text_that_is_no_record_is_refused(whole: str):
    with pytest.raises(Refused):
        compile_cpp.read(whole)


@fuzz(60)
@given((mutated(json.loads(text())) | JSON).map(as_bytes).map(bytes.decode))
def test_any_text_is_refused_or_let_through_to_the_compiler(whole: str):
    with suppress(Refused):
        source = compile_cpp.read(whole)
        assert all(isinstance(one, str) for one in (source.code, source.kernel, *source.names))
