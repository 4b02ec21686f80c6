"""The failure of a broken law, its sentence and its hint; and which exceptions break none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky, UnsatisfiedAssumption

from grader.correctness import OtherBits
from grader.grading import laws
from grader.model import CannotGrade, Failure
from grader.sandbox import KernelFailure
from grader.testing import assert_within


def test_a_law_and_its_detail_are_two_sentences():
    failure = laws.broken("The sum is 1.", AssertionError("sums at [0]: expected 1\nmore"), [])
    assert (failure.kind, failure.message) == (
        "property",
        "The sum is 1. Sums at [0]: expected 1",
    )
    assert (failure.hint, failure.cause) == (None, None)
    assert laws.broken("It is 1.", AssertionError(), []).message == "It is 1. It does not hold"


@pytest.mark.parametrize(
    "line",
    [
        "    tl.atomic_add(loss_ptr, total)",
        "    place = tl.atomic_add(ended_ptr, 1)",
        "    cuda.atomic.add(out, 0, total)",
        "    atomicAdd(out, total);",
    ],
)
def test_other_bits_point_to_the_atomic_operation(line: str):
    source = ["import torch  # no atomic_add(", "# tl.atomic_add(x, 1)", line, line]
    failure = laws.broken("The same bits.", OtherBits("loss"), source)
    assert failure.cause == "not_repeatable"
    assert f"See line 3 ({line.strip()})." in failure.hint


def test_other_bits_without_an_atomic_operation_name_no_line():
    failure = laws.broken("The same bits.", OtherBits("loss"), ["nonatomic = 1"])
    assert failure.cause == "not_repeatable"
    assert "See line" not in failure.hint


# -- whose fault it is

ASSERTS = "def check(x):\n    assert x == 1\n"


def raised(work: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011  which one is what is tested
        work()
    return caught.value


def check_in(file: Path) -> Callable[[], object]:
    """Return a call of a function in such a file, which asserts what does not hold."""
    file.write_text(ASSERTS)
    names: dict[str, Callable[[int], object]] = {}
    exec(compile(ASSERTS, str(file), "exec"), names)
    return lambda: names["check"](2)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("test_kernel.py", True),
        ("helpers.py", True),
        ("laws/helpers.py", True),
        ("spec.py", False),
        ("../common.py", False),
    ],
)
def test_an_assertion_of_the_spec_says_nothing_of_the_kernel(
    tmp_path: Path, name: str, broken: bool
):
    folder = tmp_path / "testing" / "01_double"  # whatever the course's folder is called
    (folder / "laws").mkdir(parents=True)
    error = raised(check_in(folder / name))
    assert laws.is_broken(error, folder / "test_kernel.py") is broken


@pytest.mark.parametrize(
    ("work", "broken"),
    [
        (lambda: assert_within(torch.zeros(2), 1.0, 0.0, "sums"), True),
        (lambda: torch.testing.assert_close(torch.zeros(2), torch.ones(2)), True),
        # As torch's own of CUDA: "Torch not compiled with CUDA enabled".
        (lambda: exec("assert False", {"__name__": "torch.cuda"}), False),
        (lambda: [].pop(), False),
    ],
    ids=["ours", "torch's", "no comparison", "no assertion"],
)
def test_only_what_compares_breaks_a_law(work: Callable[[], object], broken: bool, tmp_path: Path):
    assert laws.is_broken(raised(work), tmp_path / "test_kernel.py") is broken


@pytest.mark.parametrize(
    "error",
    [CannotGrade("A process was killed.", ""), OSError(28, "No space left"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
def test_what_the_machine_does_once_is_no_change_of_the_kernel(error: Exception, tmp_path: Path):
    found = laws.cause_of(once(error), tmp_path / "test_kernel.py")
    assert found is error


def test_a_kernel_that_changes_from_call_to_call_is_flaky(tmp_path: Path):
    broken = raised(check_in(tmp_path / "test_kernel.py"))
    failed = KernelFailure(Failure(kind="exception", message="it fails"))
    # The second time its output may be one that the law leaves out by `assume`.
    for errors in ((broken,), (failed,), (broken, UnsatisfiedAssumption())):
        found = laws.cause_of(once(*errors), tmp_path / "test_kernel.py")
        assert isinstance(found, Flaky)


def once(*errors: BaseException) -> BaseException:
    """Return what Hypothesis makes of exceptions that only the third and further calls raise."""
    calls = SimpleNamespace(count=0)

    @settings(database=None, max_examples=12, phases=[Phase.generate, Phase.shrink])
    @given(number=st.integers())
    def law(number: int) -> None:
        calls.count += 1
        if 3 <= calls.count < 3 + len(errors):
            raise errors[calls.count - 3]

    found = raised(law)
    assert isinstance(found, Flaky)
    return found
