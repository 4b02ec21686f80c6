"""A class run with a crew that is made up: what becomes of answers, faults and lost workers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from grader.classroom.batch import collect, run, tasks, units
from grader.classroom.batch.crew import Ended
from grader.classroom.batch.run import Batch
from grader.classroom.batch.store import Store
from grader.classroom.intake.records import HandedIn, Intake, Student
from grader.course import catalog, settings
from grader.model import CannotGrade, Cell, ClassRun, Outcome, Result, Status, Step, result_json

COURSE = Path(__file__).parents[2] / "courses/small"
VERSIONS = (("grader", "1+a"), ("python", "3.11"))
H200 = ("GPU-1", "NVIDIA H200", 140 << 30)
H100 = ("GPU-2", "NVIDIA H100", 80 << 30)


def result(
    status: Status = Status.PASS,
    points: int = 5,
    outcome: Outcome = Outcome.PASS,
    started_at: str = "2026-11-26T15:00:00+00:00",
) -> Result:
    return Result(
        schema="grader/result/v1",
        exercise="p01_copy",
        title="Double",
        status=status,
        points=points,
        max_points=5,
        kernel={"path": "/tmp/x/kernel.py", "sha256": "0" * 64},
        environment={"grader": "1", "python": "3.11", "device": "cpu", "simulated": True},
        seed=1,
        started_at=started_at,
        duration_s=1.0,
        steps=(
            Step(
                name="correctness",
                outcome=outcome,
                points=points,
                max_points=5,
                summary="said",
                duration_s=1.0,
            ),
        ),
    )


def answer(one: Result | None = None, fault: str = "", measure: bool = False) -> str:
    said: dict = {"log": "printed", "seconds": 1.0}
    if one is None:
        return json.dumps(said | {"fault": fault or "the judge ended"})
    return json.dumps(said | {"result": json.loads(result_json(one)), "measure": measure})


Grade = Callable[[str, dict], str | None]


@dataclass
class Made:
    """A crew that answers at once; `grade` gets the worker and the job, and None kills it."""

    grade: Grade
    names: list[str] = field(default_factory=lambda: ["a", "b"])
    gpus: tuple = ()
    probes: dict[str, dict] = field(default_factory=dict)
    began: list[tuple[str, str]] = field(default_factory=list)
    waiting: list[Ended] = field(default_factory=list)
    rules: dict = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)  # names of workers that never answer a probe
    asked: list[str] = field(default_factory=list)
    remembered: list[tuple[str, ...]] = field(default_factory=list)
    of_contents: dict[bytes, str] = field(default_factory=dict)  # answers about these files

    def workers(self) -> dict[str, str]:
        return {f"tcp://{name}": name for name in self.names}

    def call(self, workers: Iterable[str], work, *arguments, limit_s: float) -> dict[str, str]:
        said = {
            "host": "here",
            "gpus": self.gpus,
            "versions": dict(VERSIONS),
            "rules": self.rules,
            "time": time.time(),
            "fault": "",
        }
        asked = list(workers)
        self.asked += asked
        return {
            at: json.dumps(said | self.probes.get(at[6:], {}))
            for at in asked
            if at[6:] not in self.silent
        }

    def begin(self, worker: str, work, *arguments) -> None:
        if work is tasks.close:
            self.began.append((worker, "close"))
            self.waiting.append(Ended(worker, "{}"))
            return
        job = json.loads(arguments[0])
        self.began.append((worker, job["part"]))
        text = self.of_contents.get(arguments[1]) or self.grade(worker, job)
        if text is None:
            self.names.remove(worker[6:])
        else:
            self.waiting.append(Ended(worker, text))

    def forget(self, worker: str) -> None:
        pass

    def ended(self, limit_s: float) -> list[Ended]:
        found, self.waiting = self.waiting, []
        return found


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs a class: a kernel for each student, and a crew."""
    monkeypatch.setattr(run, "LOOK_S", 0.0)
    monkeypatch.setattr(run, "NOBODY_S", 0.2)
    exercises = [catalog.find(COURSE, "p01_copy")]
    rules = units.rules_of_all(exercises)

    def graded(
        kernels: dict[str, str], crew: Made, device: str = "auto", again: bool = False
    ) -> tuple[ClassRun, list]:
        handed_in = []
        for login, text in kernels.items():
            folder = tmp_path / "subs" / login
            place = folder / exercises[0].folder.relative_to(COURSE)
            place.mkdir(parents=True, exist_ok=True)
            (place / "kernel.py").write_text(text, encoding="utf-8")
            handed_in.append(HandedIn(Student(login), folder, login, ""))
        plan = collect.plan(
            Intake(tuple(handed_in), (), ()),
            exercises,
            settings.read(COURSE),
            rules,
            VERSIONS,
            hardened=True,
        )
        said: list[str] = []
        crew.rules = rules
        store = Store(tmp_path / "out")
        with store.open():
            one = Batch(
                plan=plan,
                root=COURSE,
                rules=rules,
                versions=VERSIONS,
                device=device,
                store=store,
                crew=crew,
                say=said.append,
                watch=lambda state: None,
                remember=crew.remembered.append,
                chosen=frozenset(plan.units),
                again=again,
            )
            try:
                one.run()
            except CannotGrade as error:
                said.append(error.message)
        said += [" ".join(kept) for kept in collect.kept(plan, one.found)]
        return collect.record(plan, one.found, "2026-11-26T15:00:00+00:00", True), said

    return graded


def cells(record: ClassRun) -> dict[str, Cell]:
    return {row.student: row.cells[0] for row in record.rows}


def test_equal_files_are_graded_once_and_count_for_all(batch):
    crew = Made(lambda worker, job: answer(result()))
    record, _ = batch({"ada": "a = 1\n", "bob": "a = 1\n", "cyd": "a = 2\n"}, crew)
    assert [part for _, part in crew.began] == ["whole", "whole"]
    assert [cell.points for cell in cells(record).values()] == [5, 5, 5]
    assert len({cell.attempt for cell in cells(record).values()}) == 3


def test_what_was_graded_is_not_graded_again(batch):
    record, _ = batch({"ada": "a = 1\n"}, Made(lambda worker, job: answer(result(points=4))))
    crew = Made(lambda worker, job: answer(result(points=5)))
    again, said = batch({"ada": "a = 1\n", "bob": "b = 2\n"}, crew)
    assert len(crew.began) == 1
    assert (cells(again)["ada"].points, cells(again)["bob"].points) == (4, 5)
    assert cells(again)["ada"].attempt == cells(record)["ada"].attempt
    assert "1 of 2 kernels have a result already" in said


def test_a_fault_of_a_machine_is_tried_on_another_worker(batch):
    crew = Made(lambda worker, job: answer() if worker == "tcp://a" else answer(result()))
    record, _ = batch({"ada": "a = 1\n"}, crew)
    assert crew.began == [("tcp://a", "whole"), ("tcp://b", "whole")]
    assert cells(record)["ada"].points == 5


@pytest.mark.parametrize(
    "text",
    [answer(fault="the GPU is gone"), answer(result(Status.CANNOT_GRADE)), "no JSON", "{}"],
    ids=["fault", "cannot grade", "no JSON", "no answer"],
)
def test_a_fault_that_stays_is_no_zero(batch, text: str):
    crew = Made(lambda worker, job: text)
    record, _ = batch({"ada": "a = 1\n"}, crew)
    cell = cells(record)["ada"]
    assert (cell.standing, cell.points) == ("not_graded", None)
    assert cell.why
    assert len(crew.began) == 3
    # It is not kept, so that --resume tries it again.
    record, _ = batch({"ada": "a = 1\n"}, Made(lambda worker, job: answer(result())))
    assert cells(record)["ada"].points == 5


@pytest.mark.parametrize("again", [answer(fault="no memory"), answer(result(Status.ERROR))])
def test_a_regrade_that_cannot_grade_keeps_the_earlier_points_and_says_so(batch, again: str):
    """It said that no points had changed, as if it had graded."""
    kernels = {"ada": "a = 1\n", "bob": "b = 1\n"}
    before, _ = batch(kernels, Made(lambda worker, job: answer(result(points=3))))
    crew = Made(lambda worker, job: answer(result(points=4)))
    crew.of_contents[b"a = 1\n"] = again
    record, said = batch(kernels, crew, again=True)
    assert cells(record)["ada"] == cells(before)["ada"]
    assert cells(record)["bob"].points == 4
    assert said[-1].startswith("ada p01_copy could not be graded again; its earlier points stay: ")


def test_a_worker_that_vanishes_loses_nothing(batch):
    crew = Made(lambda worker, job: None if worker == "tcp://a" else answer(result()))
    record, said = batch({"ada": "a = 1\n", "bob": "b = 1\n"}, crew)
    assert [cell.points for cell in cells(record).values()] == [5, 5]
    assert "the worker a is gone" in said


def test_without_any_worker_the_rest_is_not_graded(batch):
    crew = Made(lambda worker, job: None)
    record, said = batch({"ada": "a = 1\n", "bob": "b = 1\n"}, crew)
    assert {cell.standing for cell in cells(record).values()} == {"not_graded"}
    assert said[-1] == "No worker is left."


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        (
            {"versions": dict(VERSIONS) | {"python": "3.13"}},
            "its python is 3.13, and here it is 3.11",
        ),
        ({"versions": {"python": "3.11"}}, "its grader is missing, and here it is 1+a."),
        ({"versions": dict(VERSIONS) | {"grader": "1+b"}}, "its grader 1 has other files"),
        ({"rules": {}}, "its files of p01_copy differ from those here"),
        ({"ahead_s": 3600}, "its clock is 60 min ahead of this machine's"),
        ({"fault": "There is no course here."}, "There is no course here."),
    ],
    ids=["version", "missing", "build", "course", "clock", "fault"],
)
def test_a_worker_that_would_grade_differently_is_refused_by_name(batch, probe: dict, why: str):
    ahead = {"time": time.time() + probe["ahead_s"]} if "ahead_s" in probe else {}
    crew = Made(lambda worker, job: answer(result()), probes={"a": probe | ahead})
    record, said = batch({"ada": "a = 1\n", "bob": "b = 1\n"}, crew)
    assert {worker for worker, _ in crew.began} == {"tcp://b"}
    (refused,) = [text for text in said if "refused" in text]
    assert refused.startswith("The worker a (tcp://a) on here is refused: ")
    assert why.lower() in refused.lower()
    assert [cell.points for cell in cells(record).values()] == [5, 5]


def test_a_worker_that_does_not_answer_is_asked_twice_and_named(batch):
    """Each look asked it again, and waited for it each time."""
    crew = Made(lambda worker, job: answer(result()), silent={"a"})
    record, said = batch({"ada": "a = 1\n", "bob": "b = 1\n", "eve": "e = 1\n"}, crew)
    assert crew.asked == ["tcp://a", "tcp://b", "tcp://a"]
    (named,) = [text for text in said if text.startswith("The worker a (tcp://a) did not answer")]
    assert "read its log" in named
    assert [cell.points for cell in cells(record).values()] == [5, 5, 5]


def test_a_worker_whose_first_import_is_slow_takes_part(batch):
    crew = Made(lambda worker, job: answer(result()), silent={"a"})
    grade = crew.grade

    def awake(worker: str, job: dict) -> str | None:
        crew.silent.clear()
        return grade(worker, job)

    crew.grade = awake
    _, said = batch({name: f"{name} = 1\n" for name in ("ada", "bob", "eve", "zoe")}, crew)
    assert {worker for worker, _ in crew.began} == {"tcp://a", "tcp://b"}
    assert not [text for text in said if "did not answer" in text]


def later(crew: Made, name: str) -> Made:
    """Have a worker join a crew when its first job begins."""
    grade = crew.grade

    def joined(worker: str, job: dict) -> str | None:
        crew.names = sorted({*crew.names, name})
        return grade(worker, job)

    crew.grade = joined
    return crew


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_a_gpu_that_comes_to_a_simulated_run_is_refused(batch, device: str):
    """It simulated, too, and nobody heard that no GPU graded."""
    crew = Made(lambda worker, job: answer(result()), ["a"], probes={"g": {"gpus": [H200]}})
    kernels = {login: f"a = '{login}'\n" for login in ("ada", "bob", "cyd", "dan")}
    _, said = batch(kernels, later(crew, "g"), device)
    refused = [text for text in said if text.startswith("The worker g (tcp://g) on here is ref")]
    assert len(refused) == (device == "auto")
    assert (("tcp://g", "whole") in crew.began) == (device == "cpu")


def test_a_gpu_model_that_comes_later_brings_its_results(batch):
    """An interruption hid them, and each was graded again."""
    kernels = {login: f"a = '{login}'\n" for login in ("ada", "bob", "cyd")}
    batch(kernels, Made(lambda worker, job: answer(result(points=2)), gpus=[H100]))
    both = {"a": {"gpus": [H200]}, "b": {"gpus": [H100]}}
    crew = later(Made(lambda worker, job: answer(result(points=5)), ["a"], probes=both), "b")
    record, said = batch(kernels, crew)
    assert [worker for worker, _ in crew.began] == ["tcp://a"]
    assert sorted(cell.points for cell in cells(record).values()) == [2, 2, 5]
    assert "2 of 3 kernels have a result already" in said
    assert crew.remembered == [("NVIDIA H200",), ("NVIDIA H100", "NVIDIA H200")]


def test_on_a_gpu_a_kernel_is_measured_in_a_second_part(batch):
    def grade(worker: str, job: dict) -> str:
        assert job["gpu"] == "GPU-1"
        if job["part"] == "first":
            return answer(result(Status.UNFINISHED), measure=True)
        assert json.loads(job["first"])["status"] == "unfinished"
        return answer(result())

    crew = Made(grade, gpus=[H200])
    record, said = batch({"ada": "a = 1\n"}, crew)
    assert [part for _, part in crew.began] == ["first", "second"]
    assert cells(record)["ada"].points == 5
    assert "grading with 2 workers on 1 GPU (NVIDIA H200)" in said


def test_a_result_of_one_gpu_model_is_none_of_another(batch):
    crew = Made(lambda worker, job: answer(result()), gpus=[H200])
    batch({"ada": "a = 1\n"}, crew)
    other = Made(lambda worker, job: answer(result()), gpus=[H100])
    batch({"ada": "a = 1\n"}, other)
    assert len(crew.began) == len(other.began) == 1


def test_a_regrade_by_another_gpu_model_stays(batch):
    """Its points were those of the first model again after a --resume that graded nothing."""
    batch({"ada": "a = 1\n"}, Made(lambda worker, job: answer(result(points=1)), gpus=[H100]))

    def by_the_other(worker: str, job: dict) -> str:
        if worker == "tcp://a":
            return answer(fault="no memory")
        return answer(result(points=5, started_at="2026-11-27T15:00:00+00:00"))

    both = {"a": {"gpus": [H100]}, "b": {"gpus": [H200]}}
    record, _ = batch({"ada": "a = 1\n"}, Made(by_the_other, probes=both), again=True)
    assert cells(record)["ada"].points == 5
    crew = Made(by_the_other, probes=both)
    record, _ = batch({"ada": "a = 1\n"}, crew)
    assert not crew.began
    assert cells(record)["ada"].points == 5


def test_a_result_of_a_cpu_does_not_stand_for_one_of_a_gpu(batch):
    batch({"ada": "a = 1\n"}, Made(lambda worker, job: answer(result())))
    crew = Made(lambda worker, job: answer(fault="no memory"), gpus=[H200])
    record, _ = batch({"ada": "a = 1\n"}, crew)
    assert cells(record)["ada"].standing == "not_graded"


def test_where_a_gpu_is_asked_for_and_none_is_there_nothing_is_graded(batch):
    crew = Made(lambda worker, job: answer(result()))
    _, said = batch({"ada": "a = 1\n"}, crew, device="cuda")
    assert said == ["No worker has a GPU."]


def test_a_scheduler_that_vanishes_ends_the_run_and_loses_nothing(batch):
    crew = Made(lambda worker, job: answer(result()), names=["a"])
    seen = crew.workers()

    def gone() -> dict[str, str]:
        if len(crew.began) < 2:
            return seen
        raise CannotGrade("The scheduler of the cluster is gone.")

    crew.workers = gone
    record, said = batch({"ada": "a = 1\n", "bob": "b = 1\n", "cyd": "c = 1\n"}, crew)
    assert said[-1] == "The scheduler of the cluster is gone."
    points = sorted(str(cell.points) for cell in cells(record).values())
    assert points.count("5") >= 1
    again = Made(lambda worker, job: answer(result()))
    record, _ = batch({"ada": "a = 1\n", "bob": "b = 1\n", "cyd": "c = 1\n"}, again)
    assert len(again.began) == points.count("None")
    assert [cell.points for cell in cells(record).values()] == [5, 5, 5]


def test_one_reason_is_said_a_few_times_and_logged_each_time(batch, tmp_path: Path):
    kernels = {f"s{number}": f"a = {number}\n" for number in range(9)}
    _, said = batch(kernels, Made(lambda worker, job: answer(fault="no memory")))
    assert len([text for text in said if "no memory" in text]) == run.MOST_SAID
    logs = [path.read_text(encoding="utf-8") for path in (tmp_path / "out/logs").iterdir()]
    assert [text.count("no memory") for text in logs] == [3] * 9
    assert all("| printed" in text for text in logs)
