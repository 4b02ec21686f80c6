"""The wheel that `pip install kernel-grader` takes, in a fresh environment: from init to a pass.

Only the libraries are this machine's: they are found by a .pth file, so that nothing is loaded from
a network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from grader.course import catalog

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SOURCES = ("grader", "exercises", "puzzles", "solutions")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "course.toml")
BEGINNING = "grader/course/installed/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it in a copy: setuptools leaves its folders beside the sources."""
    folder = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=unwanted)
    for name in FILES:
        shutil.copy(REPOSITORY / name, folder)
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
    unwanted = ("/wrong_", "survivors.toml", "__pycache__", ".grader")
    assert not [name for name in names if any(word in name for word in unwanted)]
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"grader"}


def test_from_init_to_a_pass(grader: Path, tmp_path: Path):
    run(grader, tmp_path, "init")
    folder = tmp_path / "memory-bound-kernels"
    assert not list(folder.rglob("solutions"))
    assert "p01_map" in run(grader, folder, "next")
    kernel = folder / "puzzles" / "p01_map" / "kernel.py"
    stub = kernel.read_text()
    shutil.copy(REPOSITORY / "solutions" / "p01_map" / "kernel.py", kernel)
    assert "PASS  7/7 points" in run(grader, folder, "check", "p01")
    assert "p02_zip" in run(grader, folder, "next")
    assert run(grader, folder, "solution", "p01").endswith(kernel.read_text())
    assert "already" in run(grader, folder, "update")
    run(grader, folder, "reset", "p01")
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
