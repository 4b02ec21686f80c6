"""Reports of compute-sanitizer, after its manual and after real ones, and what is made of them."""

from __future__ import annotations

from pathlib import Path

from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.grading import sanitizer_report
from grader.grading.sanitizer_report import KernelFile, Report

KERNEL = KernelFile(
    Path("/home/worker/kernel.py"), "\n".join(f"line_{n}()" for n in range(1, 31)) + "\n"
)

INVALID = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at add_kernel+0xec0 in kernel.py:23
=========     by thread (5,0,0) in block (3,0,0)
=========     Access to 0x7f0000001004 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f0000000000 of size 4,100 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at add_kernel+0xec0 in kernel.py:23
=========     by thread (6,0,0) in block (3,0,0)
=========     Access to 0x7f0000001008 is out of bounds
=========     and is 5 bytes after the nearest allocation at 0x7f0000000000 of size 4,100 bytes
=========
========= Invalid __global__ read of size 16 bytes
=========     at add_kernel+0x2a0 in kernel.py:21
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x7effffffff00 is out of bounds
=========     and is 1,241 bytes before the nearest allocation at 0x7f0000000f00 of size 64 bytes
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure"
=========     Saved host backtrace up to driver entry point at error
=========
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
"""
ARRAYS = {0x7F0000000000: "out"}


def read(report: str) -> Report:
    return sanitizer_report.read(report, KERNEL, ARRAYS)


def test_an_invalid_access_is_reported_with_its_line_and_its_array(snapshot: SnapshotAssertion):
    write, load = read(INVALID).errors
    assert write.kind == "out_of_bounds"
    assert text_of(write) == snapshot
    assert [(f.line, f.function, f.code) for f in write.frames] == [
        (23, "add_kernel", "line_23()"),
    ]
    assert (write.thread, write.block, write.count) == ("(5,0,0)", "(3,0,0)", 2)
    assert text_of(load) == snapshot
    assert load.count == 1


def test_what_the_program_says_after_a_fault_is_no_fault_of_its_own():
    report = read(INVALID)
    assert report.complete
    assert report.unknown == ()


def test_the_form_of_older_versions_is_read_too(snapshot: SnapshotAssertion):
    old = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at 0xda0 in /home/worker/kernel.py:17:add_kernel
=========     by thread (96,0,0) in block (44,0,0)
=========     Address 0x763995f9f000 is misaligned
========= ERROR SUMMARY: 1 error
"""
    (error,) = read(old).errors
    assert (error.kind, error.function) == ("misaligned", "add_kernel")
    assert text_of(error) == snapshot
    assert [f.line for f in error.frames] == [17]


def test_without_line_information_only_the_function_is_reported(snapshot: SnapshotAssertion):
    bare = """\
========= Invalid __shared__ write of size 4 bytes
=========     at block_sum(float, Array<float, 1>)+0x1b0
=========     by thread (255,0,0) in block (0,0,0)
=========     Address 0x400 is out of bounds
========= ERROR SUMMARY: 1 error
"""
    (error,) = read(bare).errors
    assert error.frames == ()
    assert error.function == "block_sum"
    assert text_of(error) == snapshot


def test_a_librarys_line_is_not_the_learners():
    library = INVALID.replace("kernel.py:2", "/usr/lib/triton/language/standard.py:2")
    assert all(error.frames == () for error in read(library).errors)
    assert read(library).errors, "it is an error all the same"


RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Read access at dot_partials+0x2f0 in kernel.py:27
=========     and Write access at dot_partials+0x310 in kernel.py:28 [1016 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_a_race_is_reported_with_both_its_lines(snapshot: SnapshotAssertion):
    report = read(RACE)
    (error,) = report.errors
    assert error.kind == "race"
    assert [f.line for f in error.frames] == [27, 28]
    assert text_of(error) == snapshot
    assert report.complete


def test_two_writes_on_one_line_are_reported_once(snapshot: SnapshotAssertion):
    (error,) = read(RACE.replace("Read", "Write").replace(":28", ":27")).errors
    assert [f.line for f in error.frames] == [27]
    assert text_of(error) == snapshot


def test_a_race_between_lines_of_a_library_is_counted_apart():
    report = read(RACE.replace("kernel.py", "/usr/lib/triton/language/standard.py"))
    assert report.errors == ()
    assert report.elsewhere == 1


def test_a_race_in_code_without_line_information_is_the_learners():
    (error,) = read(RACE.replace(" in kernel.py:27", "").replace(" in kernel.py:28", "")).errors
    assert (error.function, error.frames) == ("dot_partials", ())


def test_what_the_tool_only_warns_of_is_no_error():
    report = read(RACE.replace("Error:", "Warning:"))
    assert report.errors == ()
    assert report.unknown == ()


def test_an_entry_of_another_kind_is_never_taken_for_silence():
    report = read(
        "========= Internal Sanitizer Error: something\n========= ERROR SUMMARY: 0 errors"
    )
    assert report.unknown == ("Internal Sanitizer Error: something",)


def test_a_report_without_summary_is_not_complete():
    assert not read("").complete
    assert not read("========= COMPUTE-SANITIZER\n").complete


def test_the_number_of_reported_errors_is_limited():
    many = "".join(
        f"========= Invalid __global__ read of size 4 bytes\n"
        f"=========     at f+0x10 in kernel.py:{line}\n"
        for line in range(1, 30)
    )
    assert len(read(many).errors) == sanitizer_report.MOST_ERRORS


def test_numbers_and_lines_of_any_length_are_read_or_left():
    digits = "9" * 10_000
    for line in (
        f"of size {digits} bytes",
        f"of size 4 bytes\n=========     at f+0x1 in k:{digits}",
    ):
        read(f"========= Invalid __global__ read {line}\n")
    read("========= Error: Race reported between Read access at " + "+0x1 in a:" * 100_000)


# -- as compute-sanitizer 2025.3.1 wrote them on an H200

TRITON_WITHOUT_A_MASK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at add_kernel+0x110 in kernel.py:16
=========     by thread (0,0,0) in block (1,0,0)
=========     Access to 0x7f0000001000 is out of bounds
=========     and is inside the nearest allocation at 0x7f0000000000 of size 4100 bytes
=========\x20
========= Invalid __global__ read of size 16 bytes
=========     at add_kernel+0x110 in kernel.py:16
=========     by thread (1,0,0) in block (1,0,0)
=========     Access to 0x7f0000001010 is out of bounds
=========     and is 13 bytes after the nearest allocation at 0x7f0000000000 of size 4100 bytes
=========\x20
"""
MANGLED = "[abi:v2,cw51cXTLSUwv1sDUaKthqaNgoKmjgMVuW1AiA8rAEg2UjxRKtuAIAMYDWpKAqkSkPiQ_3d_3d]"
NUMBA_WITHOUT_A_BARRIER = f"""\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at learner_kernel_0::block_sum{MANGLED}(float)\
+0xbd0 in kernel.py:24
=========     and Read access at learner_kernel_0::block_sum{MANGLED}(float)+0xc80 in kernel.py:24 \
[256 hazards]
=========\x20
========= RACECHECK SUMMARY: 11 hazards displayed (6 errors, 5 warnings)
"""


def test_an_access_that_begins_inside_goes_across_the_end(snapshot: SnapshotAssertion):
    (error,) = read(TRITON_WITHOUT_A_MASK).errors
    assert error.count == 2
    assert text_of(error) == snapshot
    assert [(f.line, f.function) for f in error.frames] == [(16, "add_kernel")]


def test_a_numba_function_is_named_without_its_module_and_types(snapshot: SnapshotAssertion):
    (error,) = read(NUMBA_WITHOUT_A_BARRIER).errors
    assert (error.function, [f.line for f in error.frames]) == ("block_sum", [24])
    assert text_of(error) == snapshot
