"""The walls around a worker: each is tried by a real worker, with it and without it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader import backends, cli
from grader.course.exercise import Exercise
from grader.doctor import hardening
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.machine import processes
from grader.model.errors import CannotGrade
from grader.model.results import Result, Wall
from grader.model.verdict import exit_code, first_problem
from grader.sandbox import commands, walls
from grader.sandbox.fork_server import ForkServer
from grader.worker import confine
from grader.worker import walls as trials
from grader.worker.worker_home import existing

pytestmark = pytest.mark.slow

COURSE = Path(__file__).parents[1] / "courses" / "bad"
COPY = Exercise(COURSE / "exercises" / "02_copy_numba")
GOOD = Path(__file__).parents[1] / "bad" / "numba_copies.py"
ALL = ",".join(confine.NAMES)
EVERYWHERE = {"own_session", "environment", "home", "file_size", "memory", "limits", "leftovers"}


@pytest.fixture(scope="module", autouse=True)
def _adopting() -> None:
    """As a judge does, so that nothing which a worker left can hide from it."""
    processes.adopt_orphans()


def offered(name: str) -> bool:
    """Whether the kernel of this machine gives what a wall of confine.NAMES is made of."""
    asked = {
        "namespaces": hardening.user_namespaces,
        "mounts": hardening.user_namespaces,
        "pids": hardening.user_namespaces,
        "files": hardening.landlock,
        "calls": hardening.seccomp,
    }
    return name not in asked or asked[name]() is None


# A language without a library. The walls are the same for all, and numba takes a second to import.
BARE = {
    "__init__.py": (
        "from dataclasses import replace\n"
        "from grader.backends import numba\n"
        "BACKEND = replace(numba.BACKEND, name='bare')\n"
    ),
    "simulated.py": "def install():\n    return lambda: None\n",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages") / "bare"
    folder.mkdir()
    for name, text in BARE.items():
        (folder / name).write_text(text)
    return folder


def fallen(without: str, language: Path) -> set[str]:
    """The walls that do not hold around a worker for which these were not built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(commands.WITHOUT, without)
        patch.setattr(backends, "folder", lambda name: language)
        with closing(ForkServer("numba", "cpu")) as fork_server:
            tried = walls.try_all(fork_server, COPY)
    assert [wall.name for wall in tried] == list(walls.MEANING)
    return {wall.name for wall in tried if not wall.held}


# What falls when these are not built, on a machine that offers all of them. As `user` is built for
# root alone, it is left out wherever it would make up for another.
OPEN_FILES = {"course", "files", "shared_memory", "installation", "sockets"}
JUDGE = {"judge_memory", "judge_process"}
FALLS = {
    "": set(),
    "pids": {"other_processes"},
    "user,files": set(),  # each of these two does what the other does, but for sockets
    "user,mounts": {"sockets"},
    "user,files,mounts": OPEN_FILES,
    "user,files,pids": {"judge_process", "other_processes"},
    "user,rights": {"privileges"},
    "user,namespaces,calls": {"network", "privileges", "processes"},
    "user,namespaces,rights,files,mounts,pids": {
        *OPEN_FILES,
        *JUDGE,
        *("other_processes", "privileges", "processes"),
    },
    ALL: set(walls.MEANING) - EVERYWHERE,
}


@pytest.mark.parametrize("without", FALLS, ids=lambda without: without or "nothing missing")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # pytest has threads
def test_each_wall_holds_until_it_is_not_built(bare: Path, without: str):
    """The worker has numba where all walls are built; elsewhere it has no library."""
    if not all(map(offered, confine.NAMES)):
        pytest.skip("the kernel of this machine does not offer all walls")
    # Linux limits the processes of root in no namespace; who is not root has rights in one alone.
    root = os.geteuid() == 0
    either = {"processes"} if root and "user" in without else set()
    either |= (
        {"privileges"} if not root and {"namespaces", "mounts"} <= {*without.split(",")} else set()
    )
    language = bare if without else backends.folder("numba")
    assert fallen(without, language) | either == FALLS[without] | either


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_another_user_alone_keeps_from_the_judge_and_limits_processes(bare: Path):
    """Python must be readable for it: where it lies in root's own folder, `mounts` shows it."""
    without = set(confine.NAMES) - {"user", "mounts"}
    assert not fallen(",".join(without), bare) & {*JUDGE, "processes", "installation", "files"}
    assert fallen(",".join(without | {"user"}), bare) >= {*JUDGE, "processes"}


def test_what_is_tried_is_what_is_told():
    assert [*trials.TRIALS, "leftovers"] == list(walls.MEANING)
    assert walls.MEANING.keys() >= walls.REQUIRED


def test_the_documentation_lists_all_walls():
    page = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")
    for name, meaning in walls.MEANING.items():
        required = "yes" if name in walls.REQUIRED else ""
        assert f"| `{name}` | {meaning} | {required} |\n" in page
    for name in confine.NAMES:
        assert f"| `{name}` | " in page


def test_a_path_that_cannot_be_looked_at_costs_no_wall(tmp_path: Path):
    """Its name is too long, which Linux refuses as it refuses a folder of somebody else's."""
    assert list(existing([tmp_path, "x" * 300, tmp_path / "gone"])) == [tmp_path]


def test_a_process_that_is_left_running_is_found():
    name = "grader-left-1"
    code = f"import ctypes, sys; ctypes.CDLL(None).prctl(15, b'{name}'); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as left:
        assert left.stdout
        left.stdout.readline()
        assert walls._process_runs(name)
        left.communicate(b"\n")
    assert not walls._process_runs(name)


# -- records and refusals


def tried(*missing: str) -> list[Wall]:
    return [Wall(name=name, held=name not in missing) for name in walls.MEANING]


def test_what_is_not_required_may_be_missing():
    walls.require(tried("processes", "judge_process", "sockets", "memory"))


def test_each_wall_that_is_missing_is_named_with_its_mend(snapshot: SnapshotAssertion):
    with pytest.raises(CannotGrade) as caught:
        walls.require(tried("course", "files", "home", "sockets"))
    assert caught.value.exit_code == 3
    assert text_of(caught.value) == snapshot
    assert str(walls.FILES) in caught.value.next_step


def test_a_wall_that_was_never_tried_does_not_hold(snapshot: SnapshotAssertion):
    with pytest.raises(CannotGrade) as caught:
        walls.require([wall for wall in tried() if wall.name != "leftovers"])
    assert text_of(caught.value) == snapshot


@pytest.fixture
def _in_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_COURSE", str(COURSE))


@pytest.fixture(scope="module")
def behind_walls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """What one judge says of a good kernel file, the same with --hardened, and one that tries."""
    if not all(map(offered, confine.NAMES)):
        pytest.skip("the kernel of this machine does not offer all walls")
    tries = tmp_path_factory.mktemp("kernels") / "tries.py"
    tries.write_text(ATTACK.format(attacks=ATTACKS))
    requests = {
        "plain": Request(COPY, GOOD, Options(device="cpu")),
        "hardened": Request(COPY, GOOD, Options(device="cpu", hardened=True)),
        "tries": Request(COPY, tries, Options(device="cpu")),
    }
    return dict(zip(requests, check.run([*requests.values()], print), strict=True))


@pytest.mark.parametrize("which", ["plain", "hardened"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_result_tells_which_walls_held(behind_walls: dict[str, Result], which: str):
    result = behind_walls[which]
    assert exit_code([result]) == 0
    assert result.hardened is (which == "hardened")
    assert [wall.name for wall in result.walls] == list(walls.MEANING)
    assert {wall.name for wall in result.walls if wall.held} >= walls.REQUIRED


@pytest.mark.gpu
def test_cuda_works_behind_all_walls():
    """What falls on a machine that offers less is told by `grader doctor` there."""
    if not all(map(offered, confine.NAMES)):
        pytest.skip("the kernel of this machine does not offer all walls")
    (result,) = check.run([Request(COPY, GOOD, Options(device="cuda", hardened=True))], print)
    problem = first_problem(result)  # its blocks are small: too slow on some cards
    assert problem is None or problem.name == "speed", problem
    assert not {wall.name for wall in result.walls if not wall.held}


def test_without_walls_a_check_says_so_and_grades(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(commands.WITHOUT, ALL)
    (result,) = check.run([Request(COPY, GOOD, Options(device="cpu"))], print)
    assert exit_code([result]) == 0
    assert {wall.name for wall in result.walls if not wall.held} >= {"course", "network"}


def test_a_wall_to_leave_out_must_be_one(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    """A misspelt name would leave out nothing, where somebody relies on what they see."""
    monkeypatch.setenv(commands.WITHOUT, "files,bogus")
    (result,) = check.run([Request(COPY, GOOD, Options(device="cpu"))], print)
    assert exit_code([result]) == 3
    assert text_of(result.steps[0].failure) == snapshot


@pytest.mark.usefixtures("_in_the_course")
def test_hardened_refuses_to_run_where_a_wall_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(commands.WITHOUT, "files,mounts,user")
    arguments = ["check", COPY.name, "--kernel", str(GOOD), "--device", "cpu", "--hardened"]
    assert cli.main(arguments) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "course: that it can read neither the exercise nor its solution" in printed.err


@pytest.mark.usefixtures("_in_the_course")
def test_hardened_and_sanitize_exclude_each_other(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
):
    assert cli.main(["check", COPY.name, "--hardened", "--sanitize"]) == 2
    assert capsys.readouterr().err == snapshot


# -- kernel files that try


ATTACKS = {
    "ends its parent": "os.kill(os.getppid(), 9)",
    "reads its parent's memory": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "reads its parent's environment": "open(f'/proc/{os.getppid()}/environ', 'rb')",
    "reads the exercise": f"open({str(COPY.folder / 'spec.py')!r})",
    "lists the course": f"os.listdir({str(COURSE)!r})",
    "writes the grader": f"open({str(Path(walls.__file__))!r}, 'a')",
    "writes the packages": f"open({str(Path(pytest.__file__))!r}, 'a')",
    "lists other temporary files": f"os.listdir({tempfile.gettempdir()!r})",
    "sends a datagram": "socket.socket(2, 2).sendto(b'?', ('127.0.0.1', 9))",
    "makes a namespace": "must(libc.unshare(0x10000000))",
    "traces its parent": "must(libc.ptrace(0x4206, os.getppid(), None, None))",
    "mounts": "must(libc.mount(b'none', b'/', b'tmpfs', 0, None))",
    "leaves through its own root": "os.open('/proc/1/root', os.O_RDONLY)",
    "reads the log of Linux": "open('/dev/kmsg', 'rb')",
    "becomes somebody else": "os.setuid(12345)",
}
ATTACK = """
import ctypes, os, socket
from numba import cuda
libc = ctypes.CDLL(None, use_errno=True)
def must(answer):
    if answer == -1:
        raise OSError(ctypes.get_errno(), "refused")
for name, attack in {attacks!r}.items():
    try:
        exec(attack)
        print("succeeded:", name)
    except OSError as error:
        print("refused:", name)
def copy(x, out):
    raise NotImplementedError
"""


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_kernel_file_that_tries_is_refused(behind_walls: dict[str, Result]):
    printed = behind_walls["tries"].output.splitlines()
    assert printed[: len(ATTACKS)] == [f"refused: {name}" for name in ATTACKS]
