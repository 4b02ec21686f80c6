"""The house stands: imports go one way, rooms keep their insides, quick commands stay quick.

The contracts are in pyproject.toml, `[tool.importlinter]`; `lint-imports` prints what breaks one.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GRADER = ROOT / "grader"
ROOMS = sorted(path.parent.name for path in GRADER.glob("*/__init__.pyi"))


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Hold the package `grader` in a folder to the contracts of its pyproject.toml."""
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports;"
    return subprocess.run(
        [sys.executable, "-c", f"{code} sys.exit(lint_imports(no_cache=True, no_logo=True))"],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_the_contracts_hold():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


# One line each in a module that may not have it, and the contract that it breaks.
SPOILED = {
    "model/times.py": ("from grader.speed import interval", "Imports go one way"),
    "worker/load.py": ("from grader.grading import Request", "Workers know nothing of the judge"),
    "speed/clock.py": ("import grader.worker.loop", "The house shares no code with workers"),
    "worker/loop.py": ("import grader.backends.triton", "Workers name no backend"),
    "cli/say.py": ("from grader.speed.slots import Slots", "speed is used by its face"),
}


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Hold a copy of the package with all these lines to the contracts, which reads it once."""
    folder = tmp_path_factory.mktemp("spoiled")
    shutil.copytree(GRADER, folder / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for module, (line, _) in SPOILED.items():
        path = folder / "grader" / module
        path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    return lint_imports(folder)


@pytest.mark.parametrize("module", SPOILED)
def test_an_import_that_breaks_a_contract_is_named(
    spoiled: subprocess.CompletedProcess[str], module: str
):
    _, broken = SPOILED[module]
    importing = f"grader.{module.removesuffix('.py').replace('/', '.')}"
    last = len((GRADER / module).read_text(encoding="utf-8").splitlines()) + 2
    assert spoiled.returncode == 1
    summary, _, details = spoiled.stdout.partition("\nBroken contracts\n")
    assert f"{broken} BROKEN" in summary
    # Below the contract's name, up to the next one's: this module, and the line that was added.
    (own,) = re.findall(rf"^{broken}\n-+\n(.*?)(?=^[^\n]+\n-+$|\Z)", details, re.M | re.S)
    assert f"{importing} -> " in own
    assert f"(l.{last})" in own


def listed(room: str) -> list[str]:
    stub = ast.parse((GRADER / room / "__init__.pyi").read_text(encoding="utf-8"))
    return [a.name for node in stub.body if isinstance(node, ast.ImportFrom) for a in node.names]


SIMULATOR = "backends.triton.device.process"
# Has the libraries, which take seconds to import, and nothing of grader: each room is imported in
# a process that is forked from this one, and so is the simulated GPU.
OFFERED = """
import json, os, sys
import hypothesis, pydantic, pytest, torch
from importlib import import_module

status = {}
for room, names in json.load(sys.stdin).items():
    if os.fork() == 0:
        assert not any(name.partition(".")[0] in ("grader", "triton") for name in sys.modules)
        face = import_module(f"grader.{room}")
        for name in names:
            getattr(face, name)
        os._exit(1 if room.startswith("backends.") and "triton" in sys.modules else 0)
    status[room] = os.waitstatus_to_exitcode(os.wait()[1])
print(json.dumps(status))
"""


@pytest.fixture(scope="module")
def offered() -> dict[str, int]:
    """Return the exit status of a process for each room that took all its face lists."""
    names = {room: listed(room) for room in ROOMS} | {SIMULATOR: []}
    done = subprocess.run(
        [sys.executable, "-c", OFFERED], input=json.dumps(names), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("room", ROOMS)
def test_a_face_offers_what_it_lists(room: str, offered: dict[str, int]):
    """In a process of its own, where nothing has imported an inside yet."""
    assert len(listed(room)) == len(set(listed(room)))
    assert offered[room] == 0


def test_one_module_reaches_into_numbas_simulator():
    inside = [
        path
        for path in GRADER.rglob("*.py")
        # A contract lists private names, and imports none.
        if path.name != "contract.py" and "numba.cuda.simulator" in path.read_text(encoding="utf-8")
    ]
    assert inside == [GRADER / "backends" / "numba" / "simulator" / "internals.py"]


def loaded_by(modules: list[str], unwanted: set[str]) -> set[str]:
    """Return which of `unwanted` a new Python holds after it has imported modules of grader."""
    imported = "; ".join(f"import grader.{module}" for module in modules)
    code = f"import sys; {imported}; print(*sorted({unwanted!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_the_simulated_gpu_executes_without_triton(offered: dict[str, int]):
    """It reads text: whatever a worker sends, none of Triton's code runs there."""
    assert offered[SIMULATOR] == 0


def test_no_face_imports_an_inside():
    assert loaded_by(ROOMS, {"torch", "numpy", "pydantic", "triton", "numba", "pytest"}) == set()


def test_records_and_files_need_no_torch():
    modules = [
        *("model.errors", "model.outcomes", "model.exercise", "model.messages", "model.results"),
        *("model.verdict", "course.catalog", "course.stubs", "cli", "spec"),
    ]
    assert loaded_by(modules, {"torch", "numpy", "triton", "numba"}) == set()


def test_quick_commands_need_no_pydantic():
    modules = ["model.errors", "model.outcomes", "model.exercise", "course.catalog"]
    modules += ["course.stubs", "cli", "reports.contract"]
    assert loaded_by(modules, {"torch", "pydantic", "grader.model.results"}) == set()


def test_a_judge_starts_its_worker_before_it_loads_pydantic():
    """It reads the spec, chooses the backend and starts the fork server before its own imports."""
    code = (
        "import sys; from pathlib import Path; from grader.course import catalog\n"
        "from grader.grading import judge; from grader.grading.options import Options\n"
        "from grader.grading.requests import Request; from grader.sandbox import ForkServer\n"
        "ForkServer.start = lambda self: None\n"
        "one = catalog.find(Path.cwd(), '01_vector_add')\n"
        "early = judge._early_fork_server(Request(one, one.solution, Options(device='cpu')))\n"
        "assert early is not None\n"
        "print(*{'torch', 'pydantic', 'pytest'} & sys.modules.keys())"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == ("", "")


def test_a_worker_loads_no_pydantic():
    """It runs beside a submission: what it lacks, nobody can misuse, and each start is quicker."""
    modules = ["worker.__main__", "worker.loop", "worker.faults", "worker.load"]
    assert loaded_by(modules, {"pydantic", "pytest", "hypothesis", "rich", "typer"}) == set()
