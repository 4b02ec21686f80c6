"""`grader.check`, `grader.Judge` and `%%kernel`: a kernel in, a typed result out."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from reported import PASSED

import grader
from grader.cli.notebook import warm
from grader.grading.answers import ResultAnswer
from grader.grading.requests import Request
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


@dataclass(frozen=True)
class Batch:
    """The results of a program's kernels, and how many it had when it gave each kernel."""

    results: list[grader.Checked]
    before: list[int]


@pytest.fixture(scope="module")
def program(course: Path) -> Batch:
    made = Batch([], [])

    def kernels() -> Iterator[tuple[str, str | Path]]:
        for kernel in (
            ("p01_map", TELLTALE + SOLUTION),
            ("p01", WRONG),
            ("p01_map", "def add_ten(a, out\n"),
        ):
            made.before.append(len(made.results))
            yield kernel

    with grader.Judge(device="cpu", seed=7) as judge:
        for checked in judge.check_all(kernels()):
            made.results.append(checked)
    return made


@pytest.fixture(scope="module")
def batch(program: Batch) -> list[grader.Checked]:
    return program.results


def test_a_batch_comes_back_in_its_order(batch: list[grader.Checked]):
    assert [one.result.status for one in batch] == [Status.PASS, Status.FAIL, Status.FAIL]
    assert [one.passed for one in batch] == [True, False, False]
    assert [one.points for one in batch] == [7, 0, 0]
    assert all(isinstance(one.result, Result) for one in batch)
    assert {one.result.seed for one in batch} == {7}
    assert batch[1].source == WRONG.read_text(encoding="utf-8")
    assert batch[0].share is None


def test_a_program_has_each_result_before_it_gives_the_next_kernel(program: Batch):
    """A program that writes kernels learns from the result of the last one."""
    assert program.before == [0, 1, 2]


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
        ("", "error: No exercise is named.\nnext: Its name comes first: `%%kernel p01_map`"),
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


def test_an_untouched_stub_names_the_lesson_of_the_exercise(course: Path):
    """The graded file is a copy of a cell, in a folder without a lesson."""
    stub = REPOSITORY / "puzzles" / "p01_map" / "kernel.py"
    checked = grader.check("p01_map", stub, "cpu")
    assert checked.result.status is Status.NOT_STARTED
    for shown in (" ".join(str(checked).split()), checked._repr_html_()):
        assert "puzzles/p01_map/README.md explains it" in shown
        assert "in its folder" not in shown


def test_the_exercise_and_the_kernel_in_the_wrong_order_are_an_error_of_the_call():
    with pytest.raises(UsageError, match="No exercise is named"):
        grader.check(test_the_package_imports_none_of_this_before_it_is_used, "p01_map")


def test_outside_of_a_course_a_notebook_is_told_where_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("GRADER_COURSE")
    monkeypatch.chdir(tmp_path)
    for call in (grader.Judge, lambda: grader.check("p01_map", SOLUTION)):
        with pytest.raises(UsageError) as raised:
            call()
        assert "start the notebook there" in raised.value.next_step


# -- checks at once


class ReadingJudge:
    """It grades no file, but says of what text it is; `before` is done first, in its folder."""

    def __init__(self, before: Callable[[Path], None] = lambda folder: None) -> None:
        self.before = before

    def ask(self, request: Request, hear: Callable[[ResultAnswer], None]) -> None:
        self.before(request.kernel.parent)
        graded = PASSED.kernel.model_copy(update={"sha256": digest(request.kernel.read_bytes())})
        hear(ResultAnswer(result=PASSED.model_copy(update={"kernel": graded})))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def cannot_begin(folder: Path) -> None:
    """Try to begin another check of the exercise, as a second notebook does."""
    with (folder / ".lock").open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_checks_of_one_exercise_at_once_grade_each_their_own_text(course: Path, tmp_path: Path):
    """Two notebooks of one course write the same file."""

    def graded(text: str) -> grader.Checked:
        asked = ReadingJudge(cannot_begin)
        judge = grader.Judge(course=course, files=tmp_path / "kept", judge=asked)
        return judge.check("p01_map", text)

    texts = [f"# {number}\r\n{SOLUTION}" for number in range(4)]
    with ThreadPoolExecutor(len(texts)) as threads:
        results = list(threads.map(graded, texts))
    assert [one.source for one in results] == texts
    digests = [one.result.kernel.sha256 for one in results]
    assert digests == [digest(text.encode()) for text in texts]


def test_where_nothing_can_be_locked_a_check_goes_on(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    judge = grader.Judge(course=course, files=tmp_path / "kept", judge=ReadingJudge())
    assert judge.check("p01_map", SOLUTION).source == SOLUTION


# -- the judge that stays


def test_one_judge_stays_for_all_checks_of_a_course_and_goes_with_it(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    warm.close()
    for _ in range(2):
        assert grader.check("p01_map", SOLUTION, "cpu").passed
    (first,) = warm._judges.values()
    assert first._asked == 2, "each check had a judge of its own"
    process = first._judge
    other = tmp_path / "other"
    shutil.copytree(course / "puzzles", other / "puzzles")
    monkeypatch.setenv("GRADER_COURSE", str(other))
    assert grader.check("p01_map", SOLUTION, "cpu").passed
    assert not process.runs
    (second,) = warm._judges.values()
    assert second is not first


def test_a_judge_ends_with_its_process_and_no_child_takes_it(course: Path):
    """A forked child, such as a worker of a program, would ask its parent's judge else."""
    code = f"""
import os, sys
import grader
from grader.cli.notebook import warm
assert grader.check("p01_map", {SOLUTION!r}, "cpu").passed
(judge,) = warm._judges.values()
child = os.fork()
if not child:
    warm.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert judge._judge.runs, "a child ended its parent's judge"
print(judge._judge._process.pid)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not Path("/proc", done.stdout.strip(), "stat").exists()


def test_the_page_says_how_much_memory_the_judge_holds():
    record = json.loads((REPOSITORY / "bench" / "results" / "feedback_cpu.json").read_text())
    most = max(row["mib"] for row in record["memory"]) / 1024
    page = (REPOSITORY / "docs" / "notebook.md").read_text(encoding="utf-8")
    assert f"holds {most:.1f} GiB" in page


def test_the_package_imports_none_of_this_before_it_is_used():
    """Workers import the package, too, and must not have the judge's modules."""
    code = "import sys, grader; print(*(n for n in sys.modules if n.startswith('grader')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["grader"]


@pytest.mark.gpu
def test_on_a_gpu_a_result_has_its_share_and_a_picture_of_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADER_COURSE", str(REPOSITORY))
    solution = REPOSITORY / "solutions" / "01_vector_add" / "kernel.py"
    with grader.Judge(device="cuda") as judge:
        (checked,) = judge.check_all([("01_vector_add", solution)])
    assert checked.share is not None
    assert 0.1 < checked.share < 1.2
    assert "Share of the ceiling" in checked._repr_html_()
