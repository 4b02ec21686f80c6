"""A judge that stays: it grades as a new one does, can be interrupted, and is replaced."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm

from grader.course import Exercise, catalog
from grader.grading import check, judge_process, warm_judge
from grader.grading.answers import Answer
from grader.grading.options import Options
from grader.grading.requests import Request
from grader.grading.warm_judge import WarmJudge
from grader.model.errors import GraderError
from grader.model.results import Result

pytestmark = pytest.mark.slow

COURSES, BAD = Path(__file__).parents[1] / "courses", Path(__file__).parents[1] / "bad"
ROOT = catalog.find_root(Path(__file__).parents[1])
SEED = 7
TIMES = {"duration_s", "started_at"}


def bad(kernel: str) -> Request:
    """Return the request to grade one of the harmful kernels, whose exercise has short limits."""
    exercise = Exercise(COURSES / "bad" / "exercises" / "01_copy")
    return Request(exercise, BAD / f"{kernel}.py", Options(device="cpu", seed=SEED, shrink=False))


def request(name: str, kernel: Path | None = None, root: Path = ROOT) -> Request:
    exercise = catalog.find_entry(root, name)
    options = Options(device="cpu", seed=SEED, picture=True)
    return Request(exercise, kernel or exercise.solution, options)


def graded(request: Request, judge: WarmJudge | None = None) -> Result:
    (result,) = check.run([request], lambda text: None, judge=judge)
    return result


def timeless(value: object) -> object:
    """Return a result without what no two runs share: times."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name not in TIMES}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def record(result: Result) -> object:
    return timeless(result.model_dump(mode="json"))


@pytest.fixture(scope="module")
def judge() -> Iterator[WarmJudge]:
    with WarmJudge() as warm:
        yield warm


def process_of(judge: WarmJudge) -> subprocess.Popen[bytes]:
    assert judge._judge is not None
    assert judge._judge._process is not None
    return judge._judge._process


def pid_of(judge: WarmJudge) -> int:
    return process_of(judge).pid


@pytest.mark.parametrize("name", ["t02_masks", "01_scale:scale_backward"])
def test_a_warm_judge_grades_as_a_new_one(name: str):
    """A puzzle, and one of two entries of an exercise, with all the steps of a kernel in Triton."""
    asked = request(name, root=COURSES / "entries" if ":" in name else ROOT)
    with WarmJudge() as judge:
        cold = graded(asked, judge)
        pid = pid_of(judge)
        warm = graded(asked, judge)
        assert pid_of(judge) == pid
    assert str(cold.status) == "pass"
    assert record(warm) == record(cold)


def test_a_judge_that_stays_grades_as_one_that_does_not(judge: WarmJudge):
    """The first time and again: a puzzle in numba."""
    asked = request("p01_map")
    new = graded(asked)
    assert str(new.status) == "pass"
    assert [record(graded(asked, judge)) for _ in range(2)] == [record(new)] * 2


def test_failures_in_a_row_change_nothing_for_the_next(judge: WarmJudge):
    copies, *fail = map(bad, ("copies", "has_no_mask", "aborts", "loops"))
    warm = [graded(copies, judge)]
    pid = pid_of(judge)
    warm += [graded(one, judge) for one in (fail[0], copies, *fail[1:], copies)]
    assert pid == pid_of(judge)
    passes, *cold = check.run([copies, *fail], lambda text: None)
    assert [str(one.status) for one in warm] == ["pass", "fail", "pass", "fail", "fail", "pass"]
    assert [kind_of(one) for one in warm[3:5]] == ["crash", "timeout"]
    expected = (passes, cold[0], passes, *cold[1:], passes)
    assert [record(one) for one in warm] == [record(one) for one in expected]


def kind_of(result: Result) -> str:
    return next(step.failure.kind for step in result.steps if step.failure is not None)


def interrupted(judge: WarmJudge, one: Request, step: str, wait_s: float = 0.0) -> None:
    """Interrupt a check so many seconds after it began with a step."""

    def begin(text: str, why: str) -> None:
        if f": {step} " in text:
            threading.Timer(wait_s, judge.interrupt).start()

    with pytest.raises(KeyboardInterrupt):
        check.run([one], lambda text: None, on_step=begin, judge=judge)


def test_an_interrupted_judge_grades_the_next_kernel_as_ever(
    judge: WarmJudge, monkeypatch: pytest.MonkeyPatch
):
    """One that waits for a kernel without end, and others at any time."""
    monkeypatch.setattr(warm_judge, "PATIENCE_S", 60.0)  # on a busy machine
    before = record(graded(bad("copies"), judge))
    pid = pid_of(judge)
    interrupted(judge, bad("loops"), "correctness", 0.5)
    for step, wait_s in (("load", 0.0), ("correctness", 0.1), ("traffic", 0.0)):
        interrupted(judge, request("p01_map"), step, wait_s)
    judge.interrupt()  # nothing is in work: it must not meet the next
    assert record(graded(bad("copies"), judge)) == before
    assert pid_of(judge) == pid


def test_an_interrupt_that_comes_too_late_does_not_meet_the_next(judge: WarmJudge):
    def hear(result: Result) -> None:
        judge.interrupt()

    judge.start(request("p01_map"))
    pid = pid_of(judge)
    with pytest.raises(KeyboardInterrupt):
        check.run([request("p01_map")], lambda text: None, hear, judge=judge)
    assert str(graded(request("p01_map"), judge).status) == "pass"
    assert pid_of(judge) == pid


def test_a_judge_that_does_not_react_to_an_interrupt_is_replaced(
    judge: WarmJudge, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(warm_judge, "PATIENCE_S", 0.1)
    judge.start(request("p01_map"))
    pid = pid_of(judge)

    def begin(text: str, why: str) -> None:
        if ": load " in text:
            os.kill(pid, signal.SIGSTOP)
            judge.interrupt()

    with pytest.raises(KeyboardInterrupt):
        check.run([request("p01_map")], lambda text: None, on_step=begin, judge=judge)
    assert str(graded(request("p01_map"), judge).status) == "pass"
    assert pid_of(judge) != pid


def kill(judge: WarmJudge) -> None:
    os.kill(pid_of(judge), signal.SIGKILL)
    process_of(judge).wait()


@pytest.mark.parametrize("works", [False, True], ids=["idle", "at work"])
def test_a_judge_that_dies_is_replaced(works: bool, judge: WarmJudge):
    judge.start(request("p01_map"))
    pid = pid_of(judge)
    if works:

        def begin(text: str, why: str) -> None:
            if ": load " in text:
                os.kill(pid, signal.SIGKILL)

        with pytest.raises(GraderError, match="The judge ended"):
            check.run([request("p01_map")], lambda text: None, on_step=begin, judge=judge)
    else:
        kill(judge)
    assert str(graded(request("p01_map"), judge).status) == "pass"
    assert pid_of(judge) != pid


NONSENSE = (
    "#!{python}\nimport os, sys\nsys.stdin.readline()\nos.write(int(sys.argv[-1]), b'{{}}\\n')\n"
)


def test_nonsense_is_refused_and_the_next_check_has_a_new_judge(
    tmp_path: Path, judge: WarmJudge, monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "judge"
    program.write_text(NONSENSE.format(python=judge_process.sys.executable))
    program.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setattr(judge_process.sys, "executable", str(program))
        patched.setattr(subprocess, "Popen", warm.COLD)
        judge.close()
        with pytest.raises(GraderError, match="a line that is not an answer"):
            graded(request("p01_map"), judge)
    assert str(graded(request("p01_map"), judge).status) == "pass"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with one puzzle, whose author works on it."""
    one = catalog.find(ROOT, "p01_map")
    for folder in (one.folder, one.answers):
        shutil.copytree(folder, tmp_path / folder.relative_to(ROOT))
    return tmp_path


HELPED = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import p01_helper

SPEC = replace(SPEC, title=p01_helper.TITLE)
"""


def test_what_an_author_changes_counts_for_the_next_check(course: Path, judge: WarmJudge):
    """Its tests, its spec, what that imports, and a spec that is broken for a moment."""
    one, asked = catalog.find(course, "p01_map"), request("p01_map", root=course)
    assert str(graded(asked, judge).status) == "pass"
    tests, spec = one.tests.read_text(), (one.folder / "spec.py").read_text()
    one.tests.write_text(tests + "\n\ndef test_never(kernel):\n    assert False\n")
    assert str(graded(asked, judge).status) == "fail"
    one.tests.write_text(tests)
    (one.folder / "spec.py").write_text("SPEC = ?\n")
    with pytest.raises(GraderError, match="The exercise p01_map is broken"):
        graded(asked, judge)  # `asked` has read the spec that was
    (one.folder / "spec.py").write_text(f"{spec}\nfrom dataclasses import replace\n{HELPED}")
    for title in ("Before", "Later on"):
        (one.folder / "p01_helper.py").write_text(f"TITLE = {title!r}\n")
        result = graded(asked, judge)
        assert (result.title, str(result.status)) == (title, "pass")


def test_extensions_and_variables_that_changed_have_a_new_judge(
    course: Path, judge: WarmJudge, monkeypatch: pytest.MonkeyPatch
):
    step = course / "extensions" / "steps" / "extra.py"
    step.parent.mkdir(parents=True)
    outcomes = []
    for text, variable in (("", ""), ("first", ""), ("later", ""), ("", "nonsense"), ("", "")):
        step.write_text(f"raise LookupError({text!r})\n") if text else step.unlink(missing_ok=True)
        monkeypatch.setenv("GRADER_WITHOUT_WALLS", variable)
        try:
            outcomes.append(graded_by_judge_alone(request("p01_map", root=course), judge))
        except GraderError as error:
            outcomes.append(error.message.splitlines()[0])
    broken = "grader.grading.steps.extra is broken: it fails with LookupError: "
    assert outcomes == ["pass", f"{broken}first", f"{broken}later", "cannot_grade", "pass"]


def graded_by_judge_alone(request: Request, judge: WarmJudge) -> str:
    """Grade without reading the extensions in this process, which would import them."""
    found: list[str] = []

    def hear(answer: Answer) -> None:
        if answer.kind == "result":
            found.append(str(answer.result.status))

    judge.ask(request, hear)
    (status,) = found
    return status


def test_a_judge_is_replaced_after_so_many_requests(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(warm_judge, "MOST_REQUESTS", 2)
    with WarmJudge() as judge:
        pids = []
        for _ in range(3):
            graded(request("p01_map"), judge)
            pids.append(pid_of(judge))
        assert pids[0] != pids[1] == pids[2]  # and the next one counts anew


def test_a_judge_outlives_the_thread_that_started_it_and_nothing_outlives_its_end(
    judge: WarmJudge, monkeypatch: pytest.MonkeyPatch
):
    """Linux sends a judge the signal of its parent's death when that thread ends."""
    judge.close()
    monkeypatch.setattr(subprocess, "Popen", warm.COLD)  # a forked judge has another parent
    starter = threading.Thread(target=graded, args=[request("p01_map"), judge])
    starter.start()
    starter.join()
    pid = pid_of(judge)
    assert str(graded(request("p01_map"), judge).status) == "pass"
    assert pid_of(judge) == pid
    judge.close()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.gpu
def test_hardened_checks_by_a_warm_judge_do_not_run_out_of_gpu_memory():
    """torch kept memory from one check to the next, and a hardened judge then ran out of it."""
    exercise = catalog.find(ROOT, "01_vector_add")
    options = Options(device="cuda", seed=SEED, hardened=True)
    with WarmJudge() as judge:
        steps = [
            {step.name: step for step in graded(one, judge).steps}
            for one in [Request(exercise, exercise.solution, options)] * 3
        ]
    assert [each["speed"].outcome for each in steps] == ["pass"] * 3
