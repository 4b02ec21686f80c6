"""The language of a kernel file by its imports, and the spec in it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course import catalog
from grader.course.backend_choice import backend_of, imported_backends, in_backend
from grader.course.backend_fit import misfit
from grader.grading.steps.counts import budgets_of
from grader.model.errors import BrokenExercise

ROOT = Path(__file__).parents[2]
DOUBLE = catalog.find(ROOT / "tests" / "courses" / "levels", "01_double")
SPEC = DOUBLE.spec


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import triton\nimport triton.language as tl\n", ("triton",)),
        ("from cuda.core import Device\n", ("cuda",)),
        ("def double(x, out):\n    import cuda.core as core\n", ("cuda",)),
        ("import torch\n", ()),
        ("'''import cuda'''\n# import cuda\ncuda = 'import cuda'\n", ()),
        ("from . import cuda\nfrom .cuda import core\n", ()),
        ("import cudatoolkit, mycuda.cuda\nfrom torch import cuda\n", ()),
        ("from numba import cuda\n", ()),  # a language that this exercise does not allow
        ("import triton\nfrom cuda.core import Device\n", ("triton", "cuda")),
        ("import cuda\ndef broken(:\n", ()),
        ("import cuda\n'\\d'\n", ("cuda",)),
        ("import cuda\0\n", ()),
        ("import cuda\n" + "(" * 300 + ")" * 300, ()),  # deeper than the parser goes
    ],
)
def test_a_file_is_in_the_one_language_that_it_imports(source: str, named: tuple[str, ...]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert imported_backends(SPEC, source.encode()) == named
    assert backend_of(SPEC, source.encode()) == (named[0] if len(named) == 1 else "triton")


def test_bytes_that_are_no_text_are_in_the_first_language():
    assert backend_of(SPEC, b"\xff\xfeimport cuda") == "triton"


def test_a_spec_of_one_language_reads_no_file():
    alone = replace(SPEC, also_in=())
    assert imported_backends(alone, b"import triton, cuda") == ()
    assert backend_of(alone, b"import cuda") == "triton"


def test_budgets_of_another_languages_counts_do_not_apply():
    assert [budget.count for budget in SPEC.budgets] == ["programs"]
    inside = in_backend(SPEC, "cuda")
    assert (inside.backend, inside.also_in) == ("cuda", ("triton",))
    assert (budgets_of(SPEC), budgets_of(inside)) == ([*SPEC.budgets], [])
    assert in_backend(SPEC, "triton") is SPEC
    with pytest.raises(BrokenExercise, match="allows triton, cuda, and no numba"):
        in_backend(SPEC, "numba")


def test_a_file_chooses_wherever_it_lies():
    in_cuda = DOUBLE.for_file(b"import cuda")
    assert (in_cuda.backend, in_cuda.spec.backend) == ("cuda", "cuda")
    assert in_cuda == DOUBLE, "it is the same exercise"
    assert in_cuda.for_file(b"import triton").spec.backend == "triton"
    assert (DOUBLE.file, in_cuda.file) == ("kernel.py", "kernel_cuda.py")
    assert [one.solution.name for one in in_cuda.in_all_backends] == ["kernel.py", "kernel_cuda.py"]


def test_each_language_must_take_what_the_spec_draws():
    assert misfit(SPEC) is None
    fault = misfit(replace(SPEC, dtypes=("float8_e5m2",), also_in=("cuda", "numba")))
    assert fault is not None
    assert fault.startswith("numba CUDA takes no float8_e5m2")
    with pytest.raises(BrokenExercise, match="no backend 'cdua'"):
        misfit(replace(SPEC, also_in=("cdua",)))


def test_a_language_is_named_once():
    with pytest.raises(ValueError, match="also_in names a backend twice"):
        replace(SPEC, also_in=("triton",))


def test_all_entries_of_a_file_are_in_its_language():
    other = replace(SPEC, entry="triple")
    whole = replace(SPEC, also=(other,))
    inside = in_backend(whole, "cuda")
    assert [(one.entry, one.backend) for one in inside.entries] == [
        ("double", "cuda"),
        ("triple", "cuda"),
    ]
    with pytest.raises(ValueError, match="double and triple differ in backends"):
        replace(SPEC, also=(replace(other, also_in=()),))
