"""bench/accuracy.py without a GPU: other bounds, what lies gain, and records that go on."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.trials import try_case
from grader.model.cases import Case
from grader.sandbox.fork_servers import ForkServers

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "tests" / "courses" / "bounds"
EXERCISES = {exercise.name: exercise for exercise in catalog.exercises(COURSE)}
GPU = {"device": "a GPU"}


def script() -> ModuleType:
    """The script, which no package makes importable, nor what lies beside it."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        spec = importlib.util.spec_from_file_location("accuracy", ROOT / "bench" / "accuracy.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "bench"))


accuracy = script()
other = accuracy.accuracy_bounds
LIARS = other.every_liar()
PAIRS = [(liar, name) for liar in LIARS for name in liar.below]


class Gpu:
    """Answers for the fresh processes: shares by exercise, by the judge and by plain events."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **shares: float) -> None:
        self.shares = {f"0{place}": share for place, share in enumerate(shares.values(), start=1)}
        self.lie, self.asked, self.environment = 1.0, [], GPU
        monkeypatch.setattr(other, "graded", self.graded)
        monkeypatch.setattr(other, "graded_text", self.graded_text)
        monkeypatch.setattr(other, "by_events", lambda *arguments: self.plain(*arguments))

    def graded(self, name: str, kernel: Path, course: Path) -> dict[str, Any]:
        self.asked.append(name)
        share = self.shares[name[:2]]
        speed = {"share": share, "raised": 1.0, "rate": share, "reference_rate": 1.0}
        told = {"outcome": "pass", "failure": None, "message": None, "duration_s": 5.0}
        return told | {"sized": [[7, 16]], "speed": speed, "environment": self.environment}

    def graded_text(self, name: str, text: str, course: Path) -> dict[str, Any]:
        assert text.startswith(EXERCISES[name].solution.read_text())
        step = self.graded(name, Path(), course)
        step["speed"]["share"] *= self.lie
        return step

    def plain(self, what: str, exercise: str, step: dict[str, Any], course: Path) -> dict[str, Any]:
        assert (what, step["sized"], course) == ("bound", [[7, 16]], COURSE)
        return {"share": self.shares[exercise[:2]], "rate": 1.0, "reference_rate": 1.0}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    return Gpu(monkeypatch, polynomial=1.2, rms=0.98, product=0.7, one_row=0.6)


def record(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out.read_text())
    return found


# -- shares, and runs


@pytest.fixture
def bandwidths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answers for the course itself; returns who was graded. Published is what events say."""
    asked: list[str] = []

    def graded(name: str, kernel: Path) -> dict[str, Any]:
        asked.append(name)
        speed = {"share": 0.9, "raised": 1.0, "bandwidth_gbps": 4000.0}
        told = {"outcome": "pass", "duration_s": 5.0, "environment": GPU, "sized": [[7, 16]]}
        return told | {"speed": None if name.startswith("02") else speed}

    monkeypatch.setattr(accuracy, "graded", graded)
    monkeypatch.setattr(accuracy, "by_events", lambda *arguments: {"gbps": 4000.0})
    return asked


def test_bandwidths_go_on_where_the_time_was_over(bandwidths: list[str], tmp_path: Path):
    """All of the course take longer than a machine may be held; a lost record was the whole run."""
    asked = ["--only", "events", "--resume", "--out", str(tmp_path / "out.json")]
    assert accuracy.main([*asked, "--seconds", "0"]) == 1
    part = record(tmp_path / "out.json")["events"]
    assert (part["rows"], bandwidths) == ([], [])
    assert "01_vector_add: events" in part["left"]
    assert not [name for name in part["left"] if name.startswith(("16", "18"))]  # by other parts
    assert accuracy.main(asked) == 1  # 02 has no speed
    part = record(tmp_path / "out.json")["events"]
    assert (part["left"], len(set(bandwidths))) == ([], len(part["rows"]))
    assert {row["off"] for row in part["rows"]} == {0.0, None}


def test_shares_by_plain_events_hold_for_each_bound(gpu: Gpu, tmp_path: Path):
    assert accuracy.main(["--only", "bounds", "--out", str(tmp_path / "out.json")]) == 0
    part = record(tmp_path / "out.json")["bounds"]
    assert {row["bound"] for row in part["rows"]} == {"arithmetic", "reference", "latency"}
    assert [row["off"] for row in part["rows"]] == pytest.approx([0.0] * 4)


@pytest.mark.parametrize(
    ("exercise", "off", "code"),
    [
        ("03_product", 0.011, 1),
        ("03_product", 0.009, 0),
        # A latency has four times the leeway.
        ("04_one_row", 0.039, 0),
        ("04_one_row", -0.041, 1),
    ],
)
def test_a_share_that_is_off_makes_the_exit_code(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, exercise: str, off: float, code: int
):
    share = gpu.shares[exercise[:2]] / (1 + off)
    plain = {"share": share, "rate": 1.0, "reference_rate": 1.0}
    monkeypatch.setattr(gpu, "plain", lambda *given: plain)
    assert accuracy.main(["--only", "bounds", "--exercise", exercise]) == code


@pytest.mark.parametrize(
    ("bound", "apart", "ok"),
    [
        ("reference", 0.009, True),
        ("reference", 0.02, False),
        ("latency", 0.1, True),
        ("latency", 0.12, False),
    ],
)
def test_runs_may_differ_as_much_as_their_intervals_allow(bound: str, apart: float, ok: bool):
    rows = [
        {"exercise": "one", "bound": bound, "share": share, "outcome": "pass"}
        for share in (1 - apart / 2, 1.0, 1 + apart / 2)
    ]
    assert other.spreads(rows)["one"]["ok"] is ok


def test_a_solution_without_a_share_is_a_missed_target(gpu: Gpu, monkeypatch: pytest.MonkeyPatch):
    """A step that failed by its first call has no speed at all."""
    step = {"outcome": "fail", "failure": "too_slow", "message": "", "speed": None}
    step |= {"duration_s": 1.0, "sized": [[7, 16]]}
    by_events = gpu.plain("bound", "02_rms", step, COURSE)
    row = other.bound_row(EXERCISES["02_rms"], step, by_events)
    assert (row["share"], row["off"]) == (None, None)
    part = {"rows": [row], "left": []}
    assert "no share" in next(other.bound_lines(part))
    found = other.in_turn(
        other.Plan(done=part), [], lambda row: row["exercise"], lambda key: None, lambda rows: False
    )
    assert [part["ok"] for part, _ in found] == [False]


def test_plain_events_time_the_size_that_the_step_timed(monkeypatch: pytest.MonkeyPatch):
    """Each had chosen its own number of rows: the share of a compiled function was 1.6 % off."""
    asked: list[str] = []
    runs = sys.modules[other.by_events.__module__]
    monkeypatch.setattr(runs, "fresh", lambda *arguments: asked.extend(arguments) or {})
    runs.by_events("plain", "01_rms", {"sized": [[100, 16], [7, 64]]}, COURSE, place=1)
    assert asked == [
        *("--course", str(COURSE), "--plain", "01_rms"),
        *("--place", "1", "--sized", "7", "64"),
    ]


def test_runs_that_differ_too_much_are_missed(gpu: Gpu, tmp_path: Path):
    out = tmp_path / "out.json"
    asked = ["--only", "bound_repeats", "--exercise", "02_rms", "--out", str(out)]
    assert accuracy.main([*asked, "--runs", "3"]) == 0
    assert record(out)["bound_repeats"]["spreads"]["02_rms"]["runs"] == 3
    gpu.shares["02"] *= 1.02
    assert accuracy.main([*asked, "--runs", "4", "--resume"]) == 1
    found = record(out)["bound_repeats"]["spreads"]["02_rms"]
    assert (found["runs"], found["ok"]) == (4, False)
    assert found["spread"] == pytest.approx(0.02)


# -- records that go on


def test_a_record_goes_on_where_the_time_was_over(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """A machine is lent for minutes; thirty runs of four exercises take an hour."""
    out = tmp_path / "out.json"
    looks = iter(range(1000))
    clock = SimpleNamespace(monotonic=lambda: float(next(looks)))
    monkeypatch.setattr(accuracy, "time", clock)
    monkeypatch.setattr(other, "time", clock)
    asked = ["--only", "bound_repeats", "--runs", "3", "--out", str(out), "--resume"]
    assert accuracy.main([*asked, "--seconds", "6"]) == 1  # what is left is no success
    part = record(out)["bound_repeats"]
    assert len(part["rows"]) == len(gpu.asked) == 5
    assert (len(part["left"]), part["ok"]) == (7, False)
    assert accuracy.main(asked) == 0
    part = record(out)["bound_repeats"]
    assert (len(part["rows"]), len(gpu.asked), part["left"]) == (12, 12, [])
    assert len(part["durations_s"]) == 12
    assert {(row["exercise"], row["run"]) for row in part["rows"]} == {
        (name, number) for name in EXERCISES for number in range(3)
    }


def test_a_record_of_another_machine_does_not_go_on(
    gpu: Gpu, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out.json"
    asked = ["--only", "bound_repeats", "--exercise", "02_rms", "--out", str(out), "--resume"]
    assert accuracy.main([*asked, "--runs", "1"]) == 0
    before = out.read_text()
    gpu.environment = {"device": "another"}
    assert accuracy.main([*asked, "--runs", "2"]) == 1
    assert "another machine" in capsys.readouterr().err
    assert out.read_text() == before


# -- liars


@pytest.mark.parametrize(("lie", "code"), [(1.019, 0), (1.021, 1), (0.5, 0)])
def test_a_lie_that_gains_more_than_2_percent_makes_the_exit_code(gpu: Gpu, lie: float, code: int):
    gpu.lie = lie
    assert accuracy.main(["--only", "bound_liars", "--exercise", "03_product"]) == code


def test_a_liar_that_is_listed_as_not_defended_may_gain(gpu: Gpu, tmp_path: Path):
    """It stays in the record with its gain."""
    row = {"caught": None, "gain": 3.0, "passes": "nothing stops it", "bound": "arithmetic"}
    assert other.gain_little([row])
    assert not other.gain_little([row | {"passes": None}])
    assert not other.gain_little([row | {"passes": None, "gain": None}])  # nor caught: no evidence


@pytest.mark.parametrize(
    ("bound", "gain", "little"),
    [
        ("arithmetic", 0.02, True),
        ("arithmetic", 0.021, False),
        ("latency", 0.06, True),
        ("latency", 0.061, False),
    ],
)
def test_a_gain_within_what_reruns_differ_shows_nothing(bound: str, gain: float, little: bool):
    row = {"caught": None, "gain": gain, "passes": None, "bound": bound}
    assert other.gain_little([row]) is little


def test_a_judge_that_ends_gives_no_liar_a_pass(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def ends(*_: object) -> None:
        raise other.Ended("no memory is left")

    monkeypatch.setattr(other, "graded_text", ends)
    out = tmp_path / "out.json"
    asked = ["--only", "bound_liars", "--exercise", "02_rms", "--out", str(out)]
    assert accuracy.main(asked) == 0
    rows = record(out)["bound_liars"]["rows"]
    assert {(row["caught"], row["gain"]) for row in rows} == {("ended", None)}
    assert gpu.asked == ["02_rms"]  # once for all liars


def test_each_other_bound_has_its_liars():
    """A slowed reference, a forged one, and lies about time."""
    bounds = {EXERCISES[name].spec.scored.bound for liar in LIARS for name in liar.below}
    assert bounds == {"arithmetic", "reference", "latency"}
    for name in ("02_rms", "03_product", "04_one_row"):
        assert sum(name in liar.below for liar in LIARS) >= 6
    named = [name for liar in LIARS for name in liar.below]
    assert set(named) <= EXERCISES.keys()


@pytest.mark.parametrize(
    "text",
    [
        "# below: 02_rms\n",
        '"""Lies."""\n',
        '"""Lies."""\n# passes: so\n',
        '"""Lies."""\n# passes: so\n# below: 02_rms\n',
    ],
)
def test_a_liar_that_does_not_say_what_it_is_put_below_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "liar.py"
    path.write_text(text + "x = 1\n")
    with pytest.raises(other.BadHeader, match=r"liar\.py"):
        other.liar_of(path)


def test_a_remark_of_a_liar_may_take_two_lines(tmp_path: Path):
    path = tmp_path / "liar.py"
    path.write_text(
        '"""Lies."""\n# below: 02_rms 03_product\n# passes: nobody\n#   looks\n\nx = 1\n'
    )
    found = other.liar_of(path)
    assert (found.below, found.passes) == (("02_rms", "03_product"), "nobody looks")


@pytest.fixture(scope="module")
def servers() -> Iterator[ForkServers]:
    made = ForkServers()
    yield made
    made.close()


def graded(servers: ForkServers, exercise: Exercise, kernel: Path) -> Grading:
    return Grading(exercise, kernel, Options(seed=1, device="cpu"), servers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("liar", "name"), PAIRS, ids=[f"{liar.path.stem}-{name}" for liar, name in PAIRS]
)
def test_a_liar_computes_what_its_solution_does(
    servers: ForkServers, tmp_path: Path, liar: object, name: str
):
    """A trick that breaks the kernel would seem to be caught."""
    exercise, kernel = EXERCISES[name], tmp_path / "kernel.py"
    kernel.write_text(liar.text(exercise))
    grading = graded(servers, exercise, kernel)
    try:
        shape = (64,) * len(exercise.spec.counted.shape)
        case = replace(exercise.spec.counted, shape=shape)
        assert isinstance(case, Case)
        assert try_case(grading, case) is None
    finally:
        grading.close()
