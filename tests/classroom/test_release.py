"""A release holds what students are meant to get, nothing else, and comes whole or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from released import NAMES, libraries_read_once, order, small_course

import grader
from grader import cli
from grader.classroom.release import build, contents, handout, pins, repository, wheel
from grader.cli.commands import app
from grader.cli.release import CI
from grader.course import catalog, manifest, stubs
from grader.model.errors import BrokenExercise, CannotGrade, UsageError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def _libraries_read_once() -> Iterator[None]:
    with libraries_read_once():
        yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return small_course(tmp_path / "course")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def paths(folder: Path) -> list[str]:
    """Every file below a folder, .git aside."""
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    return sorted(path for path in found if not path.startswith(".git/"))


# -- what is in it


def test_a_release_holds_these_files_and_no_others(root: Path, out: Path):
    made = build.build(order(root), out)
    assert paths(out) == [
        ".gitattributes",
        ".gitignore",
        ".stubs/01_double/kernel.py",
        ".stubs/02_row_sum/kernel.py",
        ".stubs/p01_copy/kernel.py",
        "README.md",
        "constraints.txt",
        "course.toml",
        "exercises/01_double/README.md",
        "exercises/01_double/kernel.py",
        "exercises/01_double/spec.py",
        "exercises/02_row_sum/kernel.py",
        "exercises/02_row_sum/spec.py",
        "puzzles/p01_copy/kernel.py",
        "puzzles/p01_copy/spec.py",
        "release.json",
        "requirements-gpu.txt",
        "requirements.txt",
    ]
    assert made.solutions == 3
    assert manifest.read(out) == made.manifest
    manifest.require_unchanged(out, made.manifest)
    assert [f.path for f in made.manifest.files] == [p for p in paths(out) if p != "release.json"]
    kernels = [file.path for file in made.manifest.files if file.kernel]
    assert kernels == [path for path in paths(out) if path.endswith("kernel.py") and path[0] != "."]


def test_kernels_are_fresh_stubs_whatever_the_working_tree_holds(root: Path, out: Path):
    mine = root / "exercises/01_double/kernel.py"
    mine.write_bytes((root / "solutions/01_double/kernel.py").read_bytes())
    made = build.build(order(root), out)
    for exercise in catalog.exercises(root):
        released = out / exercise.kernel.relative_to(root)
        assert released.read_text() == stubs.stub_of(exercise)
    assert made.notes == (
        "exercises/01_double/kernel.py: the stub that its solution makes is released in its place",
    )


@pytest.mark.parametrize(
    "name",
    ["data.csv", "kernel_old.py", "wrong_1.py", "survivors.toml", "held_out.py", "secret.toml"],
)
def test_what_is_not_known_to_belong_is_left_out_by_name(root: Path, out: Path, name: str):
    (root / "exercises/01_double" / name).write_text("1\n")
    (root / "exercises/01_double/.hidden").write_text("1\n")
    (root / "exercises/01_double/__pycache__").mkdir()
    (root / "exercises/01_double/__pycache__/spec.cpython-311.pyc").write_bytes(b"1")
    (root / "exercises/notes").mkdir()
    (root / "notes.txt").write_text("1\n")
    made = build.build(order(root), out)
    assert len(paths(out)) == 18
    place = f"exercises/01_double/{name}"
    assert made.notes == (f"{place}: not released; --with {place} releases it",)


def test_a_file_that_the_author_names_is_released(root: Path, out: Path):
    (root / "exercises/01_double/data.csv").write_text("1\n")
    made = build.build(order(root, extra=(Path("exercises/01_double/data.csv"),)), out)
    assert "exercises/01_double/data.csv" in paths(out)
    assert made.notes == ()


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("../other.txt", "it lies outside of the course"),
        ("/etc/passwd", "it lies outside of the course"),
        ("course.toml", "it is released anyway"),
        ("README.md", "the release makes a file of this name itself"),
        ("release.json", "no file of a release can have this name"),
        (".git/config", "no file of a release can have this name"),
        ("missing.csv", "has no such file"),
        ("exercises", "has no such file"),
    ],
)
def test_a_file_that_cannot_be_added_is_named(root: Path, out: Path, name: str, fault: str):
    (root.parent / "other.txt").write_text("1\n")
    (root / "README.md").write_text("1\n")
    with pytest.raises(UsageError, match=re.escape(fault)) as raised:
        build.build(order(root, extra=(Path(name),)), out)
    assert name in raised.value.message
    assert not out.exists()


def test_only_what_is_chosen_is_released(root: Path, out: Path):
    (root / "puzzles/README.md").write_text("# Puzzles\n")
    build.build(order(root, "01_double"), out)
    assert {path.split("/")[1] for path in paths(out) if "/" in path} == {"01_double"}


def test_links_to_unreleased_files_are_noted(root: Path, out: Path):
    (root / "puzzles/README.md").write_text(
        "[one](p01_copy/spec.py) [folder](p01_copy) [two](../exercises/01_double/README.md#why)\n"
        "[three](../exercises/02_row_sum/) [web](https://example.org/x) `a[i](b)`\n"
    )
    assert build.build(order(root, "p01_copy", "02_row_sum"), out).notes == (
        "puzzles/README.md: it links to exercises/01_double/README.md, which is not released",
    )


def test_the_course_s_own_words_go_along(root: Path, out: Path):
    (root / "puzzles/README.md").write_text("# Puzzles\n")
    (root / "LICENSE").write_text("All of it.\n")
    build.build(order(root), out)
    assert {"LICENSE", "puzzles/README.md"} <= set(paths(out))


def test_a_page_beside_the_lessons_goes_along_if_the_shelf_links_to_it(root: Path, out: Path):
    shelf = "[bridge](bridge.md) [part](more.md#part) [no](gone.md)"
    (root / "puzzles/README.md").write_text(shelf)
    for name in ("bridge.md", "more.md", "answers.md"):
        (root / "puzzles" / name).write_text("# A page\n")
    build.build(order(root), out)
    pages = [path for path in paths(out) if re.fullmatch(r"puzzles/[a-z]+\.md", path)]
    assert pages == ["puzzles/bridge.md", "puzzles/more.md"]


def test_pins_are_the_course_s_without_what_developers_need(root: Path, out: Path):
    build.build(order(root), out)
    assert (out / "constraints.txt").read_text() == "numpy==2.0.0\n"


def test_a_course_without_pins_gets_those_installed_here():
    from importlib.metadata import version

    lines = pins.pins(None, frozenset()).splitlines()
    assert f"numpy=={version('numpy')}" in lines
    assert f"torch=={version('torch').partition('+')[0]}" in lines
    assert not any(line.startswith(("ruff==", "mypy==", "kernel-grader==")) for line in lines)


def test_a_pin_that_is_none_is_named(root: Path, out: Path):
    (root / "constraints.txt").write_text("numpy = 2\n")
    with pytest.raises(UsageError, match="'numpy = 2' pins no package"):
        build.build(order(root), out)


def test_pins_that_are_not_in_utf_8_are_named(root: Path, out: Path):
    (root / "constraints.txt").write_bytes(b"# f\xfcr alle\nnumpy==2.0.0\n")
    with pytest.raises(BrokenExercise, match=r"constraints\.txt cannot be read"):
        build.build(order(root), out)


# -- the CI file


def test_the_command_line_knows_every_kind_of_ci():
    assert {kind.value for kind in CI} == {"none", *contents.CI_FILES}


@pytest.mark.parametrize(
    ("kind", "source", "released"),
    [
        ("github", "classroom/github/check.yml", ".github/workflows/check.yml"),
        ("gitlab", "classroom/gitlab/check.yml", ".gitlab-ci.yml"),
        ("classroom50", "classroom/classroom50/autograder.py", "autograder.py"),
    ],
)
def test_students_get_the_ci_file_of_the_chosen_kind(
    root: Path, out: Path, kind: str, source: str, released: str
):
    with pytest.raises(UsageError, match="is missing") as raised:
        build.build(order(root, ci=kind), out)
    assert str(root / source) in raised.value.message
    (root / source).parent.mkdir(parents=True)
    (root / source).write_text("# check\n")
    build.build(order(root, ci=kind), out)
    assert (out / released).read_text() == "# check\n"
    # In the paragraph of work: a line of its own once cut that paragraph in two.
    told = f"Commit your kernel files as you go.\n{handout._ON_PUSH[kind]}\n\n## What is hidden"
    assert told in (out / "README.md").read_text()


@pytest.mark.skipif(not (ROOT / "classroom").is_dir(), reason="classroom/ is not there yet")
@pytest.mark.parametrize("kind", contents.CI_FILES)
def test_this_course_has_a_ci_file_of_each_kind(kind: str):
    assert (ROOT / "classroom" / kind / contents.CI_FILES[kind][0]).is_file()


# -- README


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("now", "They are published apart from it."),
        ("never", "They are not published."),
        ("on-pass", "You get to see one when your own kernel passes."),
        ("after:2026-12-18", "They are published from 2026-12-18 on."),
    ],
)
def test_readme_says_when_solutions_come(root: Path, out: Path, policy: str, said: str):
    with (root / "course.toml").open("a") as file:
        file.write(f'solutions = "{policy}"\n')
    build.build(order(root), out)
    assert (
        f"The model solutions are not in this repository. {said}" in (out / "README.md").read_text()
    )


def test_readme_leads_to_files_that_are_there_and_commands_that_exist(root: Path, out: Path):
    build.build(order(root), out)
    text = (out / "README.md").read_text()
    assert text.startswith("# Small\n\nVersion 1.0. ")
    assert (out / re.findall(r"\]\(([^)]+)\)", text)[0]).is_dir()
    for name in re.findall(r"requirements[\w-]*\.txt", text):
        assert (out / name).is_file()
    from typer.main import get_command

    known = get_command(app).commands
    for word in re.findall(r"(?:`|^    )grader (\w+)", text, re.MULTILINE):
        assert word in known


# -- the grader that students install


@pytest.mark.parametrize(
    ("given", "plain", "gpu"),
    [
        ("kernel-grader==0.1.0", "kernel-grader==0.1.0", "kernel-grader[gpu]==0.1.0"),
        (
            "kernel-grader @ https://example.org/g.whl",
            "kernel-grader@ https://example.org/g.whl",
            "kernel-grader[gpu]@ https://example.org/g.whl",
        ),
        ("./wheels/g.whl", "./wheels/g.whl", "./wheels/g.whl[gpu]"),
    ],
)
def test_requirements_name_the_grader(given: str, plain: str, gpu: str):
    files = handout.requirement_files(given, frozenset())

    def lines(name: str) -> list[str]:
        return [line.replace(" @ ", "@ ") for line in files[name].decode().splitlines()]

    assert lines("requirements.txt") == ["-c constraints.txt", plain]
    assert lines("requirements-gpu.txt") == ["-c constraints.txt", gpu]


def test_a_requirement_that_pip_does_not_read_is_refused(root: Path, out: Path):
    with pytest.raises(UsageError, match="'not one!' is no requirement that pip reads"):
        build.build(order(root, grader="not one!"), out)


def test_the_wheel_holds_what_setuptools_would_pack():
    package = Path(grader.__file__).parent
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    given = options["package-data"]["grader"]
    # `**/` stands for no folder, too, which fnmatch does not know.
    patterns = ["*.py", *given, *(one.removeprefix("**/") for one in given)]
    there = [
        path.relative_to(package)
        for path in package.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    ]
    expected = {
        f"grader/{path.as_posix()}"
        for path in there
        if any(fnmatch(path.as_posix(), pattern) for pattern in patterns)
    }
    with zipfile.ZipFile(BytesIO(wheel.build())) as archive:
        names = archive.namelist()
    assert {name for name in names if name.startswith("grader/")} == expected
    assert {name.split(".dist-info/")[1] for name in names if ".dist-info/" in name} >= {
        *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert not any("__pycache__" in name for name in names)


def test_the_same_grader_makes_the_same_wheel():
    assert wheel.build() == wheel.build()


def extra_of(needed: Requirement) -> str:
    return "".join(re.findall(r'extra == "(.+?)"', str(needed.marker)))


def test_the_wheel_asks_for_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(BytesIO(wheel.build())) as archive:
        name = f"kernel_grader-{grader.__version__}.dist-info/METADATA"
        told = message_from_bytes(archive.read(name))
    needed = [Requirement(text) for text in told.get_all("Requires-Dist")]
    asked = project["optional-dependencies"]
    for extra, texts in ({"": project["dependencies"]} | asked).items():
        wanted = {str(Requirement(text)).partition(";")[0] for text in texts}
        assert wanted == {str(one).partition(";")[0] for one in needed if extra_of(one) == extra}
    assert told.get_all("Provides-Extra") == sorted(asked)
    assert told["Version"] == project["version"] == grader.__version__
    assert told["Requires-Python"]


def test_of_the_metadata_the_wheel_has_what_an_installation_needs(monkeypatch):
    class Installed:
        version = "0.1.0"

        def read_text(self, path: str) -> str:
            return {
                "METADATA": "Name: kernel-grader\nVersion: 0.1.0\n\n# README\n",
                "entry_points.txt": "[console_scripts]\n",
                "direct_url.json": "file:///home/ada",
            }.get(path, "")

    monkeypatch.setattr(wheel, "_installed", Installed)
    with zipfile.ZipFile(BytesIO(wheel.build())) as archive:
        info = [name for name in archive.namelist() if name.startswith("kernel_grader-0.1.0")]
        metadata = archive.read("kernel_grader-0.1.0.dist-info/METADATA")
    assert {name.split("/", 1)[1] for name in info} == {
        *("METADATA", "RECORD", "WHEEL", "entry_points.txt")
    }
    assert metadata.startswith(b"Name: kernel-grader\nVersion: 0.1.0\nRequires-Dist: ")
    assert b"README" not in metadata


def test_a_grader_that_is_not_installed_cannot_be_packed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wheel, "NAME", "no-such-package")
    with pytest.raises(CannotGrade, match="is not installed"):
        wheel.build()


def test_a_student_installs_a_release_and_lists_its_exercises(root: Path, out: Path):
    """With pip, as README says; only the libraries are this machine's."""
    build.build(order(root, grader=None), out)
    target = out.parent / "installed"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    # Python compiles what the command imports, which is a small part of the grader.
    quiet = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    asked = ["--target", str(target), "-r", "requirements.txt"]
    subprocess.run([*pip, *quiet, *asked], cwd=out, check=True, capture_output=True)
    subprocess.run(
        [*pip, *quiet, "--dry-run", "-r", "requirements-gpu.txt"],
        cwd=out,
        check=True,
        capture_output=True,
    )
    # -P: not from the working directory. The target stands before what is installed here.
    environment = os.environ | {"PYTHONPATH": str(target)}
    environment.pop("GRADER_COURSE", None)
    code = "import grader, grader.cli; print(grader.__file__); raise SystemExit(grader.cli.main())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "list"],
        cwd=out,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    place, *listed = done.stdout.splitlines()
    assert Path(place) == target / "grader" / "__init__.py"
    assert [line.split()[1] for line in listed[1:]] == list(NAMES)
    assert (target / "bin" / "grader").is_file()


# -- the history


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode()


def test_a_release_is_one_commit_of_nobody(root: Path, out: Path, monkeypatch, tmp_path: Path):
    """Whatever git is told on this machine."""
    home = tmp_path / "home"
    (home / "template/hooks").mkdir(parents=True)
    (home / "template/secret").write_text("of this machine\n")
    for name in ("pre-commit", "post-commit"):
        (home / "template/hooks" / name).write_text("#!/bin/sh\necho ran >> hooked\nexit 1\n")
        (home / "template/hooks" / name).chmod(0o755)
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.toml\n")
    (home / ".config/git/attributes").write_text("* working-tree-encoding=UTF-16\n")
    (home / ".gitconfig").write_text(
        f"[user]\nname = Ada\nemail = ada@example.org\n[init]\ntemplateDir = {home}/template\n"
        f"defaultBranch = trunk\n[core]\nhooksPath = {home}/template/hooks\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    build.build(order(root, git=True), out)
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_AUTHOR_NAME")
    who = "course <course@example.invalid>"
    assert git(out, "log", "--all", "--format=%an <%ae>|%cn <%ce>|%D|%B").strip() == (
        f"{who}|{who}|HEAD -> main|Small, version 1.0"
    )
    assert git(out, "ls-tree", "-r", "--name-only", "HEAD").splitlines() == paths(out)
    for path in paths(out):
        assert git(out, "show", f"HEAD:{path}").encode() == (out / path).read_bytes()
    assert b"Ada" not in b"".join(p.read_bytes() for p in (out / ".git").rglob("*") if p.is_file())
    assert not (out / ".git/secret").exists()
    assert not (out / ".git/hooks").exists()
    assert not (out / "hooked").exists()


def test_the_commit_holds_what_its_own_gitignore_names(root: Path, out: Path):
    (root / "exercises/01_double/.grader").mkdir()
    (root / "exercises/01_double/.grader/data.csv").write_text("1\n")
    extra = Path("exercises/01_double/.grader/data.csv")
    build.build(order(root, git=True, extra=(extra,)), out)
    assert extra.as_posix() in git(out, "ls-tree", "-r", "--name-only", "HEAD").splitlines()


def test_every_object_is_looked_at(root: Path, out: Path):
    build.build(order(root, git=True), out)
    (out / "lost").write_bytes(b"\x00 blob 3\n\n")
    name = git(out, "hash-object", "-w", "lost").strip()
    found = dict(repository.objects(out))
    assert found[f"the git object {name} (blob)"] == b"\x00 blob 3\n\n"
    listed = git(out, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert [label.split()[3] for label in found] == listed
    assert {label.split()[4] for label in found} == {"(blob)", "(tree)", "(commit)"}


def test_without_git_a_release_needs_the_option_no_git(root: Path, out: Path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotGrade, match="There is no git on this machine") as raised:
        build.build(order(root, git=True), out)
    assert "--no-git" in raised.value.next_step
    assert os.listdir(out.parent) == ["course"]
    build.build(order(root), out)
    assert not (out / ".git").exists()


# -- where it comes


def test_an_empty_folder_is_fine(root: Path, out: Path):
    out.mkdir()
    build.build(order(root), out)
    assert "release.json" in paths(out)
    assert sorted(os.listdir(out.parent)) == ["course", "out"]


def test_students_can_read_a_release(root: Path, out: Path):
    old = os.umask(0o022)
    try:
        build.build(order(root), out)
    finally:
        os.umask(old)
    assert out.stat().st_mode & 0o777 == 0o755


def test_a_folder_with_content_is_never_written_to(root: Path, out: Path):
    build.build(order(root), out)
    before = {path: (out / path).read_bytes() for path in paths(out)}
    (root / "exercises/01_double/README.md").write_text("# Other\n")
    with pytest.raises(UsageError, match="has content") as raised:
        build.build(order(root), out)
    assert str(out) in raised.value.message
    assert {path: (out / path).read_bytes() for path in paths(out)} == before


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("course/out", "lies inside of the course"),
        ("course/../course/exercises/out", "lies inside of the course"),
        ("inner/out", "lies inside of the course"),  # by a link
        ("missing/out", "there is no folder"),
        ("a_file", "is not a folder"),
        ("a_link", "is not a folder"),
        (".", "has content"),  # the course lies in it
    ],
)
def test_a_place_that_cannot_be_is_refused(root: Path, tmp_path: Path, place: str, fault: str):
    (tmp_path / "a_file").write_text("")
    (tmp_path / "a_link").symlink_to("nowhere")
    (tmp_path / "inner").symlink_to(root)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=fault):
        build.build(order(root), tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_folder_in_which_one_is_is_refused(root: Path, out: Path, monkeypatch):
    out.mkdir()
    monkeypatch.chdir(out)
    with pytest.raises(UsageError, match="is the folder that you are in"):
        build.build(order(root), Path())
    assert sorted(os.listdir(out.parent)) == ["course", "out"]


def test_a_name_from_the_folder_in_which_one_is_will_do(root: Path, out: Path, monkeypatch):
    monkeypatch.chdir(out.parent)
    build.build(order(root), Path("out"))
    assert "release.json" in paths(out)


def test_a_disk_that_is_full_leaves_nothing_behind(root: Path, out: Path, monkeypatch):
    def full(folder: Path, message: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(repository, "commit_all", full)
    with pytest.raises(UsageError, match="No space left on device"):
        build.build(order(root, git=True), out)
    assert os.listdir(out.parent) == ["course"]


# -- courses that cannot be released


def test_a_course_without_a_name_is_refused(root: Path, out: Path):
    (root / "course.toml").unlink()
    with pytest.raises(UsageError, match=r"has no course\.toml"):
        build.build(order(root), out)


def test_a_version_without_an_order_is_refused(root: Path, out: Path):
    (root / "course.toml").write_text('name = "small"\nversion = "fall"\n')
    with pytest.raises(UsageError, match="version 'fall' cannot be compared"):
        build.build(order(root), out)


def test_a_solution_without_markers_is_refused_by_name(root: Path, out: Path):
    solution = root / "solutions/01_double/kernel.py"
    solution.write_text(re.sub(r" *# (BEGIN|END) SOLUTION.*\n", "", solution.read_text()))
    for names in ((), ("02_row_sum",)):  # also when it is another exercise that is released
        with pytest.raises(BrokenExercise, match="marks no part as the solution") as raised:
            build.build(order(root, *names), out)
        assert str(solution) in raised.value.message
    assert not out.exists()


def test_an_exercise_without_a_solution_has_no_stub(root: Path, out: Path):
    (root / "solutions/01_double/kernel.py").unlink()
    with pytest.raises(UsageError, match=r"solutions/01_double/kernel\.py is missing"):
        build.build(order(root), out)


def test_a_spec_that_does_not_load_is_named(root: Path, out: Path):
    (root / "exercises/01_double/spec.py").write_text("1 / 0\n")
    with pytest.raises(BrokenExercise, match=r"01_double/spec\.py fails with ZeroDivisionError"):
        build.build(order(root), out)


@pytest.mark.parametrize("name", ["spec.py", "README.md", "eager.py", "test_kernel.py"])
def test_a_link_in_place_of_a_file_is_refused_by_name(root: Path, out: Path, name: str):
    path = root / "exercises/01_double" / name
    moved = root.parent / "elsewhere.py"
    moved.write_bytes(path.read_bytes() if path.exists() else b"")
    path.unlink(missing_ok=True)
    path.symlink_to(moved)
    with pytest.raises(BrokenExercise, match="is a link") as raised:
        build.build(order(root), out)
    assert str(path) in raised.value.message


@pytest.mark.parametrize("place", ["exercises", "exercises/01_double"])
def test_a_link_in_place_of_a_folder_is_refused_by_name(root: Path, out: Path, place: str):
    (root / place).rename(root.parent / "elsewhere")
    (root / place).symlink_to(root.parent / "elsewhere")
    with pytest.raises(BrokenExercise, match=f"{place} is a link"):
        build.build(order(root), out)


@pytest.mark.parametrize("name", [".01_double", "01 double", "01\ndouble", "-rf", "01:double"])
def test_an_odd_name_is_refused(root: Path, out: Path, name: str):
    for shelf in ("exercises", "solutions"):
        (root / shelf / "01_double").rename(root / shelf / name)
    with pytest.raises(BrokenExercise, match="cannot be released under this name") as raised:
        build.build(order(root), out)
    assert repr(name) in raised.value.message


# -- the command


def test_the_command_prints_what_it_made(root: Path, out: Path, monkeypatch, capsys):
    monkeypatch.setenv("GRADER_COURSE", str(root))
    (root / "exercises/01_double/data.csv").write_text("1\n")
    command = ["release", "--out", str(out), "--only", "02", "--only", "01_double", "--no-git"]
    assert cli.main([*command, "--grader", "kernel-grader==0.1.0"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        f"{out}: small, version 1.0",
        "2 exercises, 14 files",
        "no file holds a distinctive line of 3 solutions, "
        "except lines that stubs show, or lessons and hints quote",
    ]
    assert "note: exercises/01_double/data.csv: not released" in told.err


def test_one_exercise_is_printed_in_the_singular(root: Path, out: Path, monkeypatch, capsys):
    monkeypatch.setenv("GRADER_COURSE", str(root))
    command = ["release", "--out", str(out), "--only", "02", "--no-git"]
    assert cli.main([*command, "--grader", "kernel-grader==0.1.0"]) == 0
    assert "\n1 exercise, " in capsys.readouterr().out


def test_the_command_names_what_does_not_exist(root: Path, out: Path, monkeypatch, capsys):
    monkeypatch.setenv("GRADER_COURSE", str(root))
    assert cli.main(["release", "--out", str(out), "--only", "01_dubble"]) == 2
    assert "Did you mean 01_double" in capsys.readouterr().err
    assert not out.exists()


def test_a_leak_ends_with_the_code_of_a_broken_exercise(root: Path, out: Path, monkeypatch, capsys):
    monkeypatch.setenv("GRADER_COURSE", str(root))
    (root / "exercises/01_double/README.md").write_text(
        "    tl.store(out_ptr + offsets, 2 * x, mask=inside)\n"
    )
    command = ["release", "--out", str(out), "--no-git", "--grader", "kernel-grader==0.1.0"]
    assert cli.main(command) == 4
    told = capsys.readouterr().err
    assert "exercises/01_double/README.md holds line 13 of solutions/01_double/kernel.py" in told
    assert os.listdir(out.parent) == ["course"]
