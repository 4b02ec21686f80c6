"""The command line: what each mistake is told, and which exit code says whose it was."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from ended_checks import CORRECTNESS_FAILS

from grader import __version__, cli
from grader.authoring import verify
from grader.authoring.verify import Verified
from grader.cli import stopwatch
from grader.course import catalog, progress
from grader.grading import check
from grader.grading.check import Request
from grader.model.errors import BrokenExercise, CannotGrade
from grader.model.outcomes import Status
from grader.model.results import Result, parse_result

pytestmark = pytest.mark.slow

COURSES = Path(__file__).parents[1] / "courses"
SMALL = COURSES / "small"
NAMES = [exercise.name for exercise in catalog.exercises(SMALL)]
PASSED = parse_result((COURSES / "result.json").read_bytes())


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"kernel-grader {__version__}\n"


@pytest.mark.parametrize("arguments", [["--version"], ["list"]])
def test_nothing_is_printed_where_standard_output_is_closed(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(arguments) == 2
    error, following = capsys.readouterr().err.splitlines()
    assert error.startswith("error: Standard output is closed")
    assert following.startswith("next: ")


@pytest.fixture(autouse=True)
def _in_the_small_course(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("GRADER_COURSE", str(SMALL))
    # Checks of tests that share a course are nobody's progress in it.
    monkeypatch.setattr(progress, "STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course to write in."""
    root = Path(shutil.copytree(SMALL, tmp_path / "course"))
    monkeypatch.setenv("GRADER_COURSE", str(root))
    return root


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What `grader check` asks of the judge; each kernel gets a pass."""
    requests: list[Request] = []

    def run(
        asked_now: Sequence[Request],
        progress: Callable[[str], None],
        on_result: Callable[[Result], None],
        *_: object,
    ) -> list[Result]:
        progress("grading …")
        requests.extend(asked_now)
        results = [PASSED.model_copy(update={"exercise": r.exercise.name}) for r in asked_now]
        for result in results:
            on_result(result)
        return results

    monkeypatch.setattr(check, "run", run)
    return requests


def answer(monkeypatch: pytest.MonkeyPatch, *results: Result) -> None:
    """Let the judge decide this."""

    def run(
        requests: Sequence[Request],
        progress: Callable[[str], None],
        on_result: Callable[[Result], None],
        *_: object,
    ) -> list[Result]:
        for result in results:
            on_result(result)
        return list(results)

    monkeypatch.setattr(check, "run", run)


def fail(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(
        requests: Sequence[Request], progress: Callable[[str], None], *_: object
    ) -> list[Result]:
        raise error

    monkeypatch.setattr(check, "run", run)


@pytest.mark.parametrize(
    ("form", "remembered"),
    [
        ([], True),
        (["--json"], True),
        (["--seed", "7"], True),
        (["--solution"], False),
        (["--kernel", str(SMALL / "solutions" / "01_double" / "kernel.py")], False),
        (["--case", "5,float32"], False),
    ],
)
def test_only_a_whole_check_of_ones_own_file_is_remembered(
    form: list[str], remembered: bool, asked: list[Request], copy: Path
):
    assert cli.main(["check", "01", *form]) == 0
    assert ("01_double" in progress.read(copy).standings) == remembered


def test_a_check_says_that_it_could_not_be_remembered(
    asked: list[Request], copy: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setattr(progress, "STATE", "course.toml")
    (copy / "course.toml").write_text('name = "small"')
    assert cli.main(["check", "--all"]) == 0
    assert capsys.readouterr().err.count("Your progress is not remembered.") == 1


# -- what a command line asks for


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["01_double"], ["01_double"]),
        (["01"], ["01_double"]),
        (["1", "p1"], ["01_double", "p01_copy"]),
        (["02", "01_double"], ["02_row_sum", "01_double"]),
        (["01", "01_double"], ["01_double"]),
        ([str(SMALL / "exercises" / "01_double")], ["01_double"]),
        ([str(SMALL / "puzzles" / "p01_copy" / "kernel.py")], ["p01_copy"]),
        (["--all"], NAMES),
    ],
)
def test_check_grades_what_is_named(arguments: list[str], names: list[str], asked: list[Request]):
    assert cli.main(["check", *arguments]) == 0
    assert [request.exercise.name for request in asked] == names
    assert [request.kernel for request in asked] == [r.exercise.kernel for r in asked]


@pytest.mark.parametrize(
    ("files", "language", "graded"),
    [
        (["kernel.py", "kernel_cuda.py"], [], ["kernel.py", "kernel_cuda.py"]),
        (["kernel_cuda.py", "", "kernel.py"], [], ["kernel_cuda.py", "kernel.py"]),
        (["kernel.py", "kernel_cuda.py"], ["--backend", "cuda"], ["kernel_cuda.py"]),
    ],
)
def test_files_of_one_exercise_in_two_languages_are_each_graded_once(
    files: list[str],
    language: list[str],
    graded: list[str],
    asked: list[Request],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("GRADER_COURSE", str(COURSES / "levels"))
    folder = COURSES / "levels" / "exercises" / "01_double"
    assert cli.main(["check", *(str(folder / file) for file in files), *language]) == 0
    assert [request.kernel.name for request in asked] == graded


def test_a_command_for_whole_exercises_takes_each_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("GRADER_COURSE", str(COURSES / "levels"))
    folder = COURSES / "levels" / "exercises" / "01_double"
    files = [str(folder / "kernel.py"), str(folder / "kernel_cuda.py")]
    assert cli.main(["stub", "--check", *files]) == 0
    assert capsys.readouterr().out.startswith("2 stubs, ")


def test_check_without_options_leaves_the_choice_to_the_judge(asked: list[Request]):
    cli.main(["check", "01"])
    (request,) = asked
    assert (request.options.device, request.options.case) == ("auto", None)
    assert request.options.require_speed is False


def test_check_passes_its_options_on(asked: list[Request], tmp_path: Path):
    kernel = tmp_path / "mine.py"
    kernel.touch()
    options = ["--device", "cpu", "--seed", "7", "--case", "5,float16,seed=3"]
    assert cli.main(["check", "01", "--kernel", str(kernel), "--require", "speed", *options]) == 0
    (request,) = asked
    assert request.kernel == kernel
    how = request.options
    assert (how.device, how.seed, str(how.case)) == ("cpu", 7, "5,float16,seed=3")
    assert how.require_speed is True


def test_check_can_grade_the_solution(asked: list[Request]):
    assert cli.main(["check", "01", "--solution"]) == 0
    assert asked[0].kernel == SMALL / "solutions" / "01_double" / "kernel.py"


# -- mistakes on the command line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check"], ["No exercise is named.", "`grader list`", "--all"]),
        (["check", "01_duoble"], ["no exercise named '01_duoble'", "Did you mean 01_double"]),
        (["check", "--all", "01"], ["exclude each other"]),
        (["check", "01", "02", "--kernel", "k.py"], ["--kernel belongs to one exercise, not to 2"]),
        (["check", "--all", "--case", "5,float16"], ["--case belongs to one exercise, not to 3"]),
        (["check", "01", "--solution", "--kernel", "k.py"], ["Give only one"]),
        (["check", "01", "--case", "nonsense"], ["'nonsense'", "looks like '1,float32'"]),
        (["check", "01", "--case", "5,float32,pad=x"], ["'pad=x' is not one of"]),
        (["check", "01", "--case", "1000"], ["lacks the dtype", "Type --case '1000,float32'."]),
        (["check", "01", "--case", "5x5"], ["has 2 dimensions; double(x, out) takes 1"]),
        (["check", "01", "--trace"], ["has no --trace", "Type `grader show 01 --trace`"]),
        (["check", "--html", "f"], ["has no --html", "Type `grader show NAME --trace`"]),
        (["check", "01", "--case", ""], ["--case '': a case starts with its shape"]),
        (["check", "01", "02", "--case", ""], ["--case belongs to one exercise, not to 2"]),
        (["show", "01", "--case", ""], ["belong to --trace"]),
        (["check", "01", "--case", f"1{'0' * 20},float32"], ["MiB, and those of a case get"]),
        (["check", "01", "--case", f"1{'0' * 5000},float32"], ["starts with its shape", "…"]),
        (["check", "01", "--case", "9,float32,offset=999999999999"], ["MiB, and those of a case"]),
        (["check", "01", "--case", "9,float32,seed=3,seed=4"], ["seed may be given once"]),
        (["check", "01", "--case", "9,float32,pad=4"], ["pad goes between rows"]),
        (["check", "01", "--case", "5x5,float32"], ["has 2 dimensions; double(x, out) takes 1"]),
        (["check", "01", "--case", "5,bfloat16"], ["double(x, out) takes float32, float16"]),
        (["check", "01", "--kernel", "nowhere.py"], ["nowhere.py", "next:"]),
        (["check", "01", "--kernel", str(SMALL)], [str(SMALL), "next:"]),
        (["check", "01", "--gpu-memory", "inf"], ["--gpu-memory", "less than or equal to"]),
        (["check", "01", "--gpu-memory", "nan"], ["--gpu-memory"]),
        (["bench", "01", "--gpu-memory", "1e300"], ["--gpu-memory", "less than or equal to"]),
        (["check", "01", "--seed", "-1"], ["--seed"]),
        (["check", "01", "--seed", "many"], ["--seed"]),
        (["check", "01", "--device", "tpu"], ["--device", "'auto', 'cpu'"]),
        (["check", "01", "--require", "luck"], ["--require", "speed"]),
        (["check", "--nonsense"], ["--nonsense", "grader check --help"]),
        (["chekc"], ["no command 'chekc'", "did you mean `grader check`?"]),
        (["show"], ["name"]),
        (["show", "p01_cpy"], ["Did you mean p01_copy"]),
        (["show", "01", "--hints", "0"], ["--hints"]),
        (["verify"], ["No exercise is named."]),
        (["verify", "zzz"], ["`grader list` shows them all"]),
        (["stub", "zzz"], ["`grader list` shows them all"]),
    ],
    ids=lambda value: " ".join(value).replace(str(SMALL), "FOLDER") if len(value) else "none",
)
def test_a_usage_error_is_told_and_exits_with_2(
    arguments: list[str], told: list[str], capsys: pytest.CaptureFixture[str]
):
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for words in told:
        assert words.lower() in err.lower()


def test_a_case_that_would_take_minutes_is_refused_at_once(
    asked: list[Request], capsys: pytest.CaptureFixture[str]
):
    spec = catalog.find(SMALL, "01").spec
    most = 32 * spec.most_elements
    assert all(2 * case.elements <= most for case in (*spec.edges, spec.counted))
    for case, code in ((f"{most},float32", 0), (f"{most + 1},float32", 3)):
        assert cli.main(["check", "01", "--device", "cpu", "--case", case]) == code
    assert len(asked) == 1
    assert "a larger one takes minutes" in capsys.readouterr().err


def test_a_usage_error_has_two_lines(capsys: pytest.CaptureFixture[str]):
    cli.main(["check", "01_duoble"])
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("next: ")


def test_a_missing_kernel_file_says_how_to_get_one(copy: Path, capsys: pytest.CaptureFixture[str]):
    (copy / "exercises" / "01_double" / "kernel.py").unlink()
    assert cli.main(["check", "01"]) == 2
    err = capsys.readouterr().err
    assert str(copy / "exercises" / "01_double" / "kernel.py") in err
    assert "`grader reset 01_double`" in err


def test_a_missing_solution_is_not_the_learners_fault(
    copy: Path, capsys: pytest.CaptureFixture[str]
):
    shutil.rmtree(copy / "solutions")
    assert cli.main(["check", "01", "--solution"]) == 2
    assert "grade your own kernel" in capsys.readouterr().err


def test_outside_a_course_it_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("GRADER_COURSE", str(tmp_path))
    for command in (["list"], ["check", "--all"], ["show", "01"], ["stub"], ["verify", "--all"]):
        assert cli.main(command) == 2
        assert f"neither {tmp_path}" in capsys.readouterr().err


def test_an_empty_course_has_nothing_to_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "exercises").mkdir()
    monkeypatch.setenv("GRADER_COURSE", str(tmp_path))
    for command in (["list"], ["check", "--all"], ["stub"], ["stub", "--check"]):
        assert cli.main(command) == 2
        assert "no exercises" in capsys.readouterr().err


# -- what comes back


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.PASS, 0),
        (Status.FAIL, 1),
        (Status.NOT_STARTED, 1),
        (Status.CANNOT_GRADE, 3),
        (Status.ERROR, 4),
        (Status.UNFINISHED, 4),
        (Status.INTERRUPTED, 130),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_exit_code_is_the_results(
    status: Status, code: int, form: list[str], monkeypatch: pytest.MonkeyPatch
):
    answer(monkeypatch, PASSED.model_copy(update={"status": status}))
    assert cli.main(["check", "01", *form]) == code


@pytest.mark.parametrize("results", [[], [PASSED], [PASSED, PASSED]])
def test_a_missing_result_is_never_a_pass(results: list[Result], monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, *results)
    assert cli.main(["check", "--all"]) == 4


def test_an_interrupted_course_is_interrupted(monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, PASSED, PASSED.model_copy(update={"status": Status.INTERRUPTED}))
    assert cli.main(["check", "--all"]) == 130


def test_the_report_is_on_stdout_and_the_rest_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    answer(monkeypatch, PASSED.model_copy(update={"output": "[red]debug: 1\n"}))
    cli.main(["check", "01"])
    out, err = capsys.readouterr()
    assert out.startswith("01_double   Double · 10 points")
    assert "debug" not in out
    assert err.endswith("printed by exercises/01_double/kernel.py:\n| [red]debug: 1\n")


def test_several_reports_end_in_a_sum(asked: list[Request], capsys: pytest.CaptureFixture[str]):
    cli.main(["check", "--all"])
    out = capsys.readouterr().out
    assert out.count("PASS  7/10 points") == 3
    assert out.endswith(
        "\n\n3 of 3 passed · 21/30 points\nnext: `grader list` shows the other exercises\n"
    )


def test_the_time_shown_is_the_time_waited_of_each_exercise(
    asked: list[Request], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    times = iter([3.5, 4.0, 11.0, 11.5])  # three results, and the end of the judge
    monkeypatch.setattr(stopwatch.STOPWATCH, "seconds", lambda: next(times))
    assert cli.main(["check", "--all"]) == 0
    waited = re.findall(r"points · (.*) s · seed", capsys.readouterr().out)
    assert waited == ["3.5", "0.5", "7.5"]


@pytest.mark.parametrize(("option", "whole"), [([], False), (["-v"], True), (["--verbose"], True)])
def test_v_leaves_nothing_out(
    option: list[str],
    whole: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    answer(monkeypatch, CORRECTNESS_FAILS)
    assert cli.main(["check", "01", *option]) == 1
    assert ("not run: needs correctness" in capsys.readouterr().out) == whole


def test_json_is_one_result_a_line_and_nothing_else(
    asked: list[Request], capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["check", "--all", "--json"]) == 0
    out, err = capsys.readouterr()
    assert [parse_result(line).exercise for line in out.splitlines()] == NAMES
    assert "grading" in err


def test_colour_only_goes_to_a_terminal(asked: list[Request], capsys: pytest.CaptureFixture[str]):
    cli.main(["check", "01"])
    assert "\x1b" not in capsys.readouterr().out


def test_progress_is_one_changing_line_on_a_terminal(
    asked: list[Request], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert cli.main(["check", "01"]) == 0
    assert "grading …" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[1A\x1b[2K")  # up one line, erase it
    assert "grading" not in capsys.readouterr().out


# -- whose fault it is


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (CannotGrade("The GPU is busy.", "Wait."), 3, "error: The GPU is busy.\nnext: Wait.\n"),
        (BrokenExercise("No spec.", "Tell."), 4, "error: No spec.\nnext: Tell.\n"),
        (BrokenExercise("No spec."), 4, "error: No spec.\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_says_what_and_what_next(
    error: BaseException,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    fail(monkeypatch, error)
    assert cli.main(["check", "01"]) == code
    assert capsys.readouterr() == ("", told)


def test_a_fault_of_ours_is_called_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    fail(monkeypatch, ZeroDivisionError("division by zero"))
    assert cli.main(["check", "01"]) == 4
    err = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in err
    assert "Traceback" in err
    assert "error: This is a fault of the grader, not of your kernel." in err


# -- list and show


def test_the_list_has_every_exercise(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:2] for row in rows[1:]] == [["○", name] for name in NAMES]


def test_the_list_shows_what_it_can_and_names_what_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("GRADER_COURSE", str(COURSES / "broken"))
    assert cli.main(["list"]) == 4
    out, err = capsys.readouterr()
    assert "01_sound" in out
    assert "02_raises" in out
    assert "02_raises/spec.py fails with RuntimeError: no such thing" in err


@pytest.mark.parametrize("name", NAMES)
def test_show_states_the_contract(name: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["show", name]) == 0
    spec = catalog.find(SMALL, name).spec
    out = capsys.readouterr().out
    assert f"entry  {spec.signature}" in out
    assert spec.summary in out
    assert all(f"\n  {argument.name} " in out for argument in spec.arguments)
    assert "per element" in out


def test_show_gives_hints_one_after_another(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["show", "01", "--hints", "1"]) == 0
    assert capsys.readouterr().out == "1. Load a block.\n"


# -- stub


def test_stubs_that_match_are_left_alone(copy: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["stub", "--check"]) == 0
    assert cli.main(["stub"]) == 0
    assert capsys.readouterr().out.count("unchanged") == 3


def test_a_drifted_stub_is_named(copy: Path, capsys: pytest.CaptureFixture[str]):
    (copy / "exercises" / "02_row_sum" / "kernel.py").write_text("mine")
    assert cli.main(["stub", "01", "--check"]) == 0
    assert cli.main(["stub", "--check"]) == 4
    err = capsys.readouterr().err
    assert err.startswith("error: 02_row_sum: kernel.py differs from the stub")
    assert "`grader stub 02_row_sum --force`" in err


def test_stub_spares_somebodys_work_and_writes_the_others(
    copy: Path, capsys: pytest.CaptureFixture[str]
):
    mine = copy / "exercises" / "01_double" / "kernel.py"
    missing = copy / "exercises" / "02_row_sum" / "kernel.py"
    mine.write_text("mine")
    missing.unlink()
    assert cli.main(["stub"]) == 2
    assert mine.read_text() == "mine"
    assert missing.exists()
    assert "--force" in capsys.readouterr().err
    assert cli.main(["stub", "01", "--force"]) == 0
    assert "NotImplementedError" in mine.read_text()


def test_a_broken_solution_is_named_with_its_line(copy: Path, capsys: pytest.CaptureFixture[str]):
    solution = copy / "solutions" / "01_double" / "kernel.py"
    solution.write_text("def double(x, out):\n    # BEGIN SOLUTION\n    pass\n")
    assert cli.main(["stub", "01"]) == 4
    assert f"{solution}, line 2: this BEGIN SOLUTION has no END" in capsys.readouterr().err


# -- verify


def verdicts(monkeypatch: pytest.MonkeyPatch, *oks: bool) -> None:
    """Let verification find these, for one kernel each of as many exercises."""
    found = [
        Verified(name, "solution", "solution", "pass", "pass" if ok else "load", ok, "", PASSED)
        for name, ok in zip(NAMES, oks, strict=False)
    ]
    monkeypatch.setattr(verify, "run", lambda *asked: found)


@pytest.mark.parametrize("form", [["--all"], ["01"], ["--all", "--calibrate"]])
def test_a_learners_copy_has_nothing_to_verify(form: list[str], copy: Path, capsys):
    """It is no broken course: whoever asks stands in the wrong folder."""
    shutil.rmtree(copy / "solutions")
    assert cli.main(["verify", *form]) == 2
    err = capsys.readouterr().err
    assert f"There is no folder {copy}/solutions" in err
    assert "next: Run this in the course from which the copy was made." in err


@pytest.mark.parametrize(
    ("oks", "code"), [((True, True, True), 0), ((True, False, True), 4), ((True, True), 4), ((), 4)]
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_verify_passes_only_when_every_exercise_was_found_good(
    oks: tuple[bool, ...], code: int, form: list[str], monkeypatch: pytest.MonkeyPatch
):
    verdicts(monkeypatch, *oks)
    assert cli.main(["verify", "--all", *form]) == code


def test_verify_as_json_is_one_kernel_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    verdicts(monkeypatch, True, True, True)
    cli.main(["verify", "--all", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["exercise"] for line in lines] == NAMES
    assert lines[0]["result"]["schema"] == "grader/result/v1"


# -- the process


def grader(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", *arguments],
        capture_output=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("command", [["list"], ["--help"], ["check", "--help"]])
def test_the_quick_commands_load_nothing_heavy(command: list[str]):
    code = (
        "import sys; from grader.cli import main; code = main(sys.argv[1:]); "
        "names = 'torch triton numba numpy pydantic grader.model.results'.split(); "
        "heavy = {*names} & set(sys.modules); "
        "sys.exit(code or ', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_exit_code_reaches_the_shell():
    assert grader("show", "nothing").returncode == 2
    assert grader("list").returncode == 0


def test_a_terminal_that_lacks_our_characters_gets_others():
    done = grader("status", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"o p01_copy      0/10           -  -" in done.stdout


def test_what_no_table_replaces_is_escaped(monkeypatch: pytest.MonkeyPatch):
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", plain)
    answer(monkeypatch, PASSED.model_copy(update={"title": "Ünïcode ☃ ✔ 2 × 3"}))
    assert cli.main(["check", "01"]) == 0
    plain.flush()
    printed = plain.buffer.getvalue()
    assert b"\\xdcn\\xefcode \\u2603 + 2 x 3" in printed


def test_json_is_utf_8_on_every_terminal(monkeypatch: pytest.MonkeyPatch):
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", plain)
    titled = PASSED.model_copy(update={"title": "Ünïcode ☃"})
    answer(monkeypatch, titled)
    assert cli.main(["check", "01", "--json"]) == 0
    plain.flush()
    assert parse_result(plain.buffer.getvalue()) == titled


def test_completion_knows_the_commands():
    done = grader(_GRADER_COMPLETE="complete_bash", COMP_WORDS="grader ch", COMP_CWORD="1")
    assert done.stdout.split() == [b"check"]


def test_sanitize_is_asked_of_the_judge(asked: list[Request]):
    assert cli.main(["check", NAMES[0], "--sanitize"]) == 0
    assert cli.main(["check", NAMES[0]]) == 0
    assert [request.options.sanitize for request in asked] == [True, False]
