"""Nsight Compute: what is asked of it, what its table says, and each way to fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from messages import text_of
from ncu_log import (
    BARRIER,
    LONG,
    SAID,
    SHORT,
    STALLED,
    UNITS,
    csv_of,
    fake_ncu,
)
from syrupy.assertion import SnapshotAssertion

from grader.model.errors import GraderError
from grader.sandbox import commands
from grader.speed import ncu
from grader.speed.ncu import DRAM_READ, DRAM_WRITTEN, REQUIRED, TIME, Launch, NotCounted
from grader.speed.profile import HIT_RATE, METRICS

PROGRAM = [sys.executable, "-I", "-m", "some.module"]


def launches_of(output: str) -> list[Launch]:
    return ncu.launches(output, METRICS)


def problem(output: str, said: str = "", status: int = 0) -> NotCounted:
    with pytest.raises(NotCounted) as refused:
        ncu.counted(output, said, status, METRICS)
    return refused.value


# -- the table


def test_a_table_is_read_with_its_units_and_separators():
    first, second = launches_of(csv_of(UNITS | STALLED, SHORT, LONG))
    assert (first.name, second.name) == (SHORT["Kernel Name"], "sum_partials")
    assert first.counters[DRAM_READ] == 1_000_448
    assert first.counters[TIME] == pytest.approx(2.5e-6)
    assert second.counters[HIT_RATE] == 33.31
    assert BARRIER not in first.counters, "an empty cell is no count"


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        *(("byte", 1), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Tbyte", 1e12)),
        *(("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1), ("nsecond", 1e-9)),
        *(("usecond", 1e-6), ("msecond", 1e-3), ("second", 1), ("%", 1), ("", 1), ("inst", 1)),
    ],
)
def test_a_number_counts_in_its_unit(unit: str, factor: float):
    assert ncu.number("1,234.5", unit) == pytest.approx(1234.5 * factor)


@pytest.mark.parametrize("text", ["n/a", "(!) nan", "nan", "inf", "no"])
def test_what_is_no_number_is_no_count(text: str):
    assert ncu.number(text, "%") is None
    (launch,) = launches_of(csv_of(UNITS, SHORT | {HIT_RATE: text}))
    assert HIT_RATE not in launch.counters


def test_an_unknown_unit_is_not_guessed(snapshot: SnapshotAssertion):
    with pytest.raises(GraderError) as told:
        launches_of(csv_of(UNITS | {DRAM_READ: "furlong"}, SHORT))
    assert text_of(told.value) == snapshot


def test_counters_that_nobody_asked_for_are_left_out():
    (launch,) = launches_of(csv_of(UNITS | {"launch__waves": "furlong"}, SHORT))
    assert set(launch.counters) <= set(METRICS)


@pytest.mark.parametrize(
    "output",
    ["", SAID, SAID + '"ID","Kernel Name"\n', csv_of(UNITS), SAID + '"ID"\n""\n"0"\n'],
    ids=["nothing", "no table", "no units", "no launch", "no names"],
)
def test_a_table_without_a_launch_has_none(output: str):
    assert launches_of(output) == []


# -- what is missing


def test_a_sum_of_some_launches_is_none(snapshot: SnapshotAssertion):
    found = problem(csv_of(UNITS, SHORT, LONG | {DRAM_WRITTEN: "n/a"}))
    assert (
        found.problem == "Nsight Compute did not count the bytes read from and written to memory."
    )
    assert (found.problem, found.next_step) == snapshot


@pytest.mark.parametrize("in_log", [True, False])
def test_where_counters_are_locked_it_says_who_opens_them(
    in_log: bool, snapshot: SnapshotAssertion
):
    refused = (
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
        "Performance Counters on the target device 0."
    )
    found = problem(refused if in_log else "", "" if in_log else refused, 1)
    assert found.problem == (
        "This machine lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM)."
    )
    assert (found.problem, found.next_step) == snapshot


@pytest.mark.parametrize(
    ("output", "said", "told"),
    [
        (
            SAID + "==ERROR== The driver is too old.\n",
            "hello\n",
            "==ERROR== The driver is too old.",
        ),
        ("", "Traceback\n  x\nRuntimeError: no GPU\n\n", "RuntimeError: no GPU"),
        ("", "", "nothing"),
        ("", "x" * 1000, "x" * 300),
    ],
)
def test_nothing_counted_is_told_with_the_last_words(output: str, said: str, told: str):
    found = problem(output, said, 9)
    assert found.problem == f"Nsight Compute counted nothing (exit status 9): {told}"
    assert found.next_step


# -- what is run


def test_the_command_line_names_what_is_counted():
    argv = ncu.command(Path("/opt/ncu"), PROGRAM, Path("/log.csv"), (TIME, DRAM_READ))
    assert argv[0] == "/opt/ncu"
    assert argv[-4:] == PROGRAM
    options = argv[1:-4]
    given = {o: v for o, v in zip(options, [*options[1:], ""], strict=True) if o.startswith("--")}
    assert "--csv" in given
    del given["--csv"]
    assert given == {
        "--page": "raw",
        "--print-units": "base",
        "--log-file": "/log.csv",
        "--clock-control": "none",
        "--profile-from-start": "off",
        "--target-processes": "application-only",
        "--metrics": f"{TIME},{DRAM_READ}",
    }


# -- with an ncu of the test's own


def test_the_log_lies_outside_of_the_home_and_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen = fake_ncu(tmp_path, monkeypatch, csv_of(UNITS, LONG))
    with commands.private_home() as home:
        (home / "job.json").write_text("{}")
        (launch,) = ncu.count([*PROGRAM, str(home / "job.json")], home, REQUIRED, 20)
        assert launch == Launch("sum_partials", {DRAM_READ: 2e9, DRAM_WRITTEN: 1e3, TIME: 5e-4})
        argv = json.loads((seen / "argv.json").read_text())
        log = Path(argv[argv.index("--log-file") + 1])
        assert home not in log.parents
    assert not log.parent.exists()


def test_too_long_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    fake_ncu(tmp_path, monkeypatch, csv_of(UNITS, LONG), sleeps=60)
    with commands.private_home() as home, pytest.raises(NotCounted) as refused:
        ncu.count([*PROGRAM, str(home)], home, REQUIRED, 0.5)
    assert (refused.value.problem, refused.value.next_step) == snapshot


def test_without_ncu_it_says_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(ncu.toolkit, "find", lambda name: None)
    monkeypatch.setattr(commands, "run_once", lambda *_: pytest.fail("nothing can be run"))
    with pytest.raises(NotCounted) as refused:
        ncu.count(PROGRAM, tmp_path, REQUIRED, 20)
    assert (refused.value.problem, refused.value.next_step) == snapshot


def test_a_unit_that_nobody_knows_costs_no_more_than_the_counters(snapshot: SnapshotAssertion):
    found = problem(csv_of(UNITS | {DRAM_READ: "furlong"}, LONG))
    assert (found.problem, found.next_step) == snapshot
