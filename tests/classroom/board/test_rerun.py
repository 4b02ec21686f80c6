"""`grader leaderboard verify`: which claims a second look bears out. No kernel runs here."""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from classes import A100, SMALL, TIMED, attempt, read, signed, timed, wrong
from syrupy.assertion import SnapshotAssertion

from grader.classroom.board import rerun
from grader.classroom.board.rerun import Finding, Rerun
from grader.course import catalog
from grader.grading.check import LARGEST_FILE, Request
from grader.grading.plan import with_step
from grader.model.errors import BrokenExercise, CannotGrade
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result
from grader.reports import rerun as text

EXERCISES = with_step(catalog.exercises(SMALL), "speed")


class Kernels:
    """Kernel files of students, and a judge that has its answers for each of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "sources"
        self.folder.mkdir()
        self.claims: list[str] = []
        self.answers: dict[str, list[Result]] = {}
        self.asked: list[list[Request]] = []

    def student(self, name: str, claims: float, *answers: Result, source: bool = True) -> None:
        """One that claims this share, and what the judge says of the kernel in each round."""
        code = f"# {name} MARKER-source\n".encode()
        if source:
            (self.folder / f"{name}.py").write_bytes(code)
        kernel = timed().kernel.model_copy(update={"sha256": hashlib.sha256(code).hexdigest()})
        self.claims.append(signed(attempt(timed(claims, kernel=kernel), student=name)))
        self.answers[name] = list(answers)

    def run(self, requests: Sequence[Request]) -> list[Result]:
        self.asked.append(list(requests))
        return [
            timed(0.9) if request.kernel.name == "kernel.py" else self._answer(request.kernel.stem)
            for request in requests
        ]

    def _answer(self, name: str) -> Result:
        return self.answers[name].pop(0)

    def verify(self, top: int = 3, rounds: int = 1) -> list[Rerun]:
        entries = read(self.folder.parent / "results", *self.claims).entries
        found, _ = rerun.sources(self.folder)
        told = rerun.rerun(EXERCISES, entries, top, found, rounds, self.run)
        assert list(told) == [TIMED]
        return told[TIMED]


@pytest.fixture
def kernels(tmp_path: Path) -> Kernels:
    return Kernels(tmp_path)


def noisy(share: float = 0.9) -> Result:
    return timed(share, kind="noisy")


@pytest.mark.parametrize(
    ("answers", "finding"),
    [
        ([timed(0.90)], Finding.CONFIRMED),
        ([timed(0.99)], Finding.CONFIRMED),
        ([timed(0.885)], Finding.CONFIRMED),  # intervals overlap
        ([timed(0.87)], Finding.CONFIRMED),  # nearer than what nobody can tell
        ([timed(0.85)], Finding.LOWER),
        ([timed(0.85, kind="too_slow")], Finding.LOWER),
        ([timed(0.85, gpu=A100)], Finding.OTHER_GPU),
        ([timed(0.90, gpu=A100)], Finding.CONFIRMED),
        ([wrong()], Finding.WRONG),
        ([timed(1.3, kind="impossible")], Finding.WRONG),
        ([timed(0.9, kind="no_kernel")], Finding.WRONG),
        ([noisy()], Finding.UNMEASURED),
        ([noisy(), timed(0.9), noisy()], Finding.CONFIRMED),
        ([timed(0.9), timed(0.9), wrong()], Finding.WRONG),
        ([timed(0.9), timed(0.5), timed(0.91)], Finding.CONFIRMED),
        ([timed(0.9), timed(0.5), timed(0.51)], Finding.LOWER),
    ],
)
def test_what_becomes_of_a_claim(kernels: Kernels, answers, finding: Finding):
    kernels.student("ada", 0.90, *answers)
    told = kernels.verify(rounds=len(answers))
    assert told[0].finding is finding
    assert told[0].claim.student == "ada"
    assert (told[0].measured is None) == (
        told[0].finding in (Finding.UNMEASURED, Finding.WRONG)
    ) or (finding is Finding.WRONG and len(answers) > 1)
    assert rerun.all_confirmed({TIMED: told}) == (finding is Finding.CONFIRMED)
    assert told[-1].claim is None
    assert told[-1].measured.middle == 0.9


def test_rounds_go_to_and_fro_with_the_solution_among_them(kernels: Kernels):
    kernels.student("ada", 0.95, *[timed(0.95)] * 3)
    kernels.student("bob", 0.90, *[timed(0.90)] * 3)
    kernels.verify(rounds=3)
    names = [[request.kernel.stem for request in requests] for requests in kernels.asked]
    forward = ["ada", "bob", "kernel"]
    assert names == [forward, forward[::-1], forward]
    for request in kernels.asked[0]:
        how = request.options
        assert (how.device, how.hardened, how.require_speed) == ("cuda", True, True)


def test_only_the_leaders_run(kernels: Kernels):
    kernels.student("ada", 0.95, timed(0.95))
    kernels.student("bob", 0.90, timed(0.90))
    told = kernels.verify(top=1)
    assert [one.claim and one.claim.student for one in told] == ["ada", None]


def test_a_source_that_is_missing_is_named_and_confirms_nothing(kernels: Kernels):
    kernels.student("ada", 0.95, source=False)
    kernels.student("bob", 0.90, timed(0.90))
    told = kernels.verify()
    assert [one.finding for one in told] == [Finding.NO_SOURCE, Finding.CONFIRMED, None]
    assert not rerun.all_confirmed({TIMED: told})


def test_nothing_runs_where_no_source_is_there(kernels: Kernels):
    kernels.student("ada", 0.95, source=False)
    assert [one.finding for one in kernels.verify()] == [Finding.NO_SOURCE]
    assert not kernels.asked


def test_a_machine_that_gives_no_figure_cannot_grade(kernels: Kernels, monkeypatch):
    kernels.student("ada", 0.95, noisy())
    monkeypatch.setattr(kernels, "run", lambda requests: [noisy() for _ in requests])
    with pytest.raises(CannotGrade, match=r"No run on this GPU gave a figure.*MARKER-failure"):
        kernels.verify()


def test_a_fault_of_the_exercise_is_not_the_students(kernels: Kernels):
    steps = list(timed().steps)
    steps[1] = steps[1].model_copy(update={"outcome": Outcome.ERROR, "summary": "oops"})
    kernels.student("ada", 0.95, timed(status=Status.ERROR, steps=tuple(steps)))
    with pytest.raises(BrokenExercise, match=f"{TIMED}: correctness: oops"):
        kernels.verify()


def test_sources_are_found_by_content_and_links_are_not_followed(tmp_path: Path):
    inner = tmp_path / "class" / "ada"
    inner.mkdir(parents=True)
    (inner / "kernel.py").write_text("x = 1\n")
    (inner / "notes.txt").write_text("x = 2\n")
    (inner / "link.py").symlink_to(inner / "notes.txt")
    (inner / "huge.py").write_text("#" * (LARGEST_FILE + 1))
    (tmp_path / "again").symlink_to(inner)
    found, problems = rerun.sources(tmp_path)
    assert found == {hashlib.sha256(b"x = 1\n").hexdigest(): inner / "kernel.py"}
    assert sorted(map(str, problems)) == [
        f"{tmp_path / 'again'}: it is a link, and links are not followed",
        f"{inner / 'huge.py'}: it is longer than 1,048,576 bytes, and no kernel is",
        f"{inner / 'link.py'}: it is a link, and links are not followed",
    ]


def test_a_source_that_cannot_be_read_is_named_and_stops_no_other(tmp_path: Path, monkeypatch):
    """It ended the command with PermissionError."""
    for name in ("ada.py", "bob.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    read_bytes = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "ada.py":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    found, problems = rerun.sources(tmp_path)
    assert list(found.values()) == [tmp_path / "bob.py"]
    assert list(map(str, problems)) == [
        f"{tmp_path / 'ada.py'}: it cannot be read: Permission denied"
    ]


def test_the_report_names_the_claim_and_no_source(kernels: Kernels, snapshot: SnapshotAssertion):
    kernels.student("ada", 0.95, timed(0.95))
    kernels.student("bob\n::error::", 0.90, timed(0.5), source=False)
    told = kernels.verify()
    lines = text.lines({TIMED: told})
    assert [re.sub(r"attempt \w+", "attempt ID", line) for line in lines] == snapshot
    assert not any("MARKER-source" in line or "\n" in line for line in lines)
