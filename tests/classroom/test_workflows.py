"""The files of classroom/: as their systems read them, safe, and run here as far as that goes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import reported
import warm
import yaml
from cryptography.hazmat.primitives import serialization
from typer.main import get_command

from grader.classroom import ci_changes, signing
from grader.cli.commands import app
from grader.model.attempts import Attempt, Signed, attempt_json

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
CLASSROOM = TESTS.parent / "classroom"
WORKFLOWS = sorted((CLASSROOM / "github").glob("*.yml"))
GITLAB = CLASSROOM / "gitlab" / "check.yml"
AUTOGRADER = CLASSROOM / "classroom50" / "autograder.py"
ZIP = TESTS.parent / "grader" / "classroom" / "gradescope"
INDEX = "https://builds.example/without-cuda"
SYSTEMS = ("GITHUB_", "GITLAB_", "CI", "CLASSROOM", "SUBMISSION_TAG", "GRADER_", "PIP_", "TORCH_")


def parsed(path: Path) -> dict[str, Any]:
    record = yaml.safe_load(path.read_text(encoding="utf-8"))
    if True in record:  # YAML 1.1 takes the key `on` for a truth value
        record["on"] = record.pop(True)
    return record


def schema(name: str) -> dict[str, Any]:
    """The schema that check-jsonschema brings along."""
    folder = resources.files("check_jsonschema.builtin_schemas.vendor")
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in parsed(path)["jobs"].values():
        yield from job["steps"]


# -- as their systems read them


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_is_one_to_github(path: Path):
    jsonschema.Draft7Validator(schema("github-workflows")).validate(parsed(path))


def test_the_pipeline_is_one_to_gitlab():
    jsonschema.Draft7Validator(schema("gitlab-ci")).validate(parsed(GITLAB))


def test_the_schemas_refuse_what_is_wrong():
    wrong = parsed(WORKFLOWS[0])
    next(iter(wrong["jobs"].values()))["stepps"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema("github-workflows")).validate(wrong)
    pipeline = parsed(GITLAB)
    pipeline["check"]["scripts"] = ["x"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema("gitlab-ci")).validate(pipeline)


# -- safe


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_may_do_little(path: Path):
    record = parsed(path)
    assert record["permissions"] == {"contents": "read"}
    for name, job in record["jobs"].items():
        allowed = {"pages": "write", "id-token": "write"} if name == "publish" else {}
        assert job.get("permissions", {}) == allowed
        assert job["timeout-minutes"] <= 60
    assert "pull_request_target" not in path.read_text(encoding="utf-8")
    assert "workflow_run" not in record["on"]
    for step in steps(path):
        uses = step.get("uses", "actions/none@v0")
        assert re.fullmatch(r"actions/[\w-]+@v\d+", uses)
        if uses.startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_no_script_is_put_together_from_what_others_write(path: Path):
    for step in steps(path):
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_machines_of_yours_run_no_strangers_pull_requests(path: Path):
    record = parsed(path)
    own = any("self-hosted" in job["runs-on"] for job in record["jobs"].values())
    assert not own or set(record["on"]) <= {"workflow_dispatch", "push"}
    asks_for_secrets = "secrets." in path.read_text(encoding="utf-8")
    assert asks_for_secrets == (path.name in ("grade.yml", "board.yml"))


@pytest.mark.parametrize("path", [*WORKFLOWS, GITLAB], ids=lambda p: p.parent.name + p.stem)
def test_each_command_of_a_script_exists(path: Path):
    known = get_command(app).commands
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    if path.parent.name == "gitlab":
        scripts = [line for job in parsed(path).values() for line in dict_script(job)]
    else:
        scripts = [line.replace("\\\n", " ") for s in steps(path) for line in [s.get("run", "")]]
    lines = [line for script in scripts for line in script.splitlines() if "grader" in line]
    found = [re.search(r'grader"? (ci|leaderboard)(.*)', line) for line in lines]
    commands = [match for match in found if match]
    assert commands, text
    for match in commands:
        command = known[match[1]]
        words = shlex.split(match[2])
        if hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options


def dict_script(job: object) -> list[str]:
    return job.get("script", []) if isinstance(job, dict) else []


# -- run


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """A student's repository with one kernel that is right, and what a release adds."""
    root = tmp_path / "work" / "submission"
    shutil.copytree(TESTS / "courses" / "bad", root, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(root / "exercises/02_copy_numba")
    # With torch alone, which this course allows: only one test has a kernel that is compiled.
    kernel = "def copy(x, out):\n    out.copy_(x)\n"
    (root / "exercises/01_copy/kernel.py").write_text(kernel)
    (root / "requirements.txt").write_text("./kernel_grader.whl\n")
    (root / "requirements-gpu.txt").write_text("./kernel_grader.whl[gpu]\n")
    (root / "course.toml").write_text('name = "copies"\nversion = "7"\n')
    return root


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """Programs that a machine of such a system has; installing is only written down."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "installed"
    python = f"""#!/bin/sh
case "$*" in
*"-m pip install"*) echo "$PWD: $*" >> {log}; exit 0 ;;
"-m venv "*) mkdir -p "$3/bin"; cp {folder}/python {folder}/grader "$3/bin/"; exit 0 ;;
esac
exec {sys.executable} "$@"
"""
    grader = f'#!/bin/sh\nexec {warm.path_of_grader()}/grader "$@"\n'
    apt = f'#!/bin/sh\necho "apt-get $*" >> {log}\n'
    for name, text in (("python", python), ("python3", python), ("grader", grader)):
        (folder / name).write_text(text)
    (folder / "apt-get").write_text(apt)
    for path in folder.iterdir():
        path.chmod(0o755)
    return folder


def run(
    script: str, folder: Path, bin_folder: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """A script as a runner runs it: by bash, which stops at the first command that fails."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(SYSTEMS)}
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**plain, "PATH": path, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def run_workflow(
    path: Path, folder: Path, bin_folder: Path, environ: Mapping[str, str], device: str = "cpu"
) -> subprocess.CompletedProcess[str]:
    """Every script of a workflow in turn; what the last one came to."""
    temp = bin_folder.parent / "runner"
    temp.mkdir(exist_ok=True)
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "ada",
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
        "RUNNER_TEMP": str(temp),
    }
    done = None
    for step in steps(path):
        if "run" not in step:
            continue
        own = {k: environ.get(k, v) for k, v in step.get("env", {}).items()}
        script = step["run"].replace("--device cuda", f"--device {device}")
        where = folder / step.get("working-directory", ".")
        done = run(script, where, bin_folder, github | own)
        if done.returncode:
            break
    assert done is not None
    return done


def test_a_push_is_checked_on_github(student: Path, bin_folder: Path, tmp_path: Path):
    shutil.copy(TESTS / "bad" / "copies.py", student / "exercises/01_copy/kernel.py")  # Triton
    index = {"TORCH_INDEX": INDEX}
    done = run_workflow(CLASSROOM / "github/check.yml", student, bin_folder, index)
    assert done.returncode == 0, done.stdout
    assert "::notice title=grader::7 of 10 points" in done.stdout
    assert "**7 of 10 points**" in (tmp_path / "runner/summary.md").read_text()
    attempt = Attempt.model_validate_json((student / "reports/attempts.jsonl").read_text())
    assert (attempt.student, attempt.course) == ("ada", "copies")
    assert (attempt.result.exercise, attempt.result.status) == ("01_copy", "pass")
    assert (student / "reports/junit.xml").is_file()
    installed = (tmp_path / "installed").read_text().splitlines()
    assert installed[0].endswith(f"-m pip install -r requirements.txt --extra-index-url {INDEX}")


def test_a_wrong_kernel_makes_the_job_fail(student: Path, bin_folder: Path, tmp_path: Path):
    kernel = student / "exercises/01_copy/kernel.py"
    kernel.write_text("def copy(x, out):\n    out.zero_()\n")
    done = run_workflow(CLASSROOM / "github/check.yml", student, bin_folder, {})
    assert done.returncode == 1
    assert "::error file=exercises/01_copy/kernel.py" in done.stdout
    assert "**0 of 10 points**" in (tmp_path / "runner/summary.md").read_text()


def test_a_machine_without_a_gpu_is_no_fault_of_the_kernel(student: Path, bin_folder: Path):
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a GPU")
    done = run_workflow(CLASSROOM / "github/gpu.yml", student, bin_folder, {}, device="cuda")
    assert done.returncode == 3, done.stdout
    assert "::warning" in done.stdout
    assert "not your kernel's fault" in done.stdout
    assert "::error" not in done.stdout


def committed(folder: Path, at: str = "2026-11-20T10:00:00+01:00") -> None:
    when = {"GIT_COMMITTER_DATE": at}
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "Done"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, env={**os.environ, **when})


def test_the_trusted_run_signs_what_it_finds(student: Path, bin_folder: Path, tmp_path: Path):
    work = student.parent
    shutil.copytree(student, work / "course")
    (student / "exercises/01_copy/spec.py").write_text("raise SystemExit('mine')\n")
    committed(student)
    pem = reported.KEY.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    environ = {"GRADER_SIGNING_KEY": pem.decode(), "STUDENT": "ada; touch x", "SUBMITTED_AT": ""}
    done = run_workflow(CLASSROOM / "github/grade.yml", work, bin_folder, environ)
    assert done.returncode == 2
    assert "--student ada; touch x is not a login" in done.stdout
    environ["STUDENT"] = "ada@uni.example"
    done = run_workflow(CLASSROOM / "github/grade.yml", work, bin_folder, environ)
    # 3 where a wall does not hold on this machine; what is signed then says so.
    assert done.returncode in (0, 3), done.stdout
    text = (work / "course/signed/results.jsonl").read_text(encoding="utf-8")
    signed = Signed.model_validate_json(text)
    public = reported.KEY.public_key()
    (made,) = signing.lines(signed, {signing.fingerprint(public): public})
    attempt = Attempt.model_validate_json(made)
    assert (attempt.course, attempt.version, attempt.student) == (
        "copies",
        "7",
        "ada@uni.example",
    )
    assert attempt.submitted_at == "2026-11-20T09:00:00+00:00"
    assert attempt.notes == ("exercises/01_copy/spec.py was changed: graded with the course's own",)
    assert attempt.result.status == ("pass" if done.returncode == 0 else "cannot_grade")
    assert "PRIVATE KEY" not in done.stdout


def handed_in(student: Path, tmp_path: Path, told: str) -> str:
    """What the trusted run takes for the time when it was handed in, with this input."""
    grading = next(
        s for s in steps(CLASSROOM / "github/grade.yml") if s["name"] == "Grade and sign"
    )
    script, mark, _ = grading["run"].partition("mkdir")
    assert mark
    (tmp_path / "course").mkdir()
    (tmp_path / "submission").symlink_to(student)
    environ = {"SUBMITTED_AT": told}
    done = run(f'{script}\necho "$when"', tmp_path / "course", tmp_path, environ)
    return done.stdout.strip()


def test_who_starts_the_trusted_run_may_say_when_it_was_handed_in(student: Path, tmp_path: Path):
    """A commit has any time that its maker likes: no deadline could be held with it."""
    committed(student)
    told = "2026-11-21T00:00:00Z; touch x"
    assert handed_in(student, tmp_path, told) == told
    assert not (tmp_path / "course/x").exists()
    workflow = parsed(CLASSROOM / "github/grade.yml")
    asked = workflow["on"]["workflow_dispatch"]["inputs"]["submitted_at"]
    assert (asked["required"], asked["default"]) == (False, "")


def test_a_students_clock_that_is_ahead_stops_no_grading(student: Path, tmp_path: Path):
    """`--submitted-at` refuses what is yet to come, and a commit has its maker's clock."""
    committed(student, "2099-01-01T00:00:00Z")
    assert datetime.fromisoformat(handed_in(student, tmp_path, "")) <= datetime.now(UTC)
    called = "import autograder, pathlib, sys; print(autograder.committed_at(pathlib.Path('.')))"
    asked = [sys.executable, "-c", called]
    found = partial(subprocess.check_output, asked, cwd=student, text=True)
    assert found(env={**os.environ, "PYTHONPATH": str(AUTOGRADER.parent)}) == "\n"


@pytest.fixture
def course_repository(student: Path) -> Path:
    """The course's private repository: what a release wrote, ada's and bob's results, and a key."""
    made = [
        reported.attempt(reported.timed(exercise="01_copy"), login, number, course="copies")
        for number, login in enumerate(("ada", "bob"), 1)
    ]
    pem = reported.KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for folder in ("results", "keys"):
        (student / folder).mkdir()
    (student / "keys/public.pem").write_bytes(pem)
    (student / "results/class.jsonl").write_text(
        attempt_json(signing.sign(made, reported.KEY)) + "\n"
    )
    return student


@pytest.mark.parametrize("wanted", [False, True])
def test_the_board_is_built_as_students_and_teacher_decided(
    course_repository: Path, bin_folder: Path, tmp_path: Path, wanted: bool
):
    """The workflow read neither file: who asked to be hidden was published every time."""
    if wanted:
        (course_repository / "people.csv").write_text("student,hidden\nbob,yes\n")
        decided = {
            "attempt": f"{1:032x}",
            "reason": "Why.",
            "by": "me",
            "at": "2026-11-21T10:00:00Z",
        }
        (course_repository / "decisions.json").write_text(
            json.dumps({"schema": "grader/decisions/v1", "invalidated": [decided]})
        )
    secret = {"GRADER_COURSE_KEY": "ab" * 32}
    done = run_workflow(CLASSROOM / "github/board.yml", course_repository, bin_folder, secret)
    assert done.returncode == 0, done.stdout
    board = json.loads((tmp_path / "runner/site/board.json").read_bytes())
    states = [one["state"] for student in board["students"] for one in student["tried"]]
    assert states == (["invalidated"] if wanted else ["unverified"] * 2)


def test_the_board_is_built_again_when_anything_of_it_changes(course_repository: Path):
    """A push that changes people.csv or decisions.json alone started nothing."""
    patterns = parsed(CLASSROOM / "github/board.yml")["on"]["push"]["paths"]
    script = "\n".join(step.get("run", "") for step in steps(CLASSROOM / "github/board.yml"))
    named = set(re.findall(r"[\w/]+\.(?:csv|json|pem|txt)\b", script))
    assert {"people.csv", "decisions.json", "keys/public.pem", "requirements.txt"} == named
    read = {*named, "course.toml", "results/class.jsonl", "exercises/01_copy/spec.py"}
    assert {path for path in read if not any(map(partial(fnmatch, path), patterns))} == set()


def test_a_push_is_checked_on_gitlab(student: Path, bin_folder: Path, tmp_path: Path):
    pipeline = parsed(GITLAB)
    script = "\n".join(pipeline["check"]["script"])
    environ = {"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "ada", "TORCH_INDEX": INDEX}
    done = run(script, student, bin_folder, environ)
    assert done.returncode == 0, done.stdout
    kept = pipeline[".reports"]["artifacts"]["reports"]
    assert (student / kept["junit"]).read_text().count("<testsuite ") == 1
    assert "GRADER_SCORE=7\n" in (student / kept["dotenv"]).read_text()
    attempt = Attempt.model_validate_json((student / "reports/attempts.jsonl").read_text())
    assert (attempt.student, attempt.course) == ("ada", "copies")
    installed = (tmp_path / "installed").read_text().splitlines()
    assert installed[0].endswith(f"-m pip install -r requirements.txt --extra-index-url {INDEX}")


CLASSROOM50 = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_ACTOR": "ada",
    "CLASSROOM": "gpu-course",
    "ASSIGNMENT": "kernels",
    "ASSIGNMENT_TYPE": "individual",
    "USERNAME": "ada",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/2026-06-01T14-32-05Z-a1b2c3d",
    "COMMIT_URL": "https://github.com/x/y/commit/a1b2c3d",
    "RELEASE_URL": "https://github.com/x/y/releases/tag/z",
    "REVIEW_URL": "https://github.com/x/y/compare/z",
}


def classroom50(
    student: Path, bundle: Path, bin_folder: Path, **changes: str
) -> subprocess.CompletedProcess[str]:
    environ = CLASSROOM50 | {"CLASSROOM50_BUNDLE_DIR": str(bundle)} | changes
    main = f"import runpy; runpy.run_path({str(bundle / 'autograder.py')!r}, run_name='__main__')"
    script = shlex.join([sys.executable, "-c", f"{warm.for_another_process()}\n{main}"])
    return run(script, student, bin_folder, environ)


def test_classroom_50_gets_a_result_from_the_courses_own_files(
    student: Path, bin_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    # A forked process has imported the grader already, and would never meet the student's.
    monkeypatch.setattr(subprocess, "Popen", warm.COLD)
    bundle = student.parent / "bundle"
    shutil.copytree(student, bundle)
    shutil.copy(AUTOGRADER, bundle)
    (student / "exercises/01_copy/spec.py").write_text("raise SystemExit('mine')\n")
    (student / "grader").mkdir()
    (student / "grader/__init__.py").write_text("raise SystemExit(0)\n")
    (student / "result.json").write_text('{"score": 100}')
    committed(student)
    done = classroom50(student, bundle, bin_folder)
    assert done.returncode == 0, done.stdout
    record = json.loads((student / "result.json").read_bytes())
    contract = json.loads((TESTS / "schemas/classroom50.schema.json").read_bytes())
    jsonschema.Draft202012Validator(contract).validate(record)
    assert (record["owner"], record["score"], record["max-score"]) == ("ada", 7, 10)
    assert record["datetime"] == "2026-06-01T14:32:05Z", "the service's time, and not the commit's"
    assert record["submitted_by"] == {"username": "ada"}
    assert "spec.py was changed" in record["tests"][0]["notes"][0]


@pytest.mark.parametrize("tag", ["submit/final", "submit/2026-13-01T14-32-05Z-a1b2c3d"])
def test_without_a_tag_the_time_is_the_commits(student: Path, bin_folder: Path, tag: str):
    bundle = student.parent / "bundle"
    shutil.copytree(student, bundle)
    shutil.copy(AUTOGRADER, bundle)
    (student / "exercises/01_copy/kernel.py").write_text("def copy(\n")  # is graded in no time
    committed(student)
    done = classroom50(student, bundle, bin_folder, SUBMISSION_TAG=tag)
    assert done.returncode == 0, done.stdout
    record = json.loads((student / "result.json").read_bytes())
    assert record["datetime"] == "2026-11-20T09:00:00Z"


def test_classroom_50_gets_no_result_where_nothing_can_be_graded(student: Path, bin_folder: Path):
    bundle = student.parent / "bundle"
    shutil.copytree(student, bundle)
    shutil.copy(AUTOGRADER, bundle)
    (bundle / "exercises/01_copy/spec.py").write_text("raise SystemExit('broken')\n")
    (student / "result.json").write_text('{"score": 100}')
    done = classroom50(student, bundle, bin_folder)
    assert done.returncode == 4, done.stdout
    assert not (student / "result.json").exists()


def at_gradescope(script: Path, autograder: Path) -> str:
    """A script of Gradescope's, for a folder in place of /autograder."""
    return script.read_text(encoding="utf-8").replace("/autograder/", f"{autograder}/")


def test_without_a_gpu_pytorchs_build_for_cpus_is_installed(
    student: Path, bin_folder: Path, tmp_path: Path
):
    """Each job fetched some gigabytes of CUDA that it had no use for."""
    index = "https://download.pytorch.org/whl/cpu"
    for name in ("check", "board"):
        (env,) = (
            s["env"] for s in steps(CLASSROOM / f"github/{name}.yml") if s.get("name") == "Install"
        )
        assert env["TORCH_INDEX"] == f"${{{{ vars.TORCH_INDEX || '{index}' }}}}"
    assert parsed(GITLAB)["variables"]["TORCH_INDEX"] == index
    shutil.copytree(student, tmp_path / "autograder/source/course")
    done = run(at_gradescope(ZIP / "setup.sh", tmp_path / "autograder"), tmp_path, bin_folder, {})
    assert done.returncode == 0, done.stdout
    called = "import autograder, pathlib; autograder.install(pathlib.Path('.'))"
    program = f"import sys; sys.executable = {str(bin_folder / 'python')!r}; {called}"
    words = [sys.executable, "-c", program]
    where = {"PYTHONPATH": str(AUTOGRADER.parent)}
    done = run(shlex.join(words), student, bin_folder, where)
    assert done.returncode == 0, done.stdout
    lines = [one for one in (tmp_path / "installed").read_text().splitlines() if " pip " in one]
    assert len(lines) == 2
    assert all(one.endswith(f"--extra-index-url {index}") for one in lines)


def test_the_jobs_of_a_push_grade_what_it_changed():
    """With a cancelled run, or without the commit before, what it changed was never graded."""
    checkout, *_, check = (
        s for s in steps(CLASSROOM / "github/check.yml") if "upload" not in s.get("uses", "")
    )
    assert checkout["with"]["fetch-depth"] == 0
    assert "--changed" in check["run"]
    assert "concurrency" not in parsed(CLASSROOM / "github/check.yml")
    pipeline = parsed(GITLAB)
    assert pipeline["variables"]["GIT_DEPTH"] == "0"
    assert pipeline["check"]["interruptible"] is False
    assert "--changed" in pipeline["check"]["script"][-1]
    assert "--changed" not in "".join(pipeline["gpu"]["script"])
    assert "--changed" not in (CLASSROOM / "github/grade.yml").read_text()


def test_a_push_of_one_kernel_is_graded_alone(student: Path, bin_folder: Path, tmp_path: Path):
    """With git, as GitHub runs it: the first commit's stub stays as it is."""
    shutil.copytree(student / "exercises/01_copy", student / "exercises/02_again")
    committed(student)
    before = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=student, text=True).strip()
    kernel = student / "exercises/01_copy/kernel.py"
    kernel.write_text(kernel.read_text() + "# better\n")
    committed(student)
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"before": before}))
    (check,) = (s for s in steps(CLASSROOM / "github/check.yml") if s.get("name") == "Check")
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "ada",
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_EVENT_PATH": str(event),
    }
    done = run(check["run"], student, bin_folder, github)
    assert done.returncode == 0, done.stdout
    said = f"1 of 2 exercises changed since {before[:10]}. {ci_changes.OTHERS}"
    assert f"::notice title=grader::7 of 10 points. {said}" in done.stdout


def test_gradescopes_scripts_install_the_course(student: Path, bin_folder: Path, tmp_path: Path):
    autograder = tmp_path / "autograder"
    shutil.copytree(student, autograder / "source/course")
    index = {"TORCH_INDEX": INDEX}
    done = run(at_gradescope(ZIP / "setup.sh", autograder), tmp_path, bin_folder, index)
    assert done.returncode == 0, done.stdout
    installed = (tmp_path / "installed").read_text()
    assert f"{autograder}/source/course: -m pip install --no-cache-dir" in installed
    assert f"--extra-index-url {INDEX}" in installed
    assert (autograder / "venv/bin/grader").is_file()
    script = at_gradescope(ZIP / "run_autograder", autograder).rstrip()
    shutil.copytree(student, autograder / "submission")
    plain = run(f"{script} --report gradescope={tmp_path}/r.json", tmp_path, bin_folder, {})
    assert plain.returncode == 0, plain.stdout
    (test,) = json.loads((tmp_path / "r.json").read_bytes())["tests"]
    assert (test["score"], test["max_score"], test["status"]) == (7, 10, "passed")


@pytest.mark.parametrize("script", [ZIP / "setup.sh", ZIP / "run_autograder"], ids=lambda p: p.name)
def test_a_script_for_gradescope_is_sound(script: Path):
    assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
