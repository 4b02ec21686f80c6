"""`grader ci`: it knows where it runs, grades everything, and a learner's text moves nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
import reported
from cryptography.hazmat.primitives import serialization
from plain_shell import on_a_plain_shell

from grader import cli
from grader.classroom import ci, ci_systems, ci_targets, gradebook, signing
from grader.classroom.attempts import Context
from grader.classroom.ci_systems import Place, System
from grader.cli import deliver
from grader.course import catalog, manifest, settings
from grader.grading import check, judge_process
from grader.grading.answers import Answer
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.attempts import Attempt, Signed
from grader.model.errors import BrokenExercise, CannotGrade, GraderError, UsageError
from grader.model.files import save_file
from grader.model.outcomes import Status
from grader.model.results import Result, parse_result
from grader.reports.formats.registry import Document

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
SMALL = TESTS / "courses" / "small"
NAMES = [exercise.name for exercise in catalog.exercises(SMALL)]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CLASSROOM50 = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_ACTOR": "ada",
    "CLASSROOM": "gpu-course",
    "ASSIGNMENT": "kernels",
    "ASSIGNMENT_TYPE": "individual",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/2026-06-01T14-32-05Z-a1b2c3d",
    "COMMIT_URL": "https://github.com/x/y/commit/a1b2c3d",
    "RELEASE_URL": "https://github.com/x/y/releases/tag/z",
    "REVIEW_URL": "https://github.com/x/y/compare/z",
}


@pytest.fixture(autouse=True)
def _on_a_plain_shell(monkeypatch: pytest.MonkeyPatch):
    on_a_plain_shell(monkeypatch)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course to write in, which is the working directory."""
    copied = Path(shutil.copytree(SMALL, tmp_path / "course"))
    monkeypatch.chdir(copied)
    return copied


@pytest.fixture
def handed_in(root: Path, tmp_path: Path) -> Path:
    """A student's repository beside the course."""
    unwanted = shutil.ignore_patterns("solutions", "__pycache__")
    return Path(shutil.copytree(root, tmp_path / "handed in", ignore=unwanted))


Graded = Callable[[Request], Result]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Callable[[Graded], list[Request]]:
    """Lets the judge answer each request as a function says; tells what was asked.

    It says each answer as it comes, and is at its end when it was interrupted, as the real one.
    """

    def answers(graded: Graded) -> list[Request]:
        asked: list[Request] = []

        def run(
            requests: Sequence[Request],
            progress: Callable[[str], None],
            heard: Callable[[Result], None] = lambda result: None,
        ) -> list[Result]:
            results = []
            for request in requests:
                asked.append(request)
                results.append(graded(request))
                heard(results[-1])
                if results[-1].status is Status.INTERRUPTED:
                    break
            return results

        monkeypatch.setattr(check, "run", run)
        return asked

    return answers


def passing(request: Request) -> Result:
    path = str(request.kernel)
    kernel = reported.PASSED.kernel.model_copy(update={"path": path})
    name = request.exercise.name
    return reported.PASSED.model_copy(update={"exercise": name, "kernel": kernel})


def failing(request: Request) -> Result:
    whole = reported.wrong("out[3] is 1", exercise=request.exercise.name)
    replay = f"grader check 02_row_sum --kernel '{request.kernel}' --case '7,float16,seed=1'"
    failure = whole.steps[1].failure.model_copy(update={"replay": replay})
    steps = (whole.steps[0], whole.steps[1].model_copy(update={"failure": failure}))
    kernel = whole.kernel.model_copy(update={"path": str(request.kernel)})
    return whole.model_copy(update={"steps": (*steps, *whole.steps[2:]), "kernel": kernel})


def raising(error: BaseException) -> Graded:
    def graded(request: Request) -> Result:
        if request.exercise.name == "01_double":
            raise error
        return passing(request)

    return graded


# -- where


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({}, Place(System.SHELL)),
        ({"CI": "true"}, Place(System.SHELL)),
        ({"GITHUB_ACTIONS": "false", "GITHUB_ACTOR": "ada"}, Place(System.SHELL)),
        (
            {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "ada"},
            Place(System.GITHUB, ("github",), "ada"),
        ),
        (
            {
                "GITLAB_CI": "true",
                "GITLAB_USER_LOGIN": "ada",
                "CI_PIPELINE_CREATED_AT": "2026-11-20T11:00:00+01:00",
            },
            Place(System.GITLAB, ("gitlab",), "ada", "2026-11-20T10:00:00+00:00"),
        ),
        ({"GITLAB_CI": "true", "CI_PIPELINE_CREATED_AT": "x"}, Place(System.GITLAB, ("gitlab",))),
    ],
)
def test_a_system_is_recognised_by_its_variables(environ: Mapping[str, str], place: Place):
    assert ci_systems.place(environ) == place


def test_classroom_50_is_distinguished_from_other_actions():
    here = ci_systems.place(CLASSROOM50)
    assert here.system is System.CLASSROOM50
    assert here.reports == ("classroom50=result.json", "github")
    assert (here.student, here.submitted_at) == ("ada", "2026-06-01T14:32:05+00:00")
    assert here.identity["review"] == "https://github.com/x/y/compare/z"
    assert ci_systems.place(CLASSROOM50 | {"SUBMISSION_TAG": ""}).system is System.GITHUB


METADATA = {
    "created_at": "2018-07-01T14:22:32.365935-07:00",
    "users": [{"email": "ada@example.com", "id": 1, "name": "Ada"}, {"email": "b@example.com"}],
}


@pytest.mark.parametrize(
    ("metadata", "student", "time"),
    [
        (json.dumps(METADATA), "ada@example.com", "2018-07-01T21:22:32+00:00"),
        ("", "", ""),
        ("[]", "", ""),
        ("{}", "", ""),
        ('{"users": 3}', "", ""),
        ('{"users": [{"email": null}], "created_at": 7}', "", ""),
    ],
)
def test_gradescope_names_the_student_and_the_time(metadata: str, student: str, time: str):
    here = ci_systems.place({}, metadata)
    assert here.system is System.GRADESCOPE
    assert here.reports == ("gradescope=/nowhere/results/results.json",)
    assert (here.student, here.submitted_at) == (student, time)


def test_the_time_that_is_given_counts_first():
    known = Place(System.GITLAB, submitted_at="2026-11-20T10:00:00+00:00")
    given = ci_systems.submission_time("2026-11-19T10:00:00+02:00", known, NOW)
    assert given == "2026-11-19T08:00:00+00:00"
    assert ci_systems.submission_time(None, known, NOW) == "2026-11-20T10:00:00+00:00"
    assert ci_systems.submission_time(None, Place(System.SHELL), NOW) == "2026-11-21T12:00:00+00:00"
    with pytest.raises(UsageError, match="'yesterday' is not a time"):
        ci_systems.submission_time("yesterday", known, NOW)


def test_what_is_yet_to_come_was_not_handed_in():
    """It would be signed, and then neither rank nor count until that time."""
    known = Place(System.SHELL)
    soon = "2026-11-21T12:04:00+00:00"
    assert ci_systems.submission_time(soon, known, NOW) == soon, "clocks differ"
    with pytest.raises(UsageError, match=r"2026-11-21T14:06:00\+02:00 is in the future: a clock"):
        ci_systems.submission_time("2026-11-21T14:06:00+02:00", known, NOW)


@pytest.mark.parametrize("system", System)
def test_whoever_starts_a_trusted_run_is_not_its_student(system: System):
    here = Place(system, student="ada")
    others = system in (System.GITHUB, System.GITLAB)
    assert ci_systems.student(None, here, None) == "ada"
    assert ci_systems.student(None, here, Path("submission")) == ("" if others else "ada")
    assert ci_systems.student("eve", here, Path("submission")) == "eve"


@pytest.mark.parametrize(
    "login",
    ["ada", "ada-l_1.x", "_ada", "ada+gpu@uni.example", "zoë", "o'neill@uni.example", "x" * 100],
)
def test_logins_of_many_kinds_are_students(login: str):
    assert ci_systems.student(login, Place(System.SHELL), None) == login


@pytest.mark.parametrize(
    "text", ["", " ", "ada\n", "=1+1", "+1", "@SUM(1)", "-1", "'a", "a b", "a;b", "a/b", "x" * 101]
)
def test_what_is_no_login_is_not_signed(text: str):
    """It would stand in each table of the class, a formula among them."""
    with pytest.raises(UsageError, match="is not a login") as told:
        ci_systems.student(text, Place(System.SHELL), None)
    assert told.value.message.isprintable()


# -- what


def plan(root: Path, submission: Path | None = None) -> dict[str, ci_targets.Target]:
    targets = ci_targets.plan(catalog.exercises(root), submission)
    return {target.exercise.name: target for target in targets}


def test_without_a_submission_the_courses_own_kernels_are_graded(root: Path):
    (root / "exercises/01_double/kernel.py").unlink()
    targets = plan(root)
    assert list(targets) == NAMES
    assert targets["02_row_sum"].kernel == root / "exercises/02_row_sum/kernel.py"
    assert targets["02_row_sum"].refused is None
    missing = (Status.NOT_STARTED, "There is no exercises/01_double/kernel.py.")
    assert targets["01_double"].refused == missing


def test_of_a_submission_only_the_kernels_are_taken(root: Path, handed_in: Path):
    (handed_in / "exercises/99_own").mkdir()
    (handed_in / "exercises/99_own/spec.py").write_text("raise SystemExit")
    targets = plan(root, handed_in)
    assert list(targets) == NAMES
    double = targets["01_double"]
    assert double.kernel == handed_in / "exercises/01_double/kernel.py"
    assert double.exercise.folder == root / "exercises/01_double"
    assert (double.notes, double.refused) == ((), None)


def test_a_changed_spec_is_noted_and_one_that_nobody_handed_in_is_not(root: Path, handed_in: Path):
    exercises = handed_in / "exercises"
    spec = exercises / "01_double/spec.py"
    spec.write_bytes(spec.read_bytes().replace(b"0.8", b"0.1"))
    (root / "exercises/01_double/test_kernel.py").write_text("# the course's\n")
    (exercises / "01_double/test_kernel.py").symlink_to("/dev/zero")
    (exercises / "02_row_sum/spec.py").unlink()
    targets = plan(root, handed_in)
    assert targets["01_double"].notes == (
        "exercises/01_double/spec.py was changed: graded with the course's own",
        "exercises/01_double/test_kernel.py was changed: graded with the course's own",
    )
    assert targets["02_row_sum"].notes == ()


def test_a_spec_that_the_course_changed_since_is_no_students_doing(root: Path, handed_in: Path):
    """Honest students were told that they had changed it."""
    kernels = {"exercises/01_double/kernel.py"}
    paths = [f"exercises/{name}/spec.py" for name in ("01_double", "02_row_sum")]
    files = [(path, (handed_in / path).read_bytes(), False) for path in paths]
    files += [(path, b"the stub", True) for path in kernels]
    made = manifest.build("small", "1.0", "0.1.0", files)
    (handed_in / manifest.FILE).write_text(manifest.to_json(made))
    for path in paths:  # after the release
        (root / path).write_bytes((root / path).read_bytes() + b"# better\n")
    (handed_in / paths[1]).write_text("SPEC = 1\n")
    targets = plan(root, handed_in)
    other = "exercises/01_double/spec.py is of another release: graded with the course's own"
    assert targets["01_double"].notes == (other,)
    changed = "exercises/02_row_sum/spec.py was changed: graded with the course's own"
    assert targets["02_row_sum"].notes == (changed,)


def test_a_file_of_the_release_that_was_taken_away_is_noted(root: Path, handed_in: Path):
    """`rm spec.py` left no trace in the report, and a changed spec did."""
    paths = [f"exercises/01_double/{name}.py" for name in ("spec", "test_kernel", "kernel")]
    (root / paths[1]).write_text("# the course's\n")
    (handed_in / paths[0]).unlink()
    assert plan(root, handed_in)["01_double"].notes == (), "kernels alone"
    files = [(path, b"", path == paths[2]) for path in paths]
    made = manifest.build("small", "1.0", "0.1.0", files)
    (handed_in / manifest.FILE).write_text(manifest.to_json(made))
    (handed_in / "exercises/02_row_sum/spec.py").unlink()
    targets = plan(root, handed_in)
    assert targets["01_double"].notes == tuple(
        f"{path} is missing: graded with the course's own" for path in paths[:2]
    )
    assert targets["02_row_sum"].notes == (), "not of that release"


@pytest.mark.parametrize("text", [None, "{}", "x"])
def test_a_manifest_that_cannot_be_used_explains_nothing(
    root: Path, handed_in: Path, text: str | None
):
    if text is None:
        (handed_in / manifest.FILE).symlink_to("/dev/zero")
    else:
        (handed_in / manifest.FILE).write_text(text)
    (root / "exercises/01_double/spec.py").write_bytes(b"# better\n")
    assert "was changed" in plan(root, handed_in)["01_double"].notes[0]


def test_a_kernel_that_is_missing_or_leads_out_is_named(root: Path, handed_in: Path):
    exercises = handed_in / "exercises"
    (exercises / "01_double/kernel.py").unlink()
    (exercises / "01_double/kernel.py").symlink_to(root / "solutions/01_double/kernel.py")
    shutil.rmtree(exercises / "02_row_sum")
    refused = {name: target.refused for name, target in plan(root, handed_in).items()}
    link = "is a link that leads out of what was handed in, and was not read."
    assert refused["01_double"] == (Status.FAIL, f"exercises/01_double/kernel.py {link}")
    missing = "There is no exercises/02_row_sum/kernel.py in what was handed in."
    assert refused["02_row_sum"] == (Status.NOT_STARTED, missing)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (os.mkfifo, "is not a plain file"),
        (os.mkdir, "is a folder, not a kernel file"),
        (lambda kernel: os.symlink("kernel.py", kernel), "is a link that leads nowhere"),
        (lambda kernel: os.symlink("gone.py", kernel), "is a link that leads nowhere"),
        (
            lambda kernel: os.symlink("/nowhere/gone.py", kernel),
            "is a link that leads out of what was handed in, and was not read",
        ),
    ],
    ids=["pipe", "folder", "ring", "link to nothing", "link out to nothing"],
)
def test_a_path_that_is_no_kernel_file_is_described(
    root: Path, handed_in: Path, judge, capsys, make: Callable[[Path], None], told: str
):
    """A pipe did not exist, it was said, and a ring of links led out."""
    judge(passing)
    kernel = handed_in / "exercises/01_double/kernel.py"
    kernel.unlink()
    make(kernel)
    assert cli.main(["ci", "01", "--submission", str(handed_in)]) == 1
    out = capsys.readouterr().out
    assert f"exercises/01_double/kernel.py {told}." in out
    assert "next: this kernel file was not run" in out


def test_a_folder_that_leads_out_is_refused_as_well(root: Path, handed_in: Path):
    shutil.rmtree(handed_in / "exercises/01_double")
    (handed_in / "exercises/01_double").symlink_to(root / "solutions/01_double")
    refused = plan(root, handed_in)["01_double"].refused
    assert refused is not None
    assert refused[0] is Status.FAIL


def test_a_zip_file_may_hold_one_folder_around_all(root: Path, handed_in: Path, tmp_path: Path):
    (tmp_path / "outer").mkdir()
    handed_in.rename(tmp_path / "outer" / "repository")
    kernel = plan(root, tmp_path / "outer")["01_double"].kernel
    assert kernel == tmp_path / "outer/repository/exercises/01_double/kernel.py"


def test_a_submission_that_is_no_folder_is_a_usage_error(root: Path):
    with pytest.raises(UsageError, match="is not a folder"):
        ci_targets.plan(catalog.exercises(root), root / "course.toml")


@pytest.mark.parametrize("name", ["there/x.json", "x" * 300 + "/x.json"])
def test_a_report_that_cannot_be_written_is_refused_before_grading(name: str, tmp_path: Path):
    """A name that is too long was told as a fault of the grader."""
    with pytest.raises(UsageError, match="cannot be written: there is no folder"):
        deliver.require_writable(tmp_path / name)


def test_a_name_that_is_too_long_is_a_usage_error(tmp_path: Path):
    deliver.require_writable(tmp_path / ("x" * 300))  # which only the system can tell
    with pytest.raises(UsageError, match="cannot be written: File name too long"):
        save_file(tmp_path / ("x" * 300), b"")


def test_what_is_added_may_go_to_a_pipe(tmp_path: Path):
    """As with GITHUB_STEP_SUMMARY=/dev/stdout; it has no last line that could be looked at."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    deliver.deliver([Document(pipe, "one\n", append=True)])
    assert reader.communicate()[0] == "one\n"


@pytest.mark.parametrize("inside", ["", "exercises/99_own", "src"])
def test_a_folder_without_any_exercise_is_no_submission(root: Path, tmp_path: Path, inside: str):
    """A mistyped folder was a signed 0 for every exercise; one that a student sent is a 0."""
    wrong = tmp_path / "wrong"
    (wrong / inside).mkdir(parents=True)
    exercises = catalog.exercises(root)
    with pytest.raises(UsageError, match="wrong holds none of the course's exercises") as told:
        ci_targets.plan(exercises, wrong)
    assert "the folder that holds puzzles/" in told.value.next_step
    assert len(ci_targets.plan(exercises, wrong, System.GRADESCOPE)) == len(exercises)
    (wrong / "exercises/01_double").mkdir(parents=True)
    assert len(ci_targets.plan(exercises[:1], wrong)) == 1, "what is missing in a right one is a 0"


# -- a lone kernel file

KERNEL = "def {}(x, out):\n    out.copy_(x)\n"


def lone(tmp_path: Path, *files: str, text: str = "x = 1\n") -> Path:
    folder = tmp_path / "lone"
    folder.mkdir()
    for name in files:
        (folder / name).write_text(text)
    return folder


def uploaded(root: Path, folder: Path, *names: str) -> dict[str, ci_targets.Target]:
    exercises = [one for one in catalog.exercises(root) if not names or one.name in names]
    targets = ci_targets.plan(exercises, folder, System.GRADESCOPE)
    return {target.exercise.name: target for target in targets}


def test_a_lone_kernel_is_of_the_only_exercise(root: Path, tmp_path: Path):
    """Dragged into Gradescope it was a file that is missing, and 0 points."""
    folder = lone(tmp_path, "my solution.py", text="this is no Python")
    (target,) = uploaded(root, folder, "01_double").values()
    assert (target.kernel, target.refused) == (folder / "my solution.py", None)
    assert target.shown == "my solution.py"
    assert target.notes == ("my solution.py is graded as 01_double",)


def test_a_lone_kernel_is_of_the_exercise_whose_function_it_defines(root: Path, tmp_path: Path):
    folder = lone(tmp_path, "kernel.py", "notes.py", text=KERNEL.format("row_sum"))
    (folder / "kernel.py").write_text('PATTERN = "\\d"\n' + KERNEL.format("row_sum"))  # warns
    targets = uploaded(root, folder)
    assert targets["02_row_sum"].kernel == folder / "kernel.py"
    note = "kernel.py is graded as 02_row_sum: it defines row_sum"
    assert targets["02_row_sum"].notes == (note,)
    missing = "There is no exercises/01_double/kernel.py in what was handed in."
    assert targets["01_double"].refused == (Status.NOT_STARTED, missing)
    assert ci_targets.plan(catalog.exercises(root), folder)[2].refused is None, "a trusted run, too"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (KERNEL.format("double") + KERNEL.format("row_sum"), "may be of 01_double or 02_row_sum: "),
        (KERNEL.format("other"), "kernel.py defines the function of no exercise."),
        ("def double(:\n", "kernel.py defines the function of no exercise."),
        ("(" * 100_000, "kernel.py defines the function of no exercise."),
        ("class double:\n    def row_sum(self): pass\n", "defines the function of no exercise."),
    ],
    ids=["two", "none", "no Python", "deep", "a method"],
)
def test_what_may_be_of_any_exercise_is_of_none_and_what_to_upload_is_said(
    root: Path, tmp_path: Path, text: str, why: str
):
    folder = lone(tmp_path, "kernel.py", text=text)
    status, said = uploaded(root, folder)["01_double"].refused
    assert status is Status.NOT_STARTED
    assert why in said
    upload = (
        "Upload the folder exercises/ in a zip file, or one kernel file with its function double."
    )
    assert said.endswith(upload)
    with pytest.raises(UsageError, match="holds none of the course's exercises") as told:
        ci_targets.plan(catalog.exercises(root), folder)
    assert why in told.value.message


def test_several_files_and_links_are_no_lone_kernel(root: Path, tmp_path: Path):
    folder = lone(tmp_path, "a.py", "b.py")
    assert "2 kernel files beside each other" in uploaded(root, folder)["01_double"].refused[1]
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "kernel.py").symlink_to(root / "exercises/01_double/kernel.py")
    assert uploaded(root, linked, "01_double")["01_double"].refused[0] is Status.NOT_STARTED


def test_a_lone_kernel_dragged_into_gradescope_is_graded(
    root: Path, judge, monkeypatch, tmp_path: Path
):
    asked = judge(passing)
    autograder = tmp_path / "autograder"
    (autograder / "results").mkdir(parents=True)
    (autograder / "submission_metadata.json").write_text(json.dumps(METADATA))
    monkeypatch.setattr(ci_systems, "AUTOGRADER", autograder)
    folder = lone(tmp_path, "kernel.py", text=KERNEL.format("double"))
    assert cli.main(["ci", "--submission", str(folder), "--exit-zero"]) == 0
    assert [request.kernel for request in asked] == [folder / "kernel.py"]
    record = json.loads((autograder / "results/results.json").read_bytes())
    assert [test["score"] for test in record["tests"]] == [0, 7, 0]
    assert "kernel.py is graded as 01_double: it defines double" in record["output"]


# -- graded


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CannotGrade("No GPU.", "Take another machine."), Status.CANNOT_GRADE),
        (BrokenExercise("The spec is broken."), Status.ERROR),
        (GraderError("The judge ended."), Status.ERROR),
        (UsageError("The kernel file has 2,000,000 bytes."), Status.FAIL),
    ],
)
def test_a_failure_of_one_kernel_does_not_stop_the_others(
    root: Path, judge, error: GraderError, status: Status
):
    judge(raising(error))
    targets = ci_targets.plan(catalog.exercises(root), None)
    graded = ci.run(targets, lambda t: Request(t.exercise, t.kernel), print)
    assert [(r.exercise, r.status) for r in graded] == [
        ("p01_copy", Status.PASS),
        ("01_double", status),
        ("02_row_sum", Status.PASS),
    ]
    assert graded[1].message == f"{error.message} {error.next_step}".strip()
    assert (graded[1].title, graded[1].points, graded[1].max_points) == ("Double", 0, 10)
    assert parse_result(graded[1].model_dump_json(by_alias=True)) == graded[1]


@pytest.mark.parametrize(("noisy", "tries"), [(0, 1), (1, 2), (9, 2)])
def test_what_something_disturbed_is_checked_once_more(root: Path, judge, noisy: int, tries: int):
    """Nobody sits at a class's machine to try again; but a machine that is busy stays so."""
    told: list[str] = []
    answers = iter([reported.noisy()] * noisy)
    asked = judge(lambda request: next(answers, None) or passing(request))
    (target,) = ci_targets.plan(catalog.exercises(root)[1:2], None)
    (graded,) = ci.run([target], lambda t: Request(t.exercise, t.kernel), told.append)
    assert len(asked) == tries
    assert graded.status is (Status.PASS if noisy < tries else Status.CANNOT_GRADE)
    assert told == ["something disturbed the measurement: once more"] * (tries - 1)


def of_all(root: Path) -> list[Result]:
    targets = ci_targets.plan(catalog.exercises(root), None)
    return ci.run(targets, lambda t: Request(t.exercise, t.kernel), print)


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of what each judge that is started is asked to grade."""
    started: list[list[str]] = []
    real = judge_process.ask

    def ask(requests: Sequence[Request], hear: Callable[[Answer], None]) -> None:
        started.append([request.exercise.name for request in requests])
        real(requests, hear)

    monkeypatch.setattr(judge_process, "ask", ask)
    return started


def test_one_judge_grades_all_that_can_be(root: Path, judges: list[list[str]]):
    """One for each took three times as long as `grader check --all` with eight puzzles."""
    (root / "exercises/01_double/kernel.py").write_bytes(b"#" * (check.LARGEST_FILE + 1))
    (root / "puzzles/p01_copy/kernel.py").write_text("def copy_kernel(:\n")
    targets = ci_targets.plan(catalog.exercises(root), None)
    graded = ci.run(targets, lambda t: Request(t.exercise, t.kernel, Options(device="cpu")), print)
    assert judges == [["p01_copy", "02_row_sum"]]
    assert [r.exercise for r in graded] == NAMES
    assert [r.status for r in graded] == [Status.FAIL, Status.FAIL, Status.NOT_STARTED]
    assert "may have 1,048,576" in graded[1].message


def test_nothing_is_believed_of_a_judge_that_broke(root: Path, judge):
    """Who could write where it writes, and end it, would have the last word on all before it."""
    answers = iter([reported.PASSED])
    broken = GraderError("The judge ended.")

    def graded(request: Request) -> Result:
        if request.exercise.name == "01_double":
            raise broken
        return next(answers, None) or failing(request)

    asked = judge(graded)
    assert [r.status for r in of_all(root)] == [Status.FAIL, Status.ERROR, Status.FAIL]
    assert [r.exercise.name for r in asked] == [*NAMES[:2], *NAMES]


def test_what_was_disturbed_is_made_again_in_its_place(root: Path, judge):
    """After the others, by one judge; an interruption then leaves nothing that is `noisy`."""
    seen: list[str] = []

    def graded(request: Request) -> Result:
        name = request.exercise.name
        seen.append(name)
        disturbed = seen.count(name) == 1 and name != "01_double"
        return reported.noisy(exercise=name) if disturbed else passing(request)

    judge(graded)
    assert [(r.exercise, r.status) for r in of_all(root)] == [(n, Status.PASS) for n in NAMES]
    assert seen == [*NAMES, "p01_copy", "02_row_sum"]
    seen.clear()

    def interrupted(request: Request) -> Result:
        if seen.count("p01_copy") == 2:
            raise KeyboardInterrupt
        return graded(request)

    judge(interrupted)
    statuses = [r.status for r in of_all(root)]
    assert statuses == [Status.PASS, Status.PASS, Status.INTERRUPTED]


def test_an_interruption_leaves_nothing_undecided(root: Path, judge):
    judge(raising(KeyboardInterrupt()))
    targets = ci_targets.plan(catalog.exercises(root), None)
    graded = ci.run(targets, lambda t: Request(t.exercise, t.kernel), print)
    assert [r.status for r in graded] == [
        Status.PASS,
        Status.INTERRUPTED,
        Status.INTERRUPTED,
    ]
    assert ci.exit_code(graded, exit_zero=True) == 130


def test_a_judge_that_was_interrupted_ends_the_run(root: Path, judge):
    asked = judge(lambda request: reported.ended(Status.INTERRUPTED))
    targets = ci_targets.plan(catalog.exercises(root), None)
    graded = ci.run(targets, lambda t: Request(t.exercise, t.kernel), print)
    assert [r.status for r in graded] == [Status.INTERRUPTED] * 3
    assert len(asked) == 1


def test_a_broken_spec_fails_its_exercise_alone(root: Path, judge):
    asked = judge(passing)
    (root / "exercises/01_double/spec.py").write_text("SPEC = 1\n")
    (root / "exercises/01_double/kernel.py").unlink()
    targets = ci_targets.plan(catalog.exercises(root), None)
    graded = ci.run(targets, lambda t: Request(t.exercise, t.kernel), print)
    assert [r.status for r in graded] == [Status.PASS, Status.ERROR, Status.PASS]
    assert "has no SPEC" in graded[1].message
    assert len(asked) == 2


def test_paths_are_those_of_the_students_repository(root: Path, handed_in: Path, judge):
    judge(failing)
    targets = ci_targets.plan(catalog.exercises(root), handed_in)
    results = ci.run(targets, lambda t: Request(t.exercise, t.kernel), print)
    result = ci.attempts_of(targets, results, settings.read(root), "ada", "")[2].result
    assert result.kernel.path == "exercises/02_row_sum/kernel.py"
    replay = result.steps[1].failure.replay
    assert replay == "grader check 02_row_sum --case '7,float16,seed=1'"


@pytest.mark.parametrize("submitted", [False, True])
def test_no_message_has_a_path_of_the_grading_machine(root: Path, handed_in: Path, submitted: bool):
    """A student read the paths of the instructor's machine."""
    place = handed_in if submitted else root
    (place / "exercises/01_double/kernel.py").write_bytes(b"#" * (check.LARGEST_FILE + 1))
    (root / "exercises/02_row_sum/spec.py").write_text("SPEC = 1\n")
    targets = ci_targets.plan(catalog.exercises(root)[1:], handed_in if submitted else None)
    results = ci.run(targets, lambda t: Request(t.exercise, t.kernel), print)
    made = ci.attempts_of(targets, results, settings.read(root), "ada", "")
    double, rows = (attempt.result.message for attempt in made)
    assert double.startswith("The kernel file exercises/01_double/kernel.py has 1,048,577 bytes")
    assert ": exercises/02_row_sum/spec.py has no SPEC" in rows
    assert str(root.parent) not in double + rows


def test_on_a_terminal_they_name_what_was_handed_in(root: Path, handed_in: Path, judge, capsys):
    """In the course's folder the student's commands would grade the course's own kernel."""
    judge(failing)
    (handed_in / "exercises/01_double/kernel.py").unlink()
    cli.main(["ci", "01", "02", "--submission", str(handed_in)])
    out = " ".join(capsys.readouterr().out.split())
    assert f"--kernel '{handed_in}/exercises/02_row_sum/kernel.py' --case" in out
    assert f"write the missing part of {handed_in}/exercises/01_double/kernel.py" in out


def test_a_file_that_is_missing_ran_nowhere(root: Path, judge, capsys):
    """The header said `none, simulated`."""
    judge(failing)
    (root / "exercises/01_double/kernel.py").unlink()
    cli.main(["ci", "01"])
    assert re.match(r"01_double   Double · 10 points +not run\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("status", "code", "with_zero"),
    [
        (Status.PASS, 0, 0),
        (Status.FAIL, 1, 0),
        (Status.NOT_STARTED, 0, 0),
        (Status.CANNOT_GRADE, 3, 3),
        (Status.ERROR, 4, 4),
        (Status.UNFINISHED, 4, 4),
    ],
)
def test_exit_zero_forgives_learners_only(status: Status, code: int, with_zero: int):
    graded = [reported.PASSED, reported.ended(status)]
    assert ci.exit_code(graded, exit_zero=False) == code
    assert ci.exit_code(graded, exit_zero=True) == with_zero


def test_what_is_not_started_fails_a_build_only_on_request():
    """A new repository's first push was red, with 27 failures that nobody had made."""
    fresh = [reported.not_started(), reported.ended(Status.NOT_STARTED)]
    assert ci.exit_code(fresh) == 0
    assert ci.exit_code(fresh, require_started=True) == 1
    assert ci.exit_code(fresh, exit_zero=True, require_started=True) == 0
    assert ci.exit_code([*fresh, reported.wrong("x")]) == 1
    assert ci.exit_code([*fresh, reported.ended(Status.ERROR)]) == 4
    assert ci.exit_code([]) == 4, "without any result the grader is broken"


# -- the command


def test_without_names_everything_is_graded(root: Path, judge):
    asked = judge(passing)
    assert cli.main(["ci"]) == 0
    assert [request.exercise.name for request in asked] == NAMES
    asked.clear()
    assert cli.main(["ci", "01", "--device", "cpu", "--hardened"]) == 0
    (request,) = asked
    how = request.options
    assert (request.exercise.name, how.device, how.hardened) == ("01_double", "cpu", True)


def test_on_a_shell_the_report_is_for_people(root: Path, judge, capsys):
    judge(passing)
    assert cli.main(["ci"]) == 0
    out, _ = capsys.readouterr()
    assert "3 of 3 passed" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--report", "xml"], "no format of reports named 'xml'"),
        (["--report", "junit="], "names no file"),
        (["--report", "junit", "--report", "autolab"], "junit, autolab all go to standard output"),
        (["--report", "attempt"], "Give --student LOGIN"),
        (["--report", "signed", "--student", "ada"], "--hardened"),
        (["--report", "signed", "--student", "ada", "--hardened"], "needs a key"),
        (["--sign", "key.pem"], "--report signed"),
        (["--report", "classroom50=x"], "not set: CLASSROOM, ASSIGNMENT"),
        (["--submission", "nowhere"], "is not a folder"),
        (["--submission", "solutions"], "holds none of the course's exercises"),
        (["--report", "junit=typo/j.xml"], "typo/j.xml cannot be written: there is no folder typo"),
        (
            ["--report", "gitlab=typo"],
            "typo/grader-junit.xml cannot be written: there is no folder",
        ),
        (["--report", "junit=solutions"], "solutions cannot be written: it is a folder"),
        (["--student", "=ada"], "--student =ada is not a login"),
        (["--submitted-at", "noon"], "is not a time"),
        (["99"], "no exercise named"),
        (["--all", "01"], "exclude each other"),
    ],
)
def test_impossible_options_are_refused_before_grading(
    root: Path, judge, capsys, arguments: list[str], told: str
):
    asked = judge(passing)
    assert cli.main(["ci", *arguments]) == 2
    assert asked == []
    assert told in capsys.readouterr().err
    assert not (root / "typo").exists()


def test_reports_are_written_to_the_given_paths(root: Path, judge, capsys):
    judge(failing)
    (root / "out").mkdir()
    arguments = ["--report", "junit=out/junit.xml", "--report", "result", "--exit-zero"]
    assert cli.main(["ci", *arguments]) == 0
    out, err = capsys.readouterr()
    assert [parse_result(line).exercise for line in out.splitlines()] == NAMES
    assert "0 of 3 passed" in err
    assert (root / "out/junit.xml").read_text().count("<testsuite ") == 3
    assert list((root / "out").iterdir()) == [root / "out/junit.xml"]


def test_gitlab_gets_its_two_files(root: Path, judge, monkeypatch):
    judge(passing)
    monkeypatch.setenv("GITLAB_CI", "true")
    assert cli.main(["ci"]) == 0
    assert (root / "grader-junit.xml").is_file()
    assert "GRADER_SCORE=21" in (root / "grader.env").read_text()


def test_a_build_with_stubs_is_green_unless_all_must_be_started(
    root: Path, judge, monkeypatch, capsys
):
    judge(lambda request: reported.not_started(exercise=request.exercise.name))
    monkeypatch.setenv("GITLAB_CI", "true")
    assert cli.main(["ci"]) == 0
    junit = (root / "grader-junit.xml").read_text()
    assert 'failures="0"' in junit
    assert junit.count("<skipped") >= 3
    assert "GRADER_STATUS=not_started\n" in (root / "grader.env").read_text()
    assert cli.main(["ci", "--require-started"]) == 1
    assert 'failures="3"' in (root / "grader-junit.xml").read_text()
    variables = (root / "grader.env").read_text()
    assert "GRADER_STATUS=fail\n" in variables
    assert "GRADER_NOT_STARTED=3\n" in variables


def test_autolabs_line_is_the_last(root: Path, judge):
    judge(failing)
    done = grader_ci(root, {}, "--report", "autolab", "01", "--device", "cpu")
    assert json.loads(done.stdout.splitlines()[-1]) == {"scores": {"01_double": 0}}
    assert done.returncode == 0, "it is not started"


def test_gradescope_gets_its_file(root: Path, handed_in: Path, judge, monkeypatch, tmp_path: Path):
    judge(failing)
    folder = tmp_path / "autograder"
    (folder / "results").mkdir(parents=True)
    (folder / "submission_metadata.json").write_text(json.dumps(METADATA))
    monkeypatch.setattr(ci_systems, "AUTOGRADER", folder)
    assert cli.main(["ci", "--submission", str(handed_in), "--exit-zero"]) == 0
    record = json.loads((folder / "results/results.json").read_bytes())
    assert [test["score"] for test in record["tests"]] == [0, 0, 0]


def on_classroom50(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CLASSROOM50.items():
        monkeypatch.setenv(name, value)


def test_classroom_50_gets_its_result(root: Path, judge, monkeypatch, capsys):
    judge(passing)
    on_classroom50(monkeypatch)
    assert cli.main(["ci", "--exit-zero", "--out-of", "10"]) == 0
    record = json.loads((root / "result.json").read_bytes())
    assert (record["owner"], record["score"], record["max-score"]) == ("ada", 7, 10)
    assert record["datetime"] == "2026-06-01T14:32:05Z"
    assert "::notice title=grader::" in capsys.readouterr().out


def test_no_result_of_a_students_own_stays_where_ours_is_missing(
    root: Path, judge, monkeypatch, tmp_path: Path
):
    judge(raising(CannotGrade("No GPU.")))
    on_classroom50(monkeypatch)
    (root / "result.json").write_text('{"score": 100}')
    assert cli.main(["ci", "--exit-zero"]) == 3
    assert not (root / "result.json").exists()


def test_a_link_where_a_report_goes_is_replaced_and_not_followed(
    root: Path, judge, monkeypatch, tmp_path: Path
):
    judge(passing)
    on_classroom50(monkeypatch)
    other = tmp_path / "precious"
    other.write_text("mine")
    (root / "result.json").symlink_to(other)
    assert cli.main(["ci"]) == 0
    assert other.read_text() == "mine"
    assert not (root / "result.json").is_symlink()


def test_one_report_that_cannot_be_written_keeps_none_of_the_others(root: Path, judge, capsys):
    def graded(request: Request) -> Result:
        (root / "taken").mkdir(exist_ok=True)  # while the kernels were graded
        return passing(request)

    judge(graded)
    arguments = ["--report", "junit=taken", "--report", "csv-long=long.csv"]
    assert cli.main(["ci", *arguments]) == 2
    assert "taken cannot be written: Is a directory" in capsys.readouterr().err
    assert (root / "long.csv").is_file()
    assert [p for p in root.iterdir() if p.name.startswith(".")] == []


def test_the_summary_is_added_to_and_leaves_room(root: Path, judge, monkeypatch, tmp_path: Path):
    judge(failing)
    summary = tmp_path / "summary.md"
    before = "x" * (2**20 - 1100)
    summary.write_text(before)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert cli.main(["ci"]) == 1
    text = summary.read_text()
    assert text.startswith(before)
    assert len(text.encode()) <= 2**20
    assert "are left out" in text


def test_annotations_name_files_as_github_shows_them(
    root: Path, handed_in: Path, judge, monkeypatch, capsys
):
    judge(failing)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(root.parent))
    cli.main(["ci", "02"])
    assert "::error file=course/exercises/02_row_sum/kernel.py,line=12," in capsys.readouterr().out
    monkeypatch.setenv("GITHUB_WORKSPACE", str(root))
    cli.main(["ci", "02"])
    assert "::error file=exercises/02_row_sum/kernel.py,line=12," in capsys.readouterr().out
    cli.main(["ci", "02", "--submission", str(handed_in)])
    assert "::error title=02_row_sum" in capsys.readouterr().out


def test_the_report_on_a_linked_kernel_says_what_to_do(root: Path, handed_in: Path, judge, capsys):
    """It was told of right answers, and no line of it had been run."""
    judge(passing)
    kernel = handed_in / "exercises/01_double/kernel.py"
    kernel.unlink()
    kernel.symlink_to("/etc/hostname")
    assert cli.main(["ci", "01", "--submission", str(handed_in)]) == 1
    out = capsys.readouterr().out
    assert "is a link that leads out of what was handed in" in out
    assert "next: this kernel file was not run" in out
    assert "right answers" not in out


# -- attempts and signatures


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_attempts_say_whose_and_what_was_changed(root: Path, handed_in: Path, judge, capsys):
    judge(passing)
    (root / "course.toml").write_text('name = "small"\nversion = "3"\n')
    (handed_in / "exercises/01_double/spec.py").write_text("SPEC = 1\n")
    time = ["--submitted-at", "2026-11-20T10:00:00Z"]
    options = ["--submission", str(handed_in), "--student", "ada", *time]
    assert cli.main(["ci", "--report", "attempt=a.jsonl", *options]) == 0
    attempts = [Attempt.model_validate_json(line) for line in lines(root / "a.jsonl")]
    assert {(a.course, a.version, a.student, a.submitted_at) for a in attempts} == {
        ("small", "3", "ada", "2026-11-20T10:00:00+00:00")
    }
    assert len({a.id for a in attempts}) == 3
    changed = "exercises/01_double/spec.py was changed: graded with the course's own"
    assert [a.notes for a in attempts] == [(), (changed,), ()]
    assert f"note: {changed}" in capsys.readouterr().err


PEM = reported.KEY.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)


PUBLIC = reported.KEY.public_key()
TRUSTED = {signing.fingerprint(PUBLIC): PUBLIC}


@pytest.fixture
def of_the_key(tmp_path: Path) -> list[str]:
    """The options with which ada's attempts are signed into ada.jsonl."""
    (tmp_path / "key.pem").write_bytes(PEM)
    signed = ["--report", "signed=ada.jsonl", "--sign", str(tmp_path / "key.pem")]
    return [*signed, "--hardened", "--student", "ada"]


@pytest.mark.parametrize("how", ["file", "variable"])
def test_results_are_signed_and_no_check_sees_the_key(
    root: Path, tmp_path: Path, judge, monkeypatch, how: str
):
    seen: list[str | None] = []

    def graded(request: Request) -> Result:
        seen.append(os.environ.get("GRADER_SIGNING_KEY"))
        return passing(request)

    judge(graded)
    monkeypatch.setenv("GRADER_SIGNING_KEY", PEM.decode() if how == "variable" else "other")
    (tmp_path / "key.pem").write_bytes(PEM)
    options = ["--sign", str(tmp_path / "key.pem")] if how == "file" else []
    options += ["--hardened", "--student", "ada", "--report", "signed=s.jsonl"]
    assert cli.main(["ci", *options]) == 0
    assert seen == [None] * 3
    (signed,) = [Signed.model_validate_json(line) for line in lines(root / "s.jsonl")]
    made = [Attempt.model_validate_json(text) for text in signing.lines(signed, TRUSTED)]
    assert [one.result.exercise for one in made] == NAMES


def test_what_is_signed_is_added_to_what_was_signed_before(
    root: Path, tmp_path: Path, judge, of_the_key: list[str]
):
    """A student is graded again after an appeal, and the better attempt counts: no run takes the
    place of an earlier one, and one that was cut off costs no other."""
    file = root / "ada.jsonl"
    for graded in (passing, failing):
        judge(graded)
        assert cli.main(["ci", "--exit-zero", *of_the_key]) == 0
    first, second = lines(file)
    file.write_text(f"{first}\n{second[:99]}")
    assert cli.main(["ci", "--exit-zero", *of_the_key]) == 0
    assert lines(file)[:2] == [first, second[:99]]
    timed = dict.fromkeys(NAMES, True)
    found = gradebook.read([file], Context("course", "0", timed, TRUSTED, datetime.now(UTC)))
    assert sorted(one.result.status for one in found.attempts) == ["fail"] * 3 + ["pass"] * 3
    assert len(found.problems) == 1


def test_the_key_is_taken_away_even_where_nothing_is_signed(root: Path, judge, monkeypatch):
    monkeypatch.setenv("GRADER_SIGNING_KEY", PEM.decode())
    judge(passing)
    assert cli.main(["ci", "01"]) == 0
    assert "GRADER_SIGNING_KEY" not in os.environ


def test_a_key_that_is_none_is_refused(root: Path, judge, monkeypatch, capsys):
    asked = judge(passing)
    monkeypatch.setenv("GRADER_SIGNING_KEY", "secret words")
    arguments = ["--hardened", "--student", "ada", "--report", "signed=s.jsonl"]
    assert cli.main(["ci", *arguments]) == 2
    err = capsys.readouterr().err
    assert "GRADER_SIGNING_KEY holds no private Ed25519 key" in err
    assert "secret words" not in err
    assert asked == []


# -- what kernels print


def grader_ci(
    root: Path, environ: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """The real command, both of its streams in one, as a runner reads them."""
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", "ci", *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def commands(log: str) -> list[str]:
    """What GitHub's runner takes for commands in a log, after its ActionCommand.cs.

    `::name ...::` at the start of a line, blanks before it or not, and `##[name]` anywhere in one.
    Between `::stop-commands::TOKEN` and `::TOKEN::` there are none.
    """
    found, token = [], None
    for line in re.split(r"\r\n|\r|\n", log):
        command = re.match(r"\s*::([^\s:]+)[^:]*::(.*)", line)
        if token is not None:
            token = None if command and command[1] == token else token
        elif command and command[1] == "stop-commands":
            token = command[2]
        elif command or re.search(r"##\[\w+", line):
            found.append(line)
    assert token is None
    return found


def test_a_job_that_is_cancelled_still_reports(tmp_path: Path):
    root = Path(shutil.copytree(TESTS / "courses" / "bad", tmp_path / "course"))
    command = [sys.executable, "-m", "grader.cli", "ci", "--report", "junit=j.xml"]
    grading = subprocess.Popen(
        command, cwd=root, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, stderr=subprocess.PIPE
    )
    assert grading.stderr is not None
    with grading.stderr:
        assert b"grading 01_copy" in grading.stderr.readline()
        grading.send_signal(signal.SIGTERM)
        grading.stderr.read()
    assert grading.wait() == 130
    text = (root / "j.xml").read_text()
    assert text.count('type="interrupted"') == 2


def test_the_reader_of_logs_sees_commands():
    log = "::error::a\n  ::notice x=1::b\nx ##[group]c\n::stop-commands::t\n::error::d\n::t::\n:: e"
    assert commands(log) == ["::error::a", "  ::notice x=1::b", "x ##[group]c"]


@pytest.mark.parametrize("form", ["junit", "result", "attempt", "gradescope", "csv-long"])
def test_a_report_that_is_printed_forges_nothing(root: Path, judge, monkeypatch, capsys, form: str):
    """It came to standard output once commands were obeyed again, with what kernels printed."""
    said = "::error file=x::forged\nx ##[error]forged\n"
    judge(lambda request: failing(request).model_copy(update={"output": said, "title": said}))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    cli.main(["ci", "--student", "ada", "--report", form])
    out = capsys.readouterr().out
    assert commands(out) == []
    if form == "result":
        assert [parse_result(line).output for line in out.splitlines()] == [said] * 3
    if form == "junit":
        read = [e.text for e in ElementTree.fromstring(out.encode()).iter("system-out")]
        assert read == [said] * 3


def test_a_kernel_that_prints_forges_nothing(tmp_path: Path):
    root = Path(shutil.copytree(TESTS / "courses" / "bad", tmp_path / "course"))
    shutil.rmtree(root / "exercises/02_copy_numba")
    forged = "::error file=a::forged\\n   ::notice::forged\\nx ##[error]forged\\r::add-mask::1"
    (root / "exercises/01_copy/kernel.py").write_text(
        "import sys\n"
        f"print('{forged}', flush=True)\n"
        f"print('{forged}', file=sys.stderr, flush=True)\n"
        "def copy(x, out):\n"
        f"    raise ValueError('{forged} ' * 9)\n"
    )
    summary = tmp_path / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = grader_ci(root, github, "--device", "cpu")
    assert done.returncode == 1, done.stdout
    told = commands(done.stdout)
    assert [line.partition("::forged")[0][:40] for line in told] == [
        "::error file=exercises/01_copy/kernel.py",
        "::notice title=grader::0 of 10 points",
    ]
    stopped = re.search(r"^::stop-commands::(\w{32})\n(.*)^::\1::$", done.stdout, re.M | re.S)
    assert stopped
    assert stopped[2].count("forged") >= 6
    # Also where no runner stops commands, none is there to be obeyed.
    other = grader_ci(root, {"GITLAB_CI": "true"}, "--device", "cpu")
    assert commands(other.stdout) == []
    assert "\n| " in other.stdout
