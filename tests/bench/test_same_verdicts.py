"""bench/same_verdicts.py without a GPU: what it takes for the same verdict."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

from grader.course import catalog
from grader.model.errors import UsageError
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, Step, parse_result

ROOT = Path(__file__).parents[2]
STEPS = ("load", "memory", "speed")
INTERRUPTED = {"status": Status.INTERRUPTED}
PASSED = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script, which no package makes importable, nor what lies beside it."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        spec = importlib.util.spec_from_file_location(
            "same_verdicts", ROOT / "bench" / "same_verdicts.py"
        )
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "bench"))


def ended(**outcomes: Outcome) -> Result:
    steps = tuple(
        Step(
            name=name,
            outcome=outcome,
            points=0,
            max_points=1,
            summary="",
            duration_s=0.0,
            failure=Failure(kind="value", message="why") if outcome is Outcome.FAIL else None,
        )
        for name, outcome in outcomes.items()
    )
    return PASSED.model_copy(update={"steps": steps})


@pytest.mark.parametrize(
    ("result", "fate", "step"),
    [
        (ended(load=Outcome.PASS, memory=Outcome.PASS, speed=Outcome.SKIP), "pass", None),
        (ended(load=Outcome.FAIL, memory=Outcome.NOT_RUN), "rejected", "load"),
        (ended(load=Outcome.PASS, memory=Outcome.FAIL), "rejected", "memory"),
        (ended(load=Outcome.CANNOT_GRADE), "undecided", "load"),
        (ended(load=Outcome.PASS, memory=Outcome.PASS), "undecided", None),
        (ended(), "undecided", None),
        (
            ended(load=Outcome.PASS, memory=Outcome.PASS, speed=Outcome.SKIP).model_copy(
                update=INTERRUPTED
            ),
            *("undecided", None),
        ),
    ],
    ids=["passed", "wrong", "last", "not simulated", "cut short", "no step at all", "interrupted"],
)
def test_a_verdict_is_that_of_the_first_step_that_did_not_pass(
    script: ModuleType, result: Result, fate: str, step: str | None
) -> None:
    found = script.verdict(result, STEPS)
    assert (found.fate, found.step) == (fate, step)


def test_a_step_that_was_left_out_on_purpose_decides_nothing(script: ModuleType) -> None:
    result = ended(load=Outcome.PASS, memory=Outcome.SKIP, speed=Outcome.SKIP)
    assert script.verdict(result, STEPS, ("memory",)).fate == "pass"
    assert script.verdict(result, STEPS).fate == "undecided"


@pytest.mark.parametrize(
    ("simulated", "alone", "waits"),
    [("memory", False, True), ("memory", True, False), ("traffic", False, False)],
)
def test_what_simulation_rejects_for_its_memory_waits_for_the_gpu(
    script: ModuleType, simulated: str, alone: bool, waits: bool
) -> None:
    """The GPU passes it while its memory step is left out: that is no difference yet."""
    rejected = script.Verdict("rejected", simulated)
    assert script.waits(rejected, script.Verdict("pass"), alone) is waits


@pytest.mark.parametrize(
    ("simulated", "gpu", "may_be_lucky", "expected"),
    [
        ("pass", "pass", False, "same"),
        ("rejected", "rejected", False, "same"),
        ("rejected", "pass", True, "by luck"),
        ("rejected", "pass", False, "different"),
        ("pass", "rejected", True, "different"),
        ("undecided", "pass", True, "undecided"),
    ],
)
def test_two_verdicts(
    script: ModuleType, simulated: str, gpu: str, may_be_lucky: bool, expected: str
) -> None:
    found = script.compared(script.Verdict(simulated), script.Verdict(gpu), may_be_lucky)
    assert found == expected


def test_a_record_of_other_devices_is_not_gone_on_with(script: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    out.write_text(json.dumps({"devices": ["cpu", "cuda"], "kernels": [{"kernel": "a.py"}]}))
    assert script.recorded(out, ["cpu", "cuda"]) == {"a.py": {"kernel": "a.py"}}
    with pytest.raises(UsageError, match="compares cpu and cuda"):
        script.recorded(out, ["cpu", "cpu"])


@pytest.mark.parametrize(
    ("change", "settled"),
    [
        ({}, True),
        ({"sum": "undecided"}, False),
        ({"sum": "undecided", "gpu": "waits"}, True),
        ({"fingerprint": "of another file"}, False),
    ],
    ids=["as it is", "undecided", "memory is still to be measured", "changed"],
)
def test_a_run_goes_on_where_it_ended(
    script: ModuleType, change: dict[str, str], settled: bool
) -> None:
    exercise = catalog.find(ROOT, "p01_map")
    gpu = script.NOT_YET if change.get("gpu") == "waits" else script.Verdict("pass")
    row = {"sum": "same", "fingerprint": script.fingerprint(exercise, exercise.solution)}
    row = row | change | {"gpu": asdict(gpu)}
    assert script.is_settled(row, exercise, exercise.solution) is settled
    assert not script.is_settled(None, exercise, exercise.solution)
