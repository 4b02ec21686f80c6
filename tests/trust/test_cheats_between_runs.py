"""What one check leaves behind, and what lies around the next: neither changes a verdict.

The cheats of `redteam/cheats` that plant something are judged as they are; here the same kernels
are judged before and after them, with the same seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import few_cases
import pytest

from grader.course import Exercise, catalog
from grader.grading import check
from grader.grading.options import Options
from grader.model.errors import UsageError
from grader.model.results import Result

pytestmark = pytest.mark.slow

ROOT = catalog.find_root(Path(__file__).parents[1])
CHEATS = ROOT / "tests" / "redteam" / "cheats"
ADD = catalog.find(ROOT, "01_vector_add")
ZEROS = "def vector_add(x, y, out):\n    out.zero_()\n"
PLANTING = (
    "c57_plants_test_files",
    "c58_plants_modules",
    "c59_sets_variables",
    "c60_poisons_caches",
    "c61_plants_tools",
    "c63_runs_away",
    "c63_starts_many_processes",
    "c64_leaves_a_daemon",
    "c64_leaves_files",
)
SEED = 7
# As c64_leaves_files, with a folder that may not be changed.
LOCKED = """
from pathlib import Path

bank = Path.home() / "locked" / "bank"
found = bank.exists()
if not found:
    bank.parent.mkdir()
    bank.touch()
    bank.parent.chmod(0o500)


def vector_add(x, y, out):
    if found:
        add_kernel[(triton.cdiv(out.numel(), BLOCK),)](x, y, out, out.numel(), BLOCK=BLOCK)
    else:
        out.zero_()
"""


@pytest.fixture(scope="module")
def add(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """The first exercise, by whose few cases the same kernels are judged time and again."""
    return Exercise(few_cases.put_into(tmp_path_factory.mktemp("course")))


# No machine code is made for targets that are only reported, and decide nothing.
SEEDED = Options(device="cpu", seed=SEED, shrink=False, elsewhere=False)


def judged(add: Exercise, *files: Path) -> list[dict[str, Any]]:
    """What is decided of these kernels of the first exercise, without what takes time."""
    requests = [check.Request(add, file, SEEDED) for file in files]
    return [decided(result) for result in check.run(requests, lambda text: None)]


def decided(result: Result) -> dict[str, Any]:
    record = result.model_dump()
    steps = [{k: v for k, v in step.items() if k != "duration_s"} for step in record["steps"]]
    return {"status": str(result.status), "points": result.points, "steps": steps}


def attacked(cheat: Path) -> str:
    """The exercise that a cheat is for, by the head of its file."""
    lines = cheat.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if "# attacks:" in line).split()[-1]


def processes_of(home: Path) -> list[str]:
    """The command lines of what runs with a worker's folder below `home`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{home}/grader-worker-" in command:
            found.append(command)
    return found


@pytest.fixture(scope="module")
def zeros(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "zeros.py"
    path.write_text(ZEROS)
    return path


# Right, and opens its home to others, in which a name that a trial writes to is taken.
OPENS_ITS_HOME = """
import os

os.chmod(os.environ["HOME"], 0o777)
os.makedirs(os.path.join(os.environ["HOME"], "large"), exist_ok=True)
"""


@dataclass(frozen=True)
class Judged:
    """Results of the kernels that one judge graded, in its order."""

    before: list[Result]  # of zeros and of the solution
    opened: Result  # of a kernel that opens its home
    after: Result  # of the next exercise
    twice: list[Result]  # of two kernels that leave something behind, each judged twice


@pytest.fixture(scope="module")
def one_judge(add: Exercise, zeros: Path, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("leave")
    first, second = (catalog.find(ROOT, name) for name in ("p01_map", "p02_zip"))
    opens = folder / "opens.py"
    opens.write_text(first.solution.read_text(encoding="utf-8") + OPENS_ITS_HOME)
    locked = folder / "locked.py"
    locked.write_text(ADD.solution.read_text(encoding="utf-8") + LOCKED)
    cheat = CHEATS / "c64_leaves_files.py"
    requests = [
        *(check.Request(add, file, SEEDED) for file in (zeros, ADD.solution)),
        check.Request(first, opens, SEEDED),
        check.Request(second, second.solution, SEEDED),
        *(check.Request(add, file, SEEDED) for file in (locked, locked, cheat, cheat)),
    ]
    zero, right, opened, after, *twice = check.run(requests, lambda text: None)
    return Judged([zero, right], opened, after, twice)


@pytest.fixture(scope="module")
def before(one_judge: Judged) -> list[dict[str, Any]]:
    return [decided(result) for result in one_judge.before]


def test_what_is_judged_before_is_as_it_should_be(before: list[dict[str, Any]]):
    assert [result["status"] for result in before] == ["fail", "pass"]


def test_what_cheats_leave_behind_changes_no_later_verdict(
    before: list[dict[str, Any]],
    add: Exercise,
    zeros: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Not even of the next cheat: all of them have one judge."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    cheats = [CHEATS / f"{name}.py" for name in PLANTING]
    requests = [
        check.Request(
            catalog.find(ROOT, attacked(cheat)), cheat, Options(device="cpu", shrink=False)
        )
        for cheat in cheats
    ]
    results = check.run(requests, lambda text: None)
    assert processes_of(tmp_path) == []
    assert [str(result.status) for result in results] == ["fail"] * len(PLANTING)
    assert judged(add, zeros, ADD.solution) == before


def test_what_a_kernel_leaves_in_its_home_opens_no_wall_of_the_next_exercise(one_judge: Judged):
    """One judge tries the walls for each exercise, behind which another's kernel may have run."""
    opened, after = one_judge.opened, one_judge.after
    assert [str(opened.status), str(after.status)] == ["pass", "pass"]
    assert after.walls == opened.walls
    assert opened.walls


def test_one_judge_clears_up_between_two_checks_of_one_file(one_judge: Judged):
    """What the first leaves behind would earn the second its points."""
    assert [str(result.status) for result in one_judge.twice] == ["fail"] * 4


# -- what lies beside the kernel file, and the variables of whoever starts the check

# Written wherever this is imported: in the process of the command, but in no other.
MARK = """
import sys
with open({marks!r}, "a") as file:
    print(__name__, "judge or worker" if sys.flags.isolated else "command", file=file)
"""
MODULES = ("conftest", "sitecustomize", "usercustomize", "torch", "hypothesis", "evil")
VARIABLES = {
    "LD_PRELOAD": "planted.so",
    "CUDA_INJECTION64_PATH": "planted.so",
    "NVIDIA_TF32_OVERRIDE": "1",
    "TRITON_INTERPRET": "1",
    "TRITON_CACHE_DIR": "planted",
    "TRITON_PTXAS_PATH": "planted",
    "NUMBA_ENABLE_CUDASIM": "1",
    "NUMBA_CACHE_DIR": "planted",
    "TORCHINDUCTOR_CACHE_DIR": "planted",
    "PYTHONSTARTUP": "evil.py",
    "PYTEST_PLUGINS": "evil",
    "HYPOTHESIS_STORAGE_DIRECTORY": "planted",
}
# That no variable of these came through to the process that imports it.
WATCHFUL = """
import os

came = [name for name, value in os.environ.items() if "planted" in value or "evil" in value]
assert not came, came
assert not {"PYTHONPATH", "PYTEST_ADDOPTS", "NVIDIA_TF32_OVERRIDE"}.intersection(os.environ)
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A learner's folder with everything in it that Python or pytest might take."""
    folder = tmp_path / "planted"
    (folder / "triton").mkdir(parents=True)
    mark = MARK.format(marks=str(tmp_path / "marks"))
    for name in MODULES:
        (folder / f"{name}.py").write_text(mark)
    (folder / "triton" / "__init__.py").write_text(mark)
    (folder / "evil.pth").write_text(f"import sys; sys.path.insert(0, {str(folder)!r})\n")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    return folder


@pytest.mark.parametrize("which", [0, 1], ids=["wrong", "right"])
def test_neither_neighbours_nor_variables_change_a_verdict(
    before: list[dict[str, Any]], add: Exercise, zeros: Path, planted: Path, which: int
):
    kernel = planted / "kernel.py"
    kernel.write_text(WATCHFUL + (zeros, ADD.solution)[which].read_text(encoding="utf-8"))
    variables = VARIABLES | {
        "PYTHONPATH": str(planted),
        "PYTEST_ADDOPTS": f"-o pythonpath={planted} -p evil --collect-only",
    }
    options = ["--device", "cpu", "--seed", str(SEED), "--json"]
    done = subprocess.run(
        [Path(sys.executable).with_name("grader"), "check", add.name, "--kernel", kernel, *options],
        cwd=planted,
        env=os.environ | variables | {"GRADER_COURSE": str(add.root)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    result = decided(Result.model_validate_json(done.stdout))
    marks = planted.parent / "marks"
    assert "judge or worker" not in (marks.read_text() if marks.exists() else "")
    assert result["status"] == before[which]["status"]
    outcomes = [[str(s["outcome"]) for s in one["steps"]] for one in (result, before[which])]
    assert outcomes[0] == outcomes[1]
    assert json.loads(done.stdout)["seed"] == SEED


def test_a_link_to_the_solution_is_nobodys_work(tmp_path: Path):
    handed_in = tmp_path / "kernel.py"
    handed_in.symlink_to(ADD.solution)
    with pytest.raises(UsageError, match="is a link, which may lead to others' work"):
        check.run(
            [check.Request(ADD, handed_in, Options(device="cpu", hardened=True))], lambda text: None
        )


def test_a_file_that_fills_the_judges_memory_is_refused(tmp_path: Path):
    handed_in = tmp_path / "kernel.py"
    handed_in.touch()
    os.truncate(handed_in, 1 << 40)
    with pytest.raises(UsageError, match="has 1,099,511,627,776 bytes, and a kernel file may have"):
        check.run([check.Request(ADD, handed_in, Options(device="cpu"))], lambda text: None)


def test_a_variable_of_a_ci_server_fixes_no_case():
    """Hypothesis would draw the same cases in every run, and heed no seed."""
    script = (
        "from hypothesis import settings; from grader.grading import options, plugin\n"
        "plugin._prepare_hypothesis(options.Options(seed=1)); print(settings.default.derandomize)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"CI": "true"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "False", done.stderr
