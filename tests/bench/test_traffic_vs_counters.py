"""bench/traffic_vs_counters.py without a GPU: what it predicts, compares and says."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from grader.course import catalog
from grader.model.results import Result, Traffic, parse_result
from grader.speed import profile
from grader.speed.profile import Profile
from grader.speed.scored_case import bytes_per_row

ROOT = Path(__file__).parents[2]
SOFTMAX = catalog.find(ROOT, "04_online_softmax")
PASSED = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())


def script() -> ModuleType:
    """The script, which no package makes importable."""
    path = ROOT / "bench" / "traffic_vs_counters.py"
    spec = importlib.util.spec_from_file_location("traffic_vs_counters", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


versus = script()
ROWS = -(-versus.LEAST_HELD // bytes_per_row(SOFTMAX.spec))
HALF = ROWS * 65_536 * 4  # bytes of `x`, and of `out`


def counted(**reads_and_writes: tuple[float, float]) -> Result:
    """A result whose traffic step counted this for each argument."""
    traffic = tuple(
        Traffic(argument=name, reads=reads, writes=writes, most_reads=None, most_writes=None)
        for name, (reads, writes) in reads_and_writes.items()
    )
    steps = tuple(
        step.model_copy(update={"traffic": traffic}) if step.name == "traffic" else step
        for step in PASSED.steps
    )
    return PASSED.model_copy(update={"steps": steps})


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Callable[[Profile], list[tuple[object, ...]]]:
    """Lets Nsight Compute find this; returns what it is asked for."""

    def answer(found: Profile) -> list[tuple[object, ...]]:
        asked: list[tuple[object, ...]] = []

        def profiled(*given: object) -> Profile:
            asked.append(given)
            return found

        monkeypatch.setattr(profile, "profiled", profiled)
        return asked

    return answer


def test_predicted_are_the_counts_times_the_bytes():
    result = counted(x=(2.0, 0.0), out=(0.5, 1.0))
    assert versus.predicted(result, {"x": 1000, "out": 10}) == (2005.0, 10.0)


@pytest.mark.parametrize(
    ("off", "ok"), [(0.0, True), (0.0199, True), (-0.0199, True), (0.0201, False), (-0.0201, False)]
)
def test_two_percent_is_the_line(off: float, ok: bool, measure: Callable[..., list]):
    asked = measure(
        Profile(launches=1, dram_read=2 * HALF * (1 + off), dram_written=HALF * (1 + off))
    )
    row = versus.compared(SOFTMAX, counted(x=(2.0, 0.0), out=(0.0, 1.0)))
    assert row["ok"] is ok
    assert row["off"] == pytest.approx(off)
    assert row["off_read"] == pytest.approx(off)
    assert row["predicted"] == {"read": 2 * HALF, "written": HALF}
    assert row["measured"]["written"] == HALF * (1 + off)
    assert row["held_bytes"] == 2 * HALF >= versus.LEAST_HELD
    (given,) = asked
    assert given[:3] == (SOFTMAX.spec, SOFTMAX.solution.read_bytes(), ROWS)


def test_what_was_not_measured_does_not_agree(measure: Callable[..., list]):
    measure(Profile(problem="Nsight Compute is not installed."))
    row = versus.compared(SOFTMAX, counted(x=(2.0, 0.0), out=(0.0, 1.0)))
    assert row == {
        "exercise": "04_online_softmax",
        "rows": ROWS,
        "problem": "Nsight Compute is not installed.",
        "ok": False,
    }


def test_what_was_not_counted_does_not_agree(measure: Callable[..., list]):
    measure(Profile(launches=1, dram_read=1.0, dram_written=1.0))
    row = versus.compared(SOFTMAX, counted())
    assert not row["ok"]
    assert row["problem"] == "the traffic step counted nothing"


@pytest.mark.parametrize("extra", [0.0, 0.05])
def test_the_table_says_whether_the_target_is_met(extra: float, measure: Callable[..., list]):
    measure(Profile(launches=1, dram_read=2 * HALF * (1 + extra), dram_written=HALF * (1 + extra)))
    row = versus.compared(SOFTMAX, counted(x=(2.0, 0.0), out=(0.0, 1.0)))
    missing = {"exercise": "x", "rows": 1, "problem": "no ncu", "ok": False}
    record = {"rows": [row, missing], "target": 0.02, "ok": not extra}
    measured = ("8.000 8.000", "4.000 4.000") if not extra else ("8.000 8.400", "4.000 4.200")
    assert list(versus.table(record)) == [
        f"04_online_softmax       GB read, counted and measured {measured[0]}, "
        f"written {measured[1]}: {extra:+.2%}",
        "x                       no ncu",
        f"within 2%: {'MISSED' if extra else 'ok'}",
    ]


def test_the_kept_record_met_the_target():
    kept = json.loads((ROOT / "bench/results/traffic_vs_counters_h200.json").read_text())
    assert [row["exercise"] for row in kept["rows"]] == list(versus.NAMES)
    assert kept["ok"] is True
    for row in kept["rows"]:
        counted = sum(row["predicted"].values())
        assert abs(sum(row["measured"].values()) / counted - 1) <= 0.002, (
            "docs/measuring.md, Traffic"
        )
        assert row["held_bytes"] >= versus.LEAST_HELD
