"""`grader.check`, `grader.Judge` and `%%kernel`: a kernel in, a typed result out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import grader
from grader.model.errors import UsageError
from grader.model.outcomes import Status
from grader.model.results import Result

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SOLUTION = (REPOSITORY / "solutions" / "p01_map" / "kernel.py").read_text(encoding="utf-8")
WRONG = REPOSITORY / "solutions" / "p01_map" / "wrong_off_by_one.py"
# A kernel file that would show whether the process of this test had imported it.
TELLTALE = "import os\nos.environ['GRADED_HERE'] = '1'\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("course")
    shutil.copytree(REPOSITORY / "puzzles" / "p01_map", root / "puzzles" / "p01_map")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_COURSE", str(root))
        yield root


@pytest.fixture(scope="module")
def batch(course: Path) -> list[grader.Checked]:
    kernels = [
        ("p01_map", TELLTALE + SOLUTION),
        ("p01", WRONG),
        ("p01_map", "def add_ten(a, out\n"),
    ]
    with grader.Judge(device="cpu", seed=7) as judge:
        return list(judge.check_all(kernels))


def test_a_batch_comes_back_in_its_order(batch: list[grader.Checked]):
    assert [one.result.status for one in batch] == [Status.PASS, Status.FAIL, Status.FAIL]
    assert [one.passed for one in batch] == [True, False, False]
    assert [one.points for one in batch] == [7, 0, 0]
    assert all(isinstance(one.result, Result) for one in batch)
    assert {one.result.seed for one in batch} == {7}
    assert batch[1].source == WRONG.read_text(encoding="utf-8")
    assert batch[0].share is None


def test_a_program_has_each_result_before_it_gives_the_next_kernel(course: Path):
    """A program that writes kernels learns from the result of the last one."""
    seen: list[Status] = []

    def kernels() -> Iterator[tuple[str, str]]:
        yield "p01_map", "def add_ten(a, out): pass\n"
        assert seen == [Status.FAIL]
        yield "p01_map", SOLUTION

    with grader.Judge(device="cpu") as judge:
        for checked in judge.check_all(kernels()):
            seen.append(checked.result.status)
    assert seen == [Status.FAIL, Status.PASS]


def test_a_kernel_never_runs_in_the_process_that_asks(batch: list[grader.Checked]):
    assert batch[0].passed
    assert "GRADED_HERE" not in os.environ


def test_no_result_of_a_temporary_file_says_how_to_replay_it(batch: list[grader.Checked]):
    """The command would name a file that is gone."""
    failure = next(step.failure for step in batch[1].result.steps if step.failure)
    assert failure.replay is None
    assert "--kernel" not in batch[1]._repr_html_()


@pytest.fixture(scope="module")
def failed(course: Path) -> grader.Checked:
    return grader.check("p01_map", WRONG, device="cpu")


def test_a_failure_has_its_picture_as_text_and_as_html(failed: grader.Checked):
    assert failed.picture is not None
    html = failed._repr_html_()
    for shown in (str(failed), html):
        assert "┌" in shown
        assert "one past the last" in " ".join(shown.split())
    assert "<script" not in html
    assert repr(failed) == "<p01_map: fail, 0 of 7 points>"


def test_the_file_of_a_cell_stays_for_its_replay(failed: grader.Checked, course: Path):
    kept = course / ".grader" / "notebook" / "p01_map" / "kernel.py"
    assert kept.read_text(encoding="utf-8") == failed.source
    assert str(kept.relative_to(course)) in failed._repr_html_()
    assert not (course / ".grader" / "progress.json").exists(), "a cell is not the learner's file"


@pytest.fixture(scope="module")
def shell(course: Path) -> Iterator[InteractiveShell]:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "grader")
    yield shell
    shell.run_line_magic("unload_ext", "grader")


def test_a_cell_is_graded_and_not_run(shell: InteractiveShell):
    ran = shell.run_cell(f"%%kernel p01_map cpu\n{SOLUTION}")
    assert ran.result.passed
    assert ran.result.source.startswith('"""Map: add 10')
    assert "add_ten" not in shell.user_ns


def test_a_function_of_several_cells_is_graded(shell: InteractiveShell):
    for cell in (*re.split(r"(?=^@cuda|^def add_ten\()", SOLUTION, flags=re.M), "import grader"):
        assert shell.run_cell(cell).success
    ran = shell.run_cell("grader.check('p01_map', add_ten, 'cpu')")
    assert ran.result.passed, ran.result.source


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("p02_nothing", "error: There is no exercise named 'p02_nothing'.\nnext: "),
        ("", "error: There is no exercise named ''.\nnext: "),
        ("p01_map tpu", "error: There is no device 'tpu'.\nnext: It is one of auto, cpu, cuda."),
    ],
)
def test_a_wrong_line_says_what_to_type(
    shell: InteractiveShell, line: str, said: str, capsys: pytest.CaptureFixture[str]
):
    assert shell.run_cell(f"%%kernel {line}\n{SOLUTION}").result is None
    assert said in capsys.readouterr().err


def test_an_error_is_shown_in_two_lines_and_not_as_a_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
):
    ran = shell.run_cell("import grader\ngrader.check('nothing', 'x = 1\\n')")
    assert isinstance(ran.error_in_exec, UsageError)
    shown = capsys.readouterr().out
    assert "There is no exercise named 'nothing'." in shown
    assert "\nnext: " in shown
    assert "judge.py" not in shown


def test_the_package_imports_none_of_this_before_it_is_used():
    """Workers import the package, too, and must not have the judge's modules."""
    code = "import sys, grader; print(*(n for n in sys.modules if n.startswith('grader')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["grader"]


@pytest.mark.gpu
def test_on_a_gpu_a_result_has_its_share_and_a_picture_of_it(monkeypatch: pytest.MonkeyPatch):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA GPU")
    monkeypatch.setenv("GRADER_COURSE", str(REPOSITORY))
    solution = REPOSITORY / "solutions" / "01_vector_add" / "kernel.py"
    with grader.Judge(device="cuda") as judge:
        (checked,) = judge.check_all([("01_vector_add", solution)])
    assert checked.share is not None
    assert 0.1 < checked.share < 1.2
    assert "Share of the ceiling" in checked._repr_html_()
