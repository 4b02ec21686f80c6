"""A backend is added as a folder: tests/courses/toy has a language of its own, and is graded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import extended
import pytest

from grader import backends, cli
from grader.classroom.release import contents
from grader.course import catalog, extensions
from grader.model.backend import Abilities
from grader.model.errors import BrokenExercise
from grader.sandbox import commands, failures

pytestmark = pytest.mark.slow

TOY = Path(__file__).parents[1] / "courses" / "toy"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The course with the added language, to write in."""
    unwanted = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(TOY, tmp_path / "course", ignore=unwanted))


@pytest.fixture(autouse=True)
def _nothing_stays_added() -> Iterator[None]:
    yield
    extended.take_back()


def command(course: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", *argv], cwd=course, capture_output=True, text=True
    )


def graded(course: Path, *argv: str) -> dict[str, object]:
    done = command(course, "check", "p01", "--device", "cpu", "--json", "--seed", "1", *argv)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def failure(result: dict[str, object], step: str) -> dict[str, str]:
    found = next(one for one in result["steps"] if one["name"] == step)
    assert found["outcome"] == "fail"
    return found["failure"]


# -- grading in a language that no line outside of its folder knows


def test_a_right_kernel_passes_and_its_traffic_is_counted(course: Path):
    result = graded(course, "--solution")
    assert (result["status"], result["points"]) == ("pass", 6)
    traffic = next(step["traffic"] for step in result["steps"] if step["name"] == "traffic")
    assert [(one["argument"], one["reads"], one["writes"]) for one in traffic] == [
        ("x", 1, 0),
        ("out", 0, 1),
    ]


def test_the_likely_cause_of_a_failure_is_found_in_any_language(course: Path):
    result = graded(course, "--kernel", "solutions/p01_double/wrong_last.py")
    assert result["status"] == "fail"
    told = failure(result, "correctness")
    assert told["kind"] == "never_written"
    assert told["cause"] == "off_by_one"
    assert "double_one[x.numel() - 1](x, out)" in told["hint"]


def test_an_output_that_no_kernel_computed_is_rejected(course: Path):
    kernel = course / "puzzles/p01_double/kernel.py"
    kernel.write_text("def double(x, out):\n    out.copy_(2 * x)\n")
    told = failure(graded(course), "correctness")
    assert told["kind"] == "no_kernel"
    assert "(@toy.kernel)" in told["hint"]


def test_an_exception_has_the_hint_that_the_backend_keeps_for_its_message(course: Path):
    kernel = course / "puzzles/p01_double/kernel.py"
    kernel.write_text(kernel.read_text().replace("pass", "out[i + 99] = x[i]"))
    told = failure(graded(course), "correctness")
    assert (told["kind"], told["hint"]) == ("exception", "Toys start to count at 0.")


def test_the_doctor_tries_it(course: Path):
    findings = json.loads(command(course, "doctor", "--json").stdout)["findings"]
    tried = {one["name"]: one["message"] for one in findings if one["group"] == "simulators"}
    assert tried["Toy"] == "simulates a kernel: 1,000 sums are right"


def test_lint_reads_kernels_by_its_names(course: Path):
    kernel = course / "puzzles/p01_double/kernel.py"
    kernel.write_text(kernel.read_text() + "\nSTART = toy.clock.now()\n")
    review = json.loads(command(course, "lint", "--json", str(kernel)).stdout)
    assert [one["rule"] for one in review["findings"]] == ["KG406"]


def able_to(course: Path, abilities: str) -> None:
    """Have the language be able to do this and nothing else."""
    record = course / "extensions/backends/toy/__init__.py"
    text = record.read_text()
    assert "simulate=True, count_traffic=True" in text
    record.write_text(text.replace("simulate=True, count_traffic=True", abilities))


def test_what_cannot_be_simulated_cannot_be_graded_without_a_gpu(course: Path):
    able_to(course, "")
    done = command(course, "check", "p01", "--device", "cpu", "--solution")
    assert done.returncode == 3
    assert "Kernels in Toy cannot be simulated." in " ".join(done.stdout.split())


def test_traffic_is_a_step_where_the_backend_can_count_it(course: Path):
    able_to(course, "simulate=True")
    result = graded(course, "--solution")
    assert [step["name"] for step in result["steps"]] == ["load", "correctness", "properties"]
    assert (result["status"], result["points"], result["max_points"]) == ("pass", 5, 5)


def test_a_picture_needs_threads_that_can_be_traced(course: Path):
    done = command(course, "show", "p01", "--trace", "--solution")
    assert done.returncode == 2
    assert "it is written in Toy, and no simulator here traces" in done.stderr


def test_what_is_counted_is_simulated():
    with pytest.raises(ValueError, match="set simulate=True"):
        Abilities(trace_threads=True)


def test_a_dry_run_compiles():
    with pytest.raises(ValueError, match="set simulate=True and compile_without_gpu=True"):
        Abilities(simulate=True, dry_run=True)
    able = Abilities(simulate=True, compile_without_gpu=True, dry_run=True)
    assert not able.compute_without_gpu


# -- from the course that grades, and from nowhere else


def planted(course: Path, folder: Path) -> Path:
    """Make a student's repository in which the language says that everything is right."""
    shutil.copytree(course / "puzzles", folder / "puzzles")
    shutil.copytree(course / "extensions", folder / "extensions")
    marker = folder / "was imported"
    for path in (folder / "extensions/backends/toy").glob("*.py"):
        path.write_text(f"open({str(marker)!r}, 'w').close()\n{path.read_text()}")
    return marker


def test_what_a_submission_adds_is_never_imported(course: Path, tmp_path: Path):
    handed_in = tmp_path / "handed in"
    marker = planted(course, handed_in)
    done = command(course, "ci", "--device", "cpu", "--submission", str(handed_in))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "out[0] was never written" in done.stdout
    assert not marker.exists()


def test_what_lies_beside_a_kernel_file_is_never_imported(course: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    marker = planted(course, elsewhere)
    kernel = elsewhere / "puzzles/p01_double/kernel.py"
    result = graded(course, "--kernel", str(kernel))
    assert result["status"] == "fail"
    assert not marker.exists()


def test_a_name_that_is_taken_is_refused(course: Path):
    (course / "extensions/backends/toy").rename(course / "extensions/backends/numba")
    with pytest.raises(BrokenExercise, match="but numba exists already"):
        extensions.use_extensions(course)
    assert "toy" not in backends.names()


def test_students_get_the_extensions_with_a_release(course: Path):
    hidden = course / "extensions/backends/toy/__pycache__"
    hidden.mkdir()
    (hidden / "lint.pyc").write_bytes(b"")
    (exercise,) = catalog.exercises(course)
    files = contents.collect(course, [exercise], None, ()).files
    added = {path for path in files if path.startswith("extensions/")}
    folder = course / "extensions/backends/toy"
    assert added == {f"extensions/backends/toy/{path.name}" for path in folder.glob("*.py")}


def test_a_link_among_the_extensions_is_not_released(course: Path):
    (course / "extensions/backends/toy/secret.py").symlink_to("/etc/hostname")
    (exercise,) = catalog.exercises(course)
    with pytest.raises(BrokenExercise, match=r"secret\.py is a link"):
        contents.collect(course, [exercise], None, ())


# -- the registry


def test_the_folders_are_the_backends():
    folder = Path(backends.__file__).parent
    assert set(backends.names()) == {path.parent.name for path in folder.glob("*/__init__.py")}
    for backend in backends.every():
        assert backends.folder(backend.name) == folder / backend.name
        assert (folder / backend.name / backend.trial.file).is_file()


@pytest.mark.parametrize("name", backends.names())
def test_the_modules_that_a_backend_names_are_there(name: str):
    backend = backends.find(name)
    modules = (backend.simulated, backend.compiled, backend.plain_call, backend.lint)
    for module in filter(None, modules):
        assert (backends.folder(name) / f"{module}.py").is_file(), module


def test_an_unknown_backend_is_refused_with_the_closest_name():
    with pytest.raises(BrokenExercise, match="no backend 'trition'") as refused:
        backends.find("trition")
    assert refused.value.next_step == "Did you mean triton?"


def test_a_folder_without_its_record_is_named(course: Path):
    (course / "extensions/backends/toy/__init__.py").write_text("BACKEND = None\n")
    extensions.use_extensions(course)
    with pytest.raises(BrokenExercise, match="has no BACKEND = Backend"):
        backends.find("toy")


def test_a_folder_without_its_librarys_names_is_named(course: Path):
    (course / "extensions/backends/toy/lint.py").unlink()
    extensions.use_extensions(course)
    with pytest.raises(BrokenExercise, match=r"lint\.py has no NAMES"):
        backends.source_names("toy")


def test_ceilings_are_measured_with_the_graders_own_kernels(course: Path):
    record = course / "extensions/backends/toy/__init__.py"
    record.write_text(
        record.read_text().replace("    scalars", '    reference_kernels="x.py",\n    scalars')
    )
    extensions.use_extensions(course)
    assert backends.find("toy").reference_kernels == "x.py"
    assert backends.reference().name == "triton"


def test_a_backend_that_is_not_installed_is_called_by_its_name():
    assert backends.title("triton") == "Triton"
    assert backends.title("gone") == "gone"


def test_workers_get_the_variables_of_all_backends(course: Path, tmp_path: Path):
    extensions.use_extensions(course)
    found = commands.environment(tmp_path)
    assert found["TOY_HOME"] == f"{tmp_path}/toy"
    assert "TOY_SIMULATES" not in found
    assert commands.environment(tmp_path, simulated=True)["TOY_SIMULATES"] == "1"


def test_the_hint_for_imports_names_every_library(course: Path):
    extensions.use_extensions(course)
    told = failures._importable()
    assert "torch, cuda, toy, triton, numba and numpy" in told


# -- a spec asks of its backend only what that can do


def changed(course: Path, old: str, new: str) -> str:
    spec = course / "puzzles/p01_double/spec.py"
    text = spec.read_text().replace("import Case", "import Budget, Case, scalar")
    assert old in text
    spec.write_text(text.replace(old, new))
    (exercise,) = catalog.exercises(course)
    with pytest.raises(BrokenExercise) as refused:
        _ = exercise.spec
    return refused.value.message


def test_a_spec_with_an_unknown_backend_is_refused(course: Path):
    assert "There is no backend 'toys'" in changed(course, 'backend="toy"', 'backend="toys"')


def test_a_dtype_that_the_backend_does_not_take_is_refused(course: Path):
    message = changed(course, 'dtypes=("float32",)', 'dtypes=("float32", "float16")')
    assert "Toy takes no float16: its dtypes are float32" in message


def test_the_dtype_of_an_argument_is_held_to_the_backend_too(course: Path):
    message = changed(course, 'like="x"', 'like="x", dtype="int64"')
    assert "Toy takes no int64" in message


def test_a_number_that_the_backend_does_not_take_is_refused(course: Path):
    message = changed(course, '(reads("x"), ', '(reads("x"), scalar("n"), ')
    assert "n is a float, and Toy takes no numbers" in message


def test_a_kind_of_number_that_the_backend_does_not_take_is_refused(course: Path):
    record = course / "extensions/backends/toy/__init__.py"
    record.write_text(record.read_text().replace("scalars=()", 'scalars=("int", "bool")'))
    message = changed(course, '(reads("x"), ', '(reads("x"), scalar("n"), ')
    assert "n is a float, and Toy takes only int, bool" in message


def test_budgets_for_a_backend_that_traces_no_threads_are_refused(course: Path):
    message = changed(course, "    hints=", "    budgets=(Budget('barriers', 1, 0),),\n    hints=")
    assert "simulated Toy has no counts" in message


def test_it_is_a_fault_of_the_exercise(course: Path, monkeypatch, capsys):
    spec = course / "puzzles/p01_double/spec.py"
    spec.write_text(spec.read_text().replace('"toy"', '"toys"'))
    monkeypatch.chdir(course)
    assert cli.main(["show", "p01"]) == 4
    assert "Did you mean toy?" in capsys.readouterr().err
