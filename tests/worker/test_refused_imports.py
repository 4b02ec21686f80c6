"""Languages that no backend knows are refused, and named as such."""

from __future__ import annotations

import importlib
import sys

import pytest

from grader import backends
from grader.worker import refused_imports


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))


def test_the_language_is_named(path, monkeypatch: pytest.MonkeyPatch):
    refused_imports.install()
    for module in ("cutlass", "cutlass.cute"):
        with pytest.raises(ImportError, match="CuTe DSL starts kernels by a runtime of its own"):
            importlib.import_module(module)


def test_the_languages_to_use_are_listed(path):
    refused_imports.install()
    with pytest.raises(
        ImportError, match=r"Write kernels in CUDA C\+\+, .*Triton or numba CUDA\.$"
    ):
        importlib.import_module("cutlass")


def test_other_modules_are_searched_for(path):
    refused_imports.install()
    assert importlib.import_module("wave").__name__ == "wave"
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        importlib.import_module("no_such_module")


def test_a_language_with_a_backend_is_imported(path, monkeypatch: pytest.MonkeyPatch):
    known = backends.every()[0]
    monkeypatch.setitem(refused_imports.UNKNOWN, known.modules[0], "ours")
    refused_imports.install()
    assert sys.meta_path[0].find_spec(known.modules[0], None) is None
