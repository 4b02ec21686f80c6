"""An exercise with several entries: what it is called, what each entry has, what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog, stubs, wrong_kernels
from grader.course.exercise import Exercise
from grader.model.errors import BrokenExercise, GraderError

COURSES = Path(__file__).parents[1] / "courses"
ENTRIES, SMALL = COURSES / "entries", COURSES / "small"
SCALE = Exercise(ENTRIES / "exercises" / "01_scale")
BOTH = ("scale", "scale_backward")


def test_each_entry_is_an_exercise_of_the_same_files():
    assert [part.name for part in SCALE.parts] == [f"01_scale:{name}" for name in BOTH]
    for part, name in zip(SCALE.parts, BOTH, strict=True):
        assert part.spec.entry == name
        assert not part.spec.also, "a part has no parts"
        assert part.parts == (part,)
        assert (part.kernel, part.solution) == (SCALE.kernel, SCALE.solution)


def test_a_course_has_its_exercises_parts():
    assert [part.name for part in catalog.parts(ENTRIES)] == [f"01_scale:{name}" for name in BOTH]
    assert catalog.parts(SMALL) == catalog.exercises(SMALL)


def test_the_stub_of_a_file_is_the_same_for_each_of_its_entries():
    assert [stubs.drifted(one) for one in (SCALE, *SCALE.parts)] == [False] * 3


def test_an_exercise_with_one_entry_is_its_only_part():
    (double,) = catalog.find(SMALL, "01_double").parts
    assert double.name == "01_double"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("01_scale", "01_scale"),
        ("1", "01_scale"),
        ("1:scale_backward", "01_scale:scale_backward"),
        ("exercises/01_scale:scale", "01_scale:scale"),
    ],
)
def test_a_colon_names_an_entry(name: str, found: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ENTRIES)
    assert catalog.find_entry(ENTRIES, name).name == found


@pytest.mark.parametrize("folder", ["plain", "a:b", "a:b/c:d"])
@pytest.mark.parametrize("file", ["", "/", "/kernel.py"])
@pytest.mark.parametrize("entry", ["", ":scale_backward"])
def test_a_path_may_have_colons(folder: str, file: str, entry: str, tmp_path: Path):
    root = Path(shutil.copytree(ENTRIES, tmp_path / folder))
    query = f"{root}/exercises/01_scale{file}{entry}"
    assert catalog.find_entry(root, query).name == f"01_scale{entry}"


def test_a_path_with_a_colon_that_is_not_there_names_no_entry(tmp_path: Path):
    root = Path(shutil.copytree(ENTRIES, tmp_path / "a:b"))
    with pytest.raises(GraderError) as caught:
        catalog.find_entry(root, f"{root}/exercises/01_scael")
    assert caught.value.message == f"There is no exercise named '{root}/exercises/01_scael'."


def test_an_entry_of_a_file_is_in_the_language_of_that_file(tmp_path: Path):
    root = Path(shutil.copytree(ENTRIES, tmp_path / "course"))
    spec, file = (root / "exercises" / "01_scale" / name for name in ("spec.py", "kernel_cuda.py"))
    spec.write_text(
        spec.read_text().replace('backend="triton",', 'backend="triton", also_in=("cuda",),')
    )
    file.touch()
    entry = catalog.find_entry(root, f"{file}:scale_backward")
    assert (entry.name, entry.kernel) == ("01_scale:scale_backward", file)


def test_the_only_entry_of_a_file_may_be_named_too():
    assert catalog.find_entry(SMALL, "01_double:double") == catalog.find(SMALL, "01_double")


@pytest.mark.parametrize(
    ("root", "name"), [(ENTRIES, "01_scale:nope"), (ENTRIES, "01_scale:"), (SMALL, "1:nope")]
)
def test_an_entry_that_is_not_there_is_refused(root: Path, name: str, snapshot: SnapshotAssertion):
    with pytest.raises(GraderError) as caught:
        catalog.find_entry(root, name)
    assert text_of(caught.value) == snapshot


def test_one_of_several_must_be_named_where_only_one_will_do(snapshot: SnapshotAssertion):
    with pytest.raises(GraderError) as caught:
        _ = SCALE.spec
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize(
    "also",
    [
        "(replace(BACKWARD, backend='numba'),)",
        "(replace(BACKWARD, kind='other'),)",
        "(BACKWARD, BACKWARD)",
        "(FORWARD,)",
        "(replace(FORWARD, entry='more', also=(BACKWARD,)),)",
        "(replace(BACKWARD, dtypes=('float64',)),)",
    ],
)
def test_a_spec_whose_entries_do_not_go_together_is_refused(
    also: str, tmp_path: Path, snapshot: SnapshotAssertion
):
    """When it loads, and in one sentence: each would otherwise end a check somewhere inside."""
    folder = tmp_path / "exercises" / "01_scale"
    shutil.copytree(SCALE.folder, folder)
    spec = folder / "spec.py"
    spec.write_text(spec.read_text().replace("also=(BACKWARD,)", f"also={also}"))
    with pytest.raises(BrokenExercise) as caught:
        _ = Exercise(folder).any_spec
    assert text_of(caught.value, tmp_path) == snapshot


def test_all_entries_are_in_the_language_of_the_file(tmp_path: Path):
    folder = tmp_path / "exercises" / "01_scale"
    shutil.copytree(SCALE.folder, folder)
    spec = folder / "spec.py"
    spec.write_text(
        spec.read_text().replace('backend="triton",', 'backend="triton", also_in=("numba",),')
    )
    both = Exercise(folder).for_file(b"from numba import cuda").parts
    assert [part.spec.backend for part in both] == ["numba", "numba"]
    assert [part.spec.entry for part in both] == list(BOTH)
    assert [part.spec.backend for part in Exercise(folder).parts] == ["triton", "triton"]


def test_a_wrong_kernel_may_name_the_entry_that_is_rejected():
    named = {path.stem: wrong_kernels.rejected_entry(path) for path in SCALE.wrong_kernels}
    assert named["wrong_forward_adds"] == "scale"
    assert named["wrong_state_in_a_global"] == "scale_backward"
    other = catalog.find(SMALL.parents[2], "01_vector_add").wrong_kernels[0]
    assert wrong_kernels.rejected_entry(other) is None


def test_the_page_shows_this_exercise():
    page = (COURSES.parents[1] / "docs" / "entries.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 2
    files = "".join(p.read_text(encoding="utf-8") for p in (SCALE.folder / "spec.py", SCALE.tests))
    for part in (part for block in shown for part in block.split("\n\n\n")):
        assert part in files
