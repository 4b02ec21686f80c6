"""An error becomes the fault that a worker reports."""

from __future__ import annotations

from grader.worker.faults import describe


def test_an_error_before_a_kernel_file_was_loaded_keeps_its_text():
    """Its path is empty then, and stood between any two letters."""
    assert describe(RuntimeError("no memory"), "").message == "RuntimeError: no memory"


def test_the_path_of_the_kernel_file_becomes_its_name():
    fault = describe(RuntimeError("/tmp/w/kernel.py is odd"), "/tmp/w/kernel.py")
    assert fault.message == "RuntimeError: kernel.py is odd"
