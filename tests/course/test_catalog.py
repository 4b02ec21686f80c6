"""From folders to exercises."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog
from grader.model.errors import UsageError

COURSES = Path(__file__).parents[1] / "courses"
SMALL = COURSES / "small"
REPOSITORY = Path(__file__).parents[2]
BROKEN = COURSES / "broken"


def test_puzzles_come_first_then_exercises_by_name():
    names = [exercise.name for exercise in catalog.exercises(SMALL)]
    assert names == ["p01_copy", "01_double", "02_row_sum"]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("01_double", "01_double"),
        ("01", "01_double"),
        ("1", "01_double"),
        ("002", "02_row_sum"),
        ("p1", "p01_copy"),
        ("P01", "p01_copy"),
    ],
)
def test_an_exercise_is_found_by_name_and_number(wanted: str, name: str):
    assert catalog.find(SMALL, wanted).name == name


def test_each_letter_has_numbers_of_its_own(tmp_path: Path):
    make_course(tmp_path, "puzzles/p01_a", "puzzles/p12_b", "puzzles/t01_c", "exercises/01_d")
    found = {short: catalog.find(tmp_path, short).name for short in ("p1", "t1", "1", "p12")}
    assert found == {"p1": "p01_a", "t1": "t01_c", "1": "01_d", "p12": "p12_b"}


def test_bare_digits_mean_an_exercise_before_a_puzzle(tmp_path: Path):
    make_course(tmp_path, "puzzles/01_a", "puzzles/02_b", "exercises/01_c")
    assert catalog.find(tmp_path, "1").name == "01_c"
    assert catalog.find(tmp_path, "01").name == "01_c"
    assert catalog.find(tmp_path, "2").name == "02_b"


def test_the_number_as_it_is_written_comes_before_an_equal_one(tmp_path: Path):
    make_course(tmp_path, "exercises/1_a", "exercises/01_b")
    assert catalog.find(tmp_path, "1").name == "1_a"
    assert catalog.find(tmp_path, "01").name == "01_b"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("online", "04_online_softmax"),
        ("Online", "04_online_softmax"),
        ("04_onl", "04_online_softmax"),
        ("swiglu", "05_swiglu"),  # and not 08_gptoss_swiglu or 09_swiglu_backward
        ("map", "p01_map"),  # and not p04_map_2d
        ("gelu", "14_layernorm_gelu"),
        ("layer", "14_layernorm_gelu"),
        ("norm_g", "14_layernorm_gelu"),
    ],
)
def test_a_part_of_a_name_finds_the_only_exercise_that_has_it(part: str, name: str):
    assert catalog.find(REPOSITORY, part).name == name


def test_a_part_that_several_names_have_names_them_all():
    with pytest.raises(UsageError) as raised:
        catalog.find(REPOSITORY, "softmax")
    several = "p21_softmax_row and 03_three_pass_softmax and 04_online_softmax"
    assert raised.value.message == f"'softmax' means {several}."


@pytest.mark.parametrize("path", ["", "/kernel.py", "/"])
def test_an_exercise_is_found_by_path(path: str):
    wanted = f"{SMALL}/exercises/01_double{path}"
    assert catalog.find(SMALL, wanted).name == "01_double"


def test_a_path_may_be_relative(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(SMALL / "exercises" / "02_row_sum")
    assert catalog.find(SMALL, "kernel.py").name == "02_row_sum"
    assert catalog.find(SMALL, ".").name == "02_row_sum"


@pytest.mark.parametrize("target", ["{}/elsewhere.py", "{}/course/exercises/02_row_sum/kernel.py"])
def test_a_kernel_file_that_is_a_link_is_found_by_its_own_path(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "elsewhere.py").touch()
    course = Path(shutil.copytree(SMALL, tmp_path / "course"))
    kernel = course / "exercises" / "01_double" / "kernel.py"
    kernel.unlink()
    kernel.symlink_to(target.format(tmp_path))
    assert catalog.find(course, str(kernel)).name == "01_double"
    monkeypatch.chdir(kernel.parent)
    assert catalog.find(course, "kernel.py").name == "01_double"


def test_a_link_to_a_kernel_file_finds_its_exercise(tmp_path: Path):
    link = tmp_path / "short.py"
    link.symlink_to(SMALL / "exercises" / "01_double" / "kernel.py")
    assert catalog.find(SMALL, str(link)).name == "01_double"


def test_where_one_name_is_near_distant_ones_are_not_told(snapshot: SnapshotAssertion):
    with pytest.raises(UsageError) as raised:
        catalog.find(REPOSITORY, "01_vectr_add")
    assert text_of(raised.value) == snapshot


@pytest.mark.parametrize(
    ("wanted", "next_step"),
    [
        ("01_duoble", "Did you mean 01_double"),
        ("02_row_smu", "Did you mean 02_row_sum?"),
        ("p9", "Did you mean p01_copy?"),
        ("3", "Did you mean 02_row_sum?"),
        ("t1", "`grader list`"),
        ("²", "`grader list`"),
        ("zzzzz", "`grader list` shows them all."),
        ("", "`grader list` shows them all."),
    ],
)
def test_an_unknown_name_gets_the_closest(wanted: str, next_step: str):
    with pytest.raises(UsageError, match=f"no exercise named '{wanted}'") as raised:
        catalog.find(SMALL, wanted)
    assert raised.value.next_step.startswith(next_step)


def test_a_number_that_only_a_puzzle_has_names_the_puzzle_first(tmp_path: Path):
    make_course(tmp_path, "exercises/06_a", "puzzles/p07_b")
    with pytest.raises(UsageError) as raised:
        catalog.find(tmp_path, "7")
    assert raised.value.next_step == "Did you mean p07_b or 06_a?"


def test_a_number_that_two_exercises_share_names_none(tmp_path: Path, snapshot: SnapshotAssertion):
    make_course(tmp_path, "exercises/01_a", "exercises/01_b")
    with pytest.raises(UsageError) as raised:
        catalog.find(tmp_path, "1")
    assert text_of(raised.value) == snapshot


def make_course(root: Path, *exercises: str) -> None:
    for exercise in exercises:
        (root / exercise).mkdir(parents=True)
        (root / exercise / "spec.py").touch()


@pytest.mark.parametrize("inside", [".", "exercises", "exercises/01_double", "solutions"])
def test_the_root_is_found_from_inside(inside: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GRADER_COURSE", raising=False)
    monkeypatch.chdir(SMALL / inside)
    assert catalog.find_root() == SMALL


def test_the_environment_names_the_course(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADER_COURSE", str(BROKEN))
    assert catalog.find_root() == BROKEN
    assert catalog.find_root(SMALL) == SMALL


def test_no_course_says_where_it_looked(tmp_path: Path, snapshot: SnapshotAssertion):
    with pytest.raises(UsageError) as raised:
        catalog.find_root(tmp_path)
    assert text_of(raised.value, tmp_path) == snapshot
