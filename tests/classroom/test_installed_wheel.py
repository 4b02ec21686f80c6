"""The wheel that `pip install kernel-grader` takes, in a fresh environment: a learner's first day.

From there to a green p01, 01 and 04, in the loop on a real terminal and in a notebook.

Only the libraries are this machine's: they are found by a .pth file, so that nothing is loaded from
a network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import few_cases
import pytest
from terminals import Terminal

from grader.course import catalog

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SOURCES = ("grader", "exercises", "puzzles", "solutions")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "course.toml")
BEGINNING = "grader/course/installed/"
EXERCISES = ("01_vector_add", "04_online_softmax")
DAY = {"p01_map": "7/7"} | dict.fromkeys(EXERCISES, "7/10")
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
# Runs in the fresh environment: a notebook of one cell for each kernel, on its own IPython.
NOTEBOOK = """
import json, sys
sys.path.append(sys.argv[1])
import nbformat, notebook
cells = ["import grader\\n%load_ext grader\\nprint(grader.__file__)", *json.load(sys.stdin)]
made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
notebook.run(made, ".")
print(made.cells[0].outputs[0].text.strip(), *notebook.verdicts(made), sep="\\n")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it in a copy: setuptools leaves its folders beside the sources.

    The day's exercises have a few of their cases there: a right kernel takes all of them.
    """
    folder = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=unwanted)
    for name in FILES:
        shutil.copy(REPOSITORY / name, folder)
    for name in EXERCISES:
        shutil.rmtree(folder / "exercises" / name)
        few_cases.put_into(folder, name)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", ".", folder=folder)
    (built,) = (folder / "dist").iterdir()
    return built


@pytest.fixture(scope="module")
def grader(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment with the wheel, and with this one's libraries."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    target = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    python = str(folder / "bin" / "python")
    pip("--python", python, "install", "--no-deps", "--no-index", str(wheel), folder=folder)
    libraries = Path(sysconfig.get_path("purelib"))
    (target / "00-libraries.pth").write_text(str(libraries))  # read before the others
    # The .pth files of libraries hold imports that these need; that of the clone must not be read.
    for path in libraries.glob("*.pth"):
        if not path.name.startswith("__editable__"):
            shutil.copy(path, target)
    return folder / "bin" / "grader"


def pip(*words: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def run(grader: Path, folder: Path, *words: str) -> str:
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "COLUMNS": "80"}
    for name in ("GRADER_COURSE", "PYTHONPATH"):
        environment.pop(name, None)
    done = subprocess.run(
        [grader, *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_the_course_and_nothing_that_only_authors_need(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    carried = [name.removeprefix(BEGINNING) for name in names if name.startswith(BEGINNING)]
    for exercise in catalog.exercises(REPOSITORY):
        folder = f"{exercise.shelf}/{exercise.name}"
        assert {f"{folder}/spec.py", f"{folder}/README.md"} <= set(carried)
        assert f"solutions/{exercise.name}/kernel.py" in carried
    assert "course.toml" in carried
    assert not [name for name in carried if "/wrong_" in name or "survivors.toml" in name]
    assert not [name for name in names if "__pycache__" in name or ".grader" in name]
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"grader"}


@pytest.fixture(scope="module")
def begun(grader: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a learner's first day, which nobody works in."""
    folder = tmp_path_factory.mktemp("learner")
    run(grader, folder, "init")
    return folder / "memory-bound-kernels"


@pytest.fixture
def learner(begun: Path, tmp_path: Path) -> Path:
    return shutil.copytree(begun, tmp_path / begun.name)


def test_a_first_day_in_the_loop(grader: Path, tmp_path: Path):
    """The terminal of somebody who has just typed `pip install`, from `grader init` to 04."""
    began = Terminal(tmp_path, (80, 24), [str(grader), "init"])
    began.shows("next: `cd memory-bound-kernels`, then `grader`")
    assert began.ended() == 0
    folder = tmp_path / "memory-bound-kernels"
    terminal = Terminal(folder, (80, 24), [str(grader)], CUDA_VISIBLE_DEVICES="")
    terminal.shows("0/7 points")
    terminal.type("o")
    terminal.shows("@cuda.jit")
    terminal.type("q")
    terminal.type("h")
    terminal.shows("h shows the next of 2 more hints")
    solve(folder, "p01_map")
    terminal.shows("n goes on to p02_zip")  # the save closed the hints
    terminal.type("s")
    terminal.shows("the model solution")
    terminal.type("q")
    terminal.type("l\x1b[6~\x1b[6~" + "\x1b[B" * 7 + "\r")  # two pages and seven lines down
    terminal.shows("01_vector_add")
    terminal.shows("0/10 points")
    solve(folder, "01_vector_add")
    terminal.shows("7/10 points")
    terminal.type("nnn")
    terminal.shows("04_online_softmax")
    terminal.shows("0/10 points")
    solve(folder, "04_online_softmax")
    terminal.shows("7/10 points")
    terminal.type("q")
    assert terminal.ended() == 0
    rows = run(grader, folder, "status")
    assert "3 of 49 done · 21/429 points" in rows
    for name, points in DAY.items():
        assert re.search(rf"✔ {name} +{points}", rows)


def test_a_first_day_in_a_notebook(grader: Path, learner: Path):
    cells = [f"%%kernel {name} cpu\n{solution(name)}" for name in DAY]
    cells.insert(1, f"%%kernel p01_map cpu\n{(learner / 'puzzles/p01_map/kernel.py').read_text()}")
    variables = {name: text for name, text in os.environ.items() if name != "GRADER_COURSE"}
    done = subprocess.run(
        [grader.with_name("python"), "-P", "-c", NOTEBOOK, str(REPOSITORY / "tests")],
        cwd=learner,
        env=variables,
        input=json.dumps(cells),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    package, *verdicts = done.stdout.splitlines()
    assert Path(package).is_relative_to(grader.parents[1]), "the clone was tested"
    assert verdicts == ["PASS", "NOT STARTED", "PASS", "PASS"]


def test_every_page_of_the_folder_links_to_what_is_there(begun: Path):
    """Two lessons once led to pages of docs/, which no learner has."""
    pages = [*begun.glob("*.md"), *begun.glob("*/*.md"), *begun.glob("*/*/*.md")]
    links = [(page, link) for page in pages for link in LINK.findall(prose(page))]
    assert len(links) > 15
    dead = [(page.name, link) for page, link in links if not (page.parent / link).exists()]
    assert dead == []


def prose(page: Path) -> str:
    """Return a page without its code, in which brackets before parentheses are no links."""
    return re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def solution(name: str) -> str:
    return (REPOSITORY / "solutions" / name / "kernel.py").read_text(encoding="utf-8")


def solve(folder: Path, name: str) -> None:
    (kernel,) = folder.glob(f"[ep]*/{name}/kernel.py")
    kernel.write_text(solution(name), encoding="utf-8")


def test_from_init_to_a_pass(grader: Path, learner: Path):
    assert not list(learner.rglob("solutions"))
    assert "p01_map" in run(grader, learner, "next")
    kernel = learner / "puzzles" / "p01_map" / "kernel.py"
    stub = kernel.read_text()
    shutil.copy(REPOSITORY / "solutions" / "p01_map" / "kernel.py", kernel)
    assert "PASS  7/7 points" in run(grader, learner, "check", "p01")
    assert "p02_zip" in run(grader, learner, "next")
    assert run(grader, learner, "solution", "p01").endswith(kernel.read_text())
    assert "already" in run(grader, learner, "update")
    run(grader, learner, "reset", "p01")
    assert kernel.read_text() == stub


def test_what_a_class_gets_is_packed_without_the_course(grader: Path, tmp_path: Path):
    """A release holds a copy of the grader that made it: it must not hold the solutions."""
    code = (
        "from pathlib import Path; from grader.classroom.release import wheel; "
        "from grader.course import INSTALLED_COURSE; assert INSTALLED_COURSE.is_dir(); "
        "Path('packed.whl').write_bytes(wheel.build())"
    )
    python = grader.with_name("python")
    subprocess.run([python, "-P", "-c", code], cwd=tmp_path, check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / "packed.whl") as archive:
        names = archive.namelist()
    assert "grader/course/installed.py" in names
    assert not [name for name in names if name.startswith(BEGINNING)]
