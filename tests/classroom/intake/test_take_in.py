"""Every student of the roster has one record, whatever lies in the folder of submissions."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import odd_class
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import text_of
from odd_class import EXERCISES, MISSING, NOT_STARTED, TRACE, UNREADABLE, OddClass, fill, zipped
from syrupy.assertion import SnapshotAssertion

from grader.classroom import HandedIn, Intake, Roster, plan, read_roster, take_in
from grader.classroom.intake.records import Student
from grader.course import catalog
from grader.model import login_of
from grader.model.errors import CannotGrade, UsageError
from grader.model.outcomes import Status

pytestmark = pytest.mark.slow

SMALL = Path(__file__).parents[2] / "courses" / "small"
DOUBLE, *_ = DOUBLE_AND_SUM = [catalog.find(SMALL, name) for name in ("01_double", "02_row_sum")]
KERNEL, OTHER = "exercises/01_double/kernel.py", "exercises/02_row_sum/kernel.py"
GOOD = {KERNEL: b"x = 1\n"}


@dataclass(frozen=True)
class TakenIn:
    folder: Path
    odd: OddClass
    intake: Intake

    def of(self, login: str) -> HandedIn:
        return next(one for one in self.intake.handed_in if one.student.login == login)


@pytest.fixture(scope="module")
def taken_in(tmp_path_factory: pytest.TempPathFactory) -> TakenIn:
    folder = tmp_path_factory.mktemp("class")
    odd = odd_class.make(folder)
    exercises = [catalog.find(odd_class.ROOT, name) for name in EXERCISES]
    intake = take_in(odd.submissions, read_roster(odd.roster), exercises, folder / "work")
    return TakenIn(folder, odd, intake)


def test_every_student_of_the_odd_class_has_one_record_in_the_roster_s_order(taken_in: TakenIn):
    found = [one.student.login for one in taken_in.intake.handed_in]
    assert len(found) == 34
    assert found == list(taken_in.odd.expected)


def test_everybody_stands_where_the_odd_class_says(taken_in: TakenIn):
    """Pass and fail take a judge: here they only must not be missing or unreadable."""
    exercises = [catalog.find(odd_class.ROOT, name) for name in EXERCISES]
    for login, expected in taken_in.odd.expected.items():
        one = taken_in.of(login)
        words = set(expected.values())
        assert one.missing is (words == {MISSING}), login
        assert bool(one.fault) is (words == {UNREADABLE}), login
        if one.folder is None:
            continue
        for target in plan(exercises, one.folder):
            no_file = target.refused is not None and target.refused[0] is Status.NOT_STARTED
            is_stub = login == "stub"
            assert (no_file or is_stub) is (expected[target.exercise.name] == NOT_STARTED), login


def test_what_is_said_of_the_odd_class(taken_in: TakenIn, snapshot: SnapshotAssertion):
    lines = [
        f"{one.student.login}: {one.fault or '; '.join(_without_hashes(one.notes))}"
        for one in taken_in.intake.handed_in
        if one.fault or one.notes
    ]
    assert "\n".join([*lines, *taken_in.intake.strangers, *taken_in.intake.problems]) == snapshot


def _without_hashes(notes: tuple[str, ...]) -> Iterator[str]:
    return ("commit HASH" if note.startswith("commit ") else note for note in notes)


def test_nothing_of_a_repository_was_run(taken_in: TakenIn):
    assert not (taken_in.folder / TRACE).exists()
    # The trap works: git run in the repository falls into it.
    git = ["git", "-c", f"safe.directory={taken_in.odd.submissions / 'hooked'}", "status"]
    subprocess.run(git, cwd=taken_in.odd.submissions / "hooked", check=False, capture_output=True)
    assert (taken_in.folder / TRACE).exists()


def test_nothing_is_written_beside_the_folder_for_it(taken_in: TakenIn):
    assert {path.name for path in taken_in.folder.iterdir()} - {TRACE} == {
        "roster.csv",
        "submissions",
        "work",
    }
    assert not any("evil" in path.name for path in (taken_in.folder / "work").rglob("*"))


def test_a_lone_kernel_is_of_the_only_exercise_that_is_graded(tmp_path: Path):
    odd = odd_class.make(tmp_path)
    add = catalog.find(odd_class.ROOT, odd_class.ADD)
    intake = take_in(odd.submissions, read_roster(odd.roster), [add], tmp_path / "work")
    lone = next(one for one in intake.handed_in if one.student.login == "lone")
    assert lone.folder is not None
    assert plan([add], lone.folder)[0].refused is None


def roster(*students: Student) -> Roster:
    return Roster(students, ())


def taken(folder: Path, *students: Student, only: bool = True) -> list[HandedIn]:
    exercises = DOUBLE_AND_SUM[:1] if only else DOUBLE_AND_SUM
    intake = take_in(folder / "in", roster(*students), exercises, folder / "work")
    return list(intake.handed_in)


ADA, ALAN = Student("ada"), Student("alan")


def test_a_folder_whose_accents_macos_decomposed_is_its_student_s(tmp_path: Path):
    name = unicodedata.normalize("NFD", "jörg")
    fill(tmp_path / "in" / name, GOOD)
    (tmp_path / "in" / "submitted.csv").write_text(f"login,time\n{name},2026-11-20T10:00:00Z\n")
    [joerg] = taken(tmp_path, Student("jörg"))
    assert (joerg.place, joerg.submitted_at) == (name, "2026-11-20T10:00:00Z")


def test_files_named_after_exercises_are_theirs(tmp_path: Path):
    fill(tmp_path / "in" / "ada", {"01_double.py": b"1", "sub/02_row_sum.py": b"2"})
    [ada] = taken(tmp_path, ADA, only=False)
    assert ada.folder is not None
    assert [(ada.folder / name).read_bytes() for name in (KERNEL, OTHER)] == [b"1", b"2"]


def test_a_lone_kernel_is_known_by_its_name_among_other_files(tmp_path: Path):
    fill(tmp_path / "in" / "ada", {"notes.py": b"", "kernel.py": b"kernel", "a.txt": b""})
    [ada] = taken(tmp_path, ADA)
    assert ada.folder is not None
    assert (ada.folder / KERNEL).read_bytes() == b"kernel"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"a.py": b"", "b.py": b""}, id="two-files"),
        pytest.param({"report.pdf": b""}, id="none"),
        pytest.param({"a.zip": zipped(GOOD), "b.zip": zipped(GOOD)}, id="two-archives"),
        pytest.param({"exercises/99_other/kernel.py": b""}, id="another-course"),
    ],
)
def test_what_could_mean_anything_is_a_fault_and_not_missing(
    files: Mapping[str, bytes], tmp_path: Path
):
    fill(tmp_path / "in" / "ada", files)
    [ada] = taken(tmp_path, ADA)
    assert ada.fault
    assert not ada.missing


def test_an_archive_in_the_folder_of_a_learning_system_is_unpacked(tmp_path: Path):
    fill(tmp_path / "in" / "Ada L_1_assignsubmission_file_", {"my kernels.zip": zipped(GOOD)})
    [ada] = taken(tmp_path, Student("ada", "Ada L"))
    assert ada.folder is not None


@pytest.mark.parametrize("name", ["A\nL", "A\udcffL"], ids=["line-feed", "not-utf-8"])
def test_a_folder_that_no_report_could_name_is_copied(name: str, tmp_path: Path):
    """The judge takes no kernel whose path is not printable: that is not the student's fault."""
    fill(tmp_path / "in" / f"{name}_1_assignsubmission_file_", GOOD)
    [ada] = taken(tmp_path, Student("ada", "A L"))
    assert ada.folder is not None
    assert str(ada.folder).isprintable()
    assert (ada.folder / KERNEL).read_bytes() == GOOD[KERNEL]


def test_a_folder_that_cannot_be_read_is_no_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Root may read everything: the error is made here."""

    def refused(path: str) -> Iterator[os.DirEntry[str]]:
        raise PermissionError(errno.EACCES, "Permission denied")

    fill(tmp_path / "in" / "ada", {"x/kernel.py": b""})
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        [ada] = taken(tmp_path, ADA)
    assert ada.fault.endswith("Permission denied")
    assert not ada.missing


def test_of_several_submissions_the_latest_counts_and_the_others_are_named(tmp_path: Path):
    fill(tmp_path / "in", {"ada.zip": zipped(GOOD), "hw-ada.zip": zipped(GOOD)})
    csv = "submission,time\nada.zip,2026-11-20T12:00+01:00\nhw-ada.zip,2026-11-20T11:30Z\n"
    (tmp_path / "in" / "submitted.csv").write_text(csv)
    [ada] = taken(tmp_path, ADA)
    assert (ada.place, ada.submitted_at) == ("hw-ada.zip", "2026-11-20T11:30:00Z")
    assert "ada.zip" in ada.notes[-1]


def test_a_file_counts_before_what_was_typed_into_moodle(tmp_path: Path):
    fill(tmp_path / "in" / "Ada L_1_assignsubmission_onlinetext_", {"onlinetext.html": b"<p>Done"})
    [ada] = taken(tmp_path, Student("ada", "Ada L"))
    assert "onlinetext.html" in ada.fault
    fill(tmp_path / "in" / "Ada L_1_assignsubmission_file_", {"my kernels.zip": zipped(GOOD)})
    [ada] = taken(tmp_path, Student("ada", "Ada L"))
    assert ada.place == "Ada L_1_assignsubmission_file_"
    assert ada.folder is not None


def test_without_times_the_note_says_that_nobody_knows_which_is_the_latest(tmp_path: Path):
    fill(tmp_path / "in", {"ada.zip": zipped(GOOD), "hw-ada.zip": zipped(GOOD)})
    [ada] = taken(tmp_path, ADA)
    assert (ada.place, ada.submitted_at) == ("ada.zip", "")
    assert "unknown" in ada.notes[-1]


def test_the_later_file_of_canvas_counts(tmp_path: Path):
    first, second = "lada_1_20_kernel.py", "lada_1_100_kernel-1.py"
    fill(tmp_path / "in", {first: b"first", second: b"second"})
    [ada] = taken(tmp_path, Student("ada", "L, Ada"))
    assert ada.place == second


def test_one_submission_counts_for_its_group_and_the_last_of_several(tmp_path: Path):
    pair = (Student("ada", group="G1"), Student("alan", group=" g1"), Student("grace"))
    fill(tmp_path / "in", {"alan.zip": zipped(GOOD)})
    ada, alan, grace = taken(tmp_path, *pair)
    assert ada.folder == alan.folder is not None
    assert grace.missing
    assert "handed in by alan" in ada.notes[0]
    fill(tmp_path / "in", {"ada.zip": zipped(GOOD)})
    (tmp_path / "in" / "submitted.csv").write_text("login,time\nalan,2026-11-20\nada,2026-11-21\n")
    assert [one.place for one in taken(tmp_path, *pair)] == ["ada.zip", "ada.zip", ""]


METADATA = """\
submission_11:
  :submitters:
  - :name: Ada L
    :sid: '100'
    :email: ada@example.org
  - :name: Alan T
    :sid: '200'
    :email: alan@example.org
  :results:
    :created_at: 2020-01-01 00:00:00 Z
  :created_at: 2026-11-20 11:00:00.000000000 +01:00
  :history:
  - :created_at: 2020-01-01 00:00:00 Z
submission_12:
  :submitters:
  - :name: Nobody
    :sid: ''
    :email: nobody@example.org
  :created_at: 2026-11-21 10:00:00.000000000 Z
"""


def test_gradescope_names_the_students_of_a_submission_and_its_time(tmp_path: Path):
    for name in ("submission_11", "submission_12"):
        fill(tmp_path / "in" / name, GOOD)
    (tmp_path / "in" / "submission_metadata.yml").write_text(METADATA)
    students = (Student("ada", email="Ada@example.org"), Student("alan", ids={"SID": "200"}))
    intake = take_in(tmp_path / "in", roster(*students), [DOUBLE], tmp_path / "work")
    assert [one.submitted_at for one in intake.handed_in] == ["2026-11-20T10:00:00Z"] * 2
    assert ["Nobody" in line for line in intake.strangers] == [True]


def test_a_time_that_is_none_is_reported_and_the_others_count(tmp_path: Path):
    fill(tmp_path / "in", {"ada.zip": zipped(GOOD), "alan.zip": zipped(GOOD)})
    (tmp_path / "in" / "submitted.csv").write_text("login;time\nada;soon\nalan;2026-11-20\n")
    intake = take_in(tmp_path / "in", roster(ADA, ALAN), [DOUBLE], tmp_path / "work")
    assert [one.submitted_at for one in intake.handed_in] == ["", "2026-11-20T00:00:00Z"]
    assert "line 2" in intake.problems[0]


EARLY, LATE = "2026-12-01T10:00:00Z", "2026-12-20T10:00:00Z"


def with_times(folder: Path, *lines: str) -> Intake:
    fill(folder / "in", {"ada.zip": zipped(GOOD), "hw-alan.zip": zipped(GOOD)})
    (folder / "in" / "submitted.csv").write_text("\n".join(("login,time", *lines)))
    return take_in(folder / "in", roster(ADA, ALAN), [DOUBLE], folder / "work")


@pytest.mark.parametrize("times", [(EARLY, LATE), (LATE, EARLY)])
def test_of_two_times_of_a_student_the_later_counts_in_either_order(
    times: tuple[str, str], tmp_path: Path
):
    """GitHub lists the newest push first."""
    first, second = times
    intake = with_times(tmp_path, f"ada,{first}", f"Ada,{second}")
    assert intake.handed_in[0].submitted_at == LATE
    assert len(intake.problems) == 1


def test_what_is_said_of_odd_times(tmp_path: Path, snapshot: SnapshotAssertion):
    lines = ("ada,2026-12-01 10:00", f"hw-alan.zip,{EARLY}", f"ada,{LATE}", f"adda,{LATE}")
    intake = with_times(tmp_path, *lines, "alan,2026-12-30", f",{EARLY}", "alan,soon")
    assert "\n".join(intake.problems) == snapshot


def test_a_dangling_link_and_a_pipe_are_faults(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada").symlink_to("nowhere")
    os.mkfifo(tmp_path / "in" / "alan")
    assert all(one.fault for one in taken(tmp_path, ADA, ALAN))


def test_what_is_no_folder_of_submissions_ends_the_command(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    errors = []
    for name in ("missing", "file.zip"):
        (tmp_path / "file.zip").write_bytes(zipped(GOOD))
        with pytest.raises(UsageError) as caught:
            take_in(tmp_path / name, roster(ADA), [DOUBLE], tmp_path / "work")
        errors.append(text_of(caught.value, tmp_path))
    fill(tmp_path / "in", {"submitted.csv": b"who,when\n"})
    with pytest.raises(UsageError) as caught:
        take_in(tmp_path / "in", roster(ADA), [DOUBLE], tmp_path / "work")
    errors.append(text_of(caught.value, tmp_path))
    assert "\n".join(errors) == snapshot


def test_a_folder_that_cannot_be_written_ends_the_command(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    fill(tmp_path / "in", {"ada.zip": zipped(GOOD)})
    (tmp_path / "work").write_text("a file in the way")
    with pytest.raises(CannotGrade) as caught:
        taken(tmp_path, ADA)
    assert text_of(caught.value, tmp_path) == snapshot


# Parts of names: some are logins of the class, some mean something in a path or a format.
PARTS = st.sampled_from(
    [
        *("ada", "ALAN", "x-ada", "é", "-", "_", ".", "..", "\n", "\\", "=", " ", "\udcff"),
        *(".zip", ".py", "_1_2_kernel.py", "_1_assignsubmission_file_", "\u202e"),
    ]
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("".join).filter(lambda n: n not in (".", ".."))
INNER = st.sampled_from([KERNEL, OTHER, f"top/{KERNEL}", "../../out.py", "/tmp/out.py", "a.py"])
PILES = st.lists(
    st.tuples(
        NAMES,
        st.sampled_from(["folder", "zip", "tar", "file", "empty"]),
        st.lists(INNER, max_size=3, unique=True),
    ),
    max_size=6,
    unique_by=lambda entry: entry[0],
)


def hand_in(place: Path, kind: str, inner: list[str]) -> None:
    content = dict.fromkeys(inner, b"# a kernel\n")
    if kind == "folder":
        fill(place, {name: text for name, text in content.items() if name[0] not in "./"})
    elif kind == "empty":
        place.mkdir()
    else:
        packed = {"zip": zipped, "tar": odd_class.tarred}.get(kind)
        place.write_bytes(packed(content) if packed else b"PK\x03\x04junk")


def everything(folder: Path) -> set[tuple[str, bytes]]:
    found = (path for path in folder.rglob("*") if "work" not in path.relative_to(folder).parts[:1])
    return {(str(path), b"" if path.is_dir() else path.read_bytes()) for path in found}


@settings(max_examples=60, deadline=None)
@given(students=st.lists(NAMES, max_size=4, unique_by=login_of), pile=PILES)
def test_for_any_pile_every_student_has_one_record_and_nothing_is_written_outside(
    students: list[str], pile: list[tuple[str, str, list[str]]]
):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for entry, kind, inner in pile:
            hand_in(folder / "in" / entry, kind, inner)
        before = everything(folder)
        people = [
            Student(login, group="g" if n % 3 == 2 else "") for n, login in enumerate(students)
        ]
        intake = take_in(folder / "in", roster(*people), [DOUBLE], folder / "work")
        assert [one.student for one in intake.handed_in] == people
        assert everything(folder) == before
        for one in intake.handed_in:
            assert [bool(one.folder), one.missing, bool(one.fault)].count(True) == 1
            if one.folder is not None:
                assert str(one.folder).isprintable()
                plan([DOUBLE], one.folder)  # raises for a folder that it does not accept
