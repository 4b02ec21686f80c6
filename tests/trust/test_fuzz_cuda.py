"""Whatever a worker sends as a source in CUDA C++, the judge reads it as a source or refuses it.

Behind it lies the compiler's process. Its log holds text of the source's author, too.
"""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from typing import Any

import pytest
from fuzzing import JSON, fuzz, mutated
from hypothesis import example, given
from hypothesis import strategies as st

from grader.backends.cuda import compile_cpp
from grader.backends.cuda.lines import numbered
from grader.backends.cuda.parameters import sizes_of
from grader.backends.cuda.refusals import LONGEST, LONGEST_NAME, sentence
from grader.worker.compile_jobs import Refused

pytestmark = pytest.mark.slow

SENT = {
    "code": 'extern "C" __global__ void add() {}',
    "arch": "sm_90a",
    "options": {"std": "c++17", "fma": True, "max_register_count": 32, "define_macro": ["A=1"]},
    "names": ["add"],
    "kernel": "add",
}
WORDS = st.sampled_from(
    [
        *("kernel.py(3): error: ", "default_program(2): ", "error #20: ", "ptxas error   : "),
        *("ptxas info    : Compiling entry function 'add' for 'sm_90'\n", "\n", "'", "\0"),
        *("Entry function 'add' uses too much shared data (0xffff bytes, 0xc000 max)", "\\"),
        *("#line 1", "Used 9 registers", "0x" + 300 * "f"),
    ]
)
LOGS = st.lists(WORDS | st.text(max_size=8), max_size=8).map("".join)


@fuzz(150)
@given(st.just(SENT).flatmap(mutated) | JSON)
@example(SENT | {"options": {"include_path": "/etc"}})
@example(SENT | {"options": {"pre_include": "/etc/passwd"}})
@example(SENT | {"options": {"fdevice_time_trace": "/tmp/file"}})
@example(SENT | {"options": {"std": "c++17 --pre-include=/etc/passwd"}})
@example(SENT | {"options": {"max_register_count": True}})
def test_any_source_is_read_or_refused(value: Any):
    try:
        source = compile_cpp.read(json.dumps(value))
    except compile_cpp.Refused:
        return
    allowed = {*compile_cpp.SWITCHES, *compile_cpp.NUMBERS}
    allowed |= {*compile_cpp.TEXTS, *compile_cpp.MACROS}
    assert source.options.keys() <= allowed
    assert source.family in ("", "a", "f")
    assert all(isinstance(name, str) for name in (*source.names, source.kernel, source.code))


def test_options_that_name_files_are_refused():
    for name in ("include_path", "pre_include", "fdevice_time_trace", "time", "use_pch", "pch_dir"):
        with pytest.raises(Refused, match="is not taken here"):
            compile_cpp.read(json.dumps(SENT | {"options": {name: "/tmp/file"}}))


@fuzz(150)
@given(LOGS)
@example("kernel.py(3): error: 0x" + 5000 * "f")  # Python writes no number of so many digits
def test_any_log_has_a_sentence_and_the_figures_of_some_kernels(log: str):
    said, line = sentence(log)
    assert len(said) <= LONGEST + LONGEST_NAME + 40
    assert line is None or line >= 0
    assert all(isinstance(text, str) for text in compile_cpp._entries(log).values())


def test_figures_that_a_source_prints_do_not_count():
    """The compiler's own come last."""
    own = "ptxas info    : Compiling entry function '{0}' for 'sm_90'\nUsed {1} registers\n"
    log = own.format("add", 1) + "kernel.py(1): warning\n" + own.format("add", 200)
    assert "Used 200" in compile_cpp._entries(log)["add"]


@fuzz(100)
@given(LOGS, st.lists(LOGS, max_size=4))
def test_any_source_keeps_its_text_when_lines_are_numbered(code: str, lines: list[str]):
    made = numbered(code, lines).split("\n")
    kept = [line for line in made if not line.startswith("#line ")]
    assert [line for line in code.split("\n") if not line.startswith("#line ")] == kept


ELF = b"\x7fELF" + bytes(36) + (64).to_bytes(8, "little") + bytes(16)


@fuzz(150)
@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda rest: ELF + rest))
def test_any_machine_code_has_parameters_or_an_error_of_ours(code: bytes):
    sizes = None
    with suppress(ValueError, IndexError, struct.error):  # all of them fail the learner's call
        sizes = sizes_of(code, "add")
    assert sizes is None or all(0 <= size < 1 << 14 for size in sizes)
