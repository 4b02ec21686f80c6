"""bench/same_verdicts.py without a GPU: what it takes for the same verdict."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from grader.course import catalog
from grader.model.errors import UsageError
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, Step, parse_result

ROOT = Path(__file__).parents[2]
UNFINISHED = {"status": Status.UNFINISHED}
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
        (ended(load=Outcome.PASS, speed=Outcome.SKIP), "pass", None),
        (ended(correctness=Outcome.FAIL, traffic=Outcome.NOT_RUN), "rejected", "correctness"),
        (ended(correctness=Outcome.PASS, compile=Outcome.FAIL), "rejected", "compile"),
        (ended(correctness=Outcome.CANNOT_GRADE), "undecided", "correctness"),
        (ended(load=Outcome.PASS).model_copy(update=UNFINISHED), "undecided", None),
        (ended().model_copy(update=UNFINISHED), "undecided", None),
    ],
    ids=["passed", "wrong", "does not compile", "not simulated", "cut short", "no step at all"],
)
def test_a_verdict_is_that_of_the_first_step_that_did_not_pass(
    script: ModuleType, result: Result, fate: str, step: str | None
) -> None:
    found = script.verdict(result)
    assert (found.fate, found.step) == (fate, step)


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
    [({}, True), ({"sum": "undecided"}, False), ({"fingerprint": "of another file"}, False)],
    ids=["as it is", "undecided", "changed"],
)
def test_a_run_goes_on_where_it_ended(
    script: ModuleType, change: dict[str, str], settled: bool
) -> None:
    exercise = catalog.find(ROOT, "p01_map")
    row = {"sum": "same", "fingerprint": script.fingerprint(exercise, exercise.solution)}
    assert script.is_settled(row | change, exercise, exercise.solution) is settled
    assert not script.is_settled(None, exercise, exercise.solution)
