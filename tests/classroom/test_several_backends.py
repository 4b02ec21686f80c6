"""A class whose exercise may be written in several languages: its release, what is handed in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from released import order

from grader.classroom import ci_targets
from grader.classroom.release import build, proof
from grader.course import catalog, stubs

LEVELS = Path(__file__).parents[1] / "courses" / "levels"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    course = tmp_path / "course"
    shutil.copytree(LEVELS, course, ignore=shutil.ignore_patterns("__pycache__"))
    return course


def test_a_release_has_the_stub_of_each_language_and_no_fast_solution(root: Path, tmp_path: Path):
    out = tmp_path / "out"
    made = build.build(order(root), out)
    kernels = [file.path for file in made.manifest.files if file.kernel]
    assert kernels == ["exercises/01_double/kernel.py", "exercises/01_double/kernel_cuda.py"]
    for one in catalog.find(root, "01").in_all_backends:
        assert (out / one.kernel.relative_to(root)).read_text() == stubs.stub_of(one)
    assert not [path for path in out.rglob("*") if path.name.startswith("fast")]
    assert made.solutions == 3


def test_students_of_a_course_in_cuda_install_its_compiler(root: Path, tmp_path: Path):
    """A language beside the first is each learner's own choice, and so is its compiler."""
    cuda = tmp_path / "in_cuda"
    shutil.copytree(LEVELS.parent / "cuda", cuda, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "course.toml", cuda)
    (cuda / "constraints.txt").write_text("nvidia-cuda-nvrtc==13.0.1\nruff==0.12.0\n")
    for course, extras in ((cuda, ("[cuda]", "[cuda,gpu]")), (root, ("", "[gpu]"))):
        build.build(order(course), out := tmp_path / f"out_{course.name}")
        for name, extra in zip(("requirements.txt", "requirements-gpu.txt"), extras, strict=True):
            assert (out / name).read_text().splitlines()[1] == f"kernel-grader{extra}==0.1.0"
    pinned = (tmp_path / "out_in_cuda" / "constraints.txt").read_text()
    assert pinned == "nvidia-cuda-nvrtc==13.0.1\n"


def test_a_line_of_a_solution_in_another_language_is_a_secret(root: Path):
    secret = proof.secrets(root, catalog.exercises(root))
    line = "if (mine < n) out[mine] = 2.0f * x[mine];"
    found = proof.leaks([("notes.md", f"- {line}\n".encode())], secret)
    assert [leak.what for leak in found] == [
        f"line 13 of solutions/01_double/kernel_cuda.py, `{line}`"
    ]
    fast = (root / "solutions/01_double/fast.py").read_bytes()
    first, *pairs = [leak.what for leak in proof.leaks([("a.txt", fast)], secret)]
    assert first == "the file solutions/01_double/fast.py"
    assert pairs
    assert all(" of solutions/01_double/fast.py, " in pair for pair in pairs)


def test_what_a_student_wrote_in_another_language_is_no_change_of_the_course(
    root: Path, tmp_path: Path
):
    handed_in = tmp_path / "ada"
    shutil.copytree(root / "exercises", handed_in / "exercises")
    (handed_in / "exercises/01_double/kernel_cuda.py").write_text("# mine\n")
    (handed_in / "exercises/01_double/spec.py").write_text("# mine\n")
    (target,) = ci_targets.plan(catalog.exercises(root), handed_in)
    assert target.notes == (
        "exercises/01_double/spec.py was changed: graded with the course's own",
    )
