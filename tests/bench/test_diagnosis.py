"""bench/diagnosis.py on made-up reports: which line and which cause count."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from mistakes_table import Row

from grader.authoring.mutants import Mutant
from grader.model.outcomes import Outcome
from grader.model.results import Failure, Frame, Result, parse_result

ROOT = Path(__file__).parents[2]
PASSED = parse_result((ROOT / "tests" / "courses" / "result.json").read_bytes())
SOURCE = """\
@jit
def kernel(x, out, i, n):
    inside = i < n
    if inside:
        value = x[i]
        out[i] = value
    other = 3
    barrier()


def launch(x, out):
    kernel[1](x, out, 0, 3)
"""


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    path = list(sys.path)
    sys.path.insert(0, str(ROOT / "bench"))
    yield importlib.import_module("diagnosis")
    sys.path[:] = path


@pytest.fixture(scope="module")
def mutant_rows(script: ModuleType) -> ModuleType:
    return importlib.import_module("mutant_rows")


@pytest.fixture(scope="module")
def named(script: ModuleType) -> ModuleType:
    return importlib.import_module("named")


def row(folder: Path, *, held_out: bool = False, causes: str = "tail", also: str = "") -> Row:
    kernel = folder / "name.py"
    kernel.write_text(SOURCE)
    lines = frozenset({3})
    right, true = frozenset(causes.split()), frozenset(also.split())
    return Row("01_vector_add", kernel, "It is wrong.", lines, right, true, held_out)


def failed(kind: str = "value", message: str = "", hint: str = "", *frames: int) -> Result:
    failure = Failure(
        kind=kind,
        message=message,
        hint=hint or None,
        frames=tuple(Frame(line=line, function="kernel", code="") for line in frames),
    )
    step = PASSED.steps[0].model_copy(update={"outcome": Outcome.FAIL, "failure": failure})
    return PASSED.model_copy(update={"steps": (step, *PASSED.steps[1:])})


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ("wrote in line 27 (x = 3)", {27}),
        ("Line 4 adds what lines 5, 7 and 12 stored", {4, 5, 7, 12}),
        ("at kernel.py:31", {31}),
        ("element 5 of 9 lines up, outline 6", set()),
    ],
)
def test_lines_are_those_of_sentences_and_frames(
    named: ModuleType, message: str, lines: set[int]
) -> None:
    failure = failed("value", message, "", 40).steps[0].failure
    assert failure is not None
    assert named.lines_named(failure) == lines | {40}


@pytest.mark.parametrize(
    ("result", "line", "cause", "misleads"),
    [
        (failed("value", "", "", 3), True, False, False),
        (failed("value", "", "", 4), False, False, False),
        (failed("race", "", "see line 3"), True, False, True),
        (failed("never_written"), False, False, False),
        (failed("value", "", "Does the number of blocks round up?"), False, True, False),
        (PASSED, False, False, False),
    ],
)
def test_a_report_is_compared_with_its_row(
    script: ModuleType, tmp_path: Path, result: Result, line: bool, cause: bool, misleads: bool
) -> None:
    verdict = script.judge(row(tmp_path, also="never_written"), "mistake", result)
    assert (verdict.right_line, verdict.right_cause, verdict.misleads) == (line, cause, misleads)
    assert (verdict.step is None) == (result is PASSED)


def test_a_row_without_a_cause_is_judged_for_its_line_alone(
    script: ModuleType, tmp_path: Path
) -> None:
    verdict = script.judge(row(tmp_path, causes=""), "mutant", failed("race", "", "", 3))
    assert (verdict.right_line, verdict.right_cause, verdict.misleads) == (True, None, None)
    assert script.summed([verdict])["judged_for_cause"] == 0


def test_a_failing_access_that_depends_on_the_change_is_the_failing_line(
    script: ModuleType, tmp_path: Path
) -> None:
    def right(kind: str, *lines: int) -> bool:
        return script.judge(row(tmp_path), "mutant", failed(kind, "", "", *lines)).right_line

    assert right("out_of_bounds", 6)
    assert not right("value", 6)
    assert not right("out_of_bounds", 7)
    assert not right("out_of_bounds", 12)


def test_a_launch_depends_on_a_host_function_that_changed(mutant_rows: ModuleType) -> None:
    source = SOURCE.replace("kernel[1]", "kernel[blocks()]") + "\n\ndef blocks():\n    return 7\n"
    assert mutant_rows.affected(source, frozenset({16})) == {12, 16}


def test_all_of_a_function_depends_on_a_dropped_barrier(mutant_rows: ModuleType) -> None:
    without = SOURCE.replace("barrier()", "pass")
    assert mutant_rows.affected(without, frozenset({8})) == set(range(2, 9))


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        (SOURCE.replace("i < n", "i <= n"), {3}),
        (SOURCE.replace("    inside = i < n\n", ""), {2, 3}),
    ],
)
def test_lines_of_a_change(mutant_rows: ModuleType, after: str, lines: set[int]) -> None:
    assert mutant_rows.changed(SOURCE, after) == lines


def test_a_mutant_has_a_cause_where_its_change_is_clear(
    mutant_rows: ModuleType, tmp_path: Path
) -> None:
    def causes(operator: str) -> tuple[set[str], set[str]]:
        mutant = Mutant(operator, 3, "i < n", "i <= n", SOURCE)
        made = mutant_rows.row("p01_map", tmp_path, mutant, SOURCE, frozenset({"race"}))
        return set(made.causes), set(made.also)

    assert causes("drop_barrier") == ({"race"}, set())
    assert causes("drop_rescale") == ({"rescale"}, {"race", "factor", "overflow"})
    assert causes("change_arithmetic") == (set(), {"race"})


def test_causes_and_operators_are_known(
    script: ModuleType, mutant_rows: ModuleType, named: ModuleType
) -> None:
    known = set(script.mistakes_table.vocabulary())
    operators = {
        one.__name__ for one in importlib.import_module("grader.authoring.operators").OPERATORS
    }
    said = {cause for causes in named.SAID.values() for cause in causes}
    also = {cause for causes in mutant_rows.ALSO.values() for cause in causes}
    assert said | also | set(named.STATED.values()) | set(mutant_rows.CAUSES.values()) <= known
    assert set(mutant_rows.CAUSES) | set(mutant_rows.ALSO) <= operators


def test_of_the_held_out_part_only_sums_are_kept_and_printed(
    script: ModuleType, tmp_path: Path
) -> None:
    verdicts = [
        script.judge(row(tmp_path, held_out=held_out), "mistake", failed("race"))
        for held_out in (True, False, True)
    ]
    record = script.record_of(verdicts, 0, 1.5)
    assert [one["held_out"] for one in record["seen"]] == [False]
    assert record["exercises"]["01_vector_add"]["held_out"]["misleads"] == 2
    assert len(list(script.missed(verdicts))) == 1
    assert record["unknown_causes"] == []
    assert json.loads(json.dumps(record)) == json.loads(json.dumps(record, sort_keys=True))


def test_shares_are_of_the_kernels_that_are_judged(script: ModuleType, tmp_path: Path) -> None:
    verdicts = [
        script.judge(row(tmp_path), "mistake", failed("value", "", "", 3)),
        script.judge(row(tmp_path, causes=""), "mutant", failed("value")),
    ]
    (*_, total) = script.table(script.record_of(verdicts, 1, 1.5))
    assert total.split() == [
        *("total", "1", "100%", "0%", "0%", "1/1", "0", "-", "-", "-", "-"),
        *("1", "0%", "-", "-", "0/0", "2", "50%", "0%", "0%", "0/1"),
    ]


def test_the_numbers_of_lines_that_reports_name_are_kept(
    script: ModuleType, tmp_path: Path
) -> None:
    reports = [failed("value", "", "", *range(1, count + 1)) for count in (1, 1, 1, 2, 2, 2, 2, 2)]
    reports += [failed("value", "", "", *range(1, 8)), failed("value", "", "", *range(1, 10))]
    sums = script.summed([script.judge(row(tmp_path), "mistake", each) for each in reports])
    assert (sums["lines_median"], sums["lines_90th"]) == (2, 7)


def test_a_cause_that_the_vocabulary_lacks_misleads_and_is_listed(
    script: ModuleType, named: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(named.STATED, "race", "nonsense")
    verdict = script.judge(row(tmp_path), "mistake", failed("race"))
    assert verdict.misleads
    assert script.record_of([verdict], 0, 1.5)["unknown_causes"] == ["nonsense"]
