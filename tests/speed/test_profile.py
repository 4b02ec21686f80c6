"""The digest of Nsight Compute: what is asked of it, what its table says, and each way to fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader import backends
from grader.course import catalog
from grader.grading.plan import with_step
from grader.model.errors import GraderError
from grader.sandbox import fork_server
from grader.speed import profile
from grader.speed.profile import (
    DRAM_READ,
    DRAM_WRITTEN,
    HIT_RATE,
    METRICS,
    OCCUPANCY,
    STALLS,
    TIME,
    Profile,
    Stall,
    command,
    digest,
    launches,
    profiled,
    sizes,
)
from grader.speed.sizing import Gpu

ROOT = Path(__file__).parents[2]
SPECS = {exercise.name: exercise.spec for exercise in with_step(catalog.exercises(ROOT), "speed")}
ADD = SPECS["01_vector_add"]
MEMORY, BARRIER, WAIT, CHOSEN = (
    f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
    for reason in ("long_scoreboard", "barrier", "wait", "not_selected")
)

SAID = """\
==PROF== Connected to process 7 (/usr/bin/python3.12)
==PROF== Profiling "add_kernel" - 0: 0%....50%....100% - 4 passes
==PROF== Disconnected from process 7
"""


def csv_of(units: dict[str, str], *rows: dict[str, str]) -> str:
    """A table as `ncu --csv --page raw` prints it: each cell quoted, units below the names."""
    fixed = {"ID": "", "Process Name": "", "Kernel Name": ""}
    head = list(fixed | units)
    table = [head, list((fixed | units).values())]
    table += [[row.get(name, "") for name in head] for row in rows]
    return SAID + "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in table)


UNITS = {DRAM_READ: "byte", DRAM_WRITTEN: "byte", TIME: "ns", HIT_RATE: "%", OCCUPANCY: "%"}
STALLED = dict.fromkeys((MEMORY, BARRIER, WAIT, CHOSEN), "inst")
SHORT = {
    "ID": "0",
    "Process Name": "python3.12",
    "Kernel Name": "dot_partials(Array, int, Array)",
    DRAM_READ: "1,000,448",
    DRAM_WRITTEN: "64",
    TIME: "2,500",
    HIT_RATE: "80.5",
    OCCUPANCY: "20",
    MEMORY: "1",
    WAIT: "9",
}
LONG = {
    "ID": "1",
    "Kernel Name": "sum_partials",
    DRAM_READ: "2,000,000,000",
    DRAM_WRITTEN: "1,000",
    TIME: "500,000",
    HIT_RATE: "33.31",
    OCCUPANCY: "91.2",
    MEMORY: "23.5",
    BARRIER: "0",
    WAIT: "1.25",
    CHOSEN: "2.5",
}


# -- the table


def test_a_table_is_read_with_its_units_and_separators():
    first, second = launches(csv_of(UNITS | STALLED, SHORT, LONG))
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
    assert profile._number("1,234.5", unit) == pytest.approx(1234.5 * factor)


@pytest.mark.parametrize("text", ["n/a", "(!) nan", "nan", "inf", "no"])
def test_what_is_no_number_is_no_count(text: str):
    assert profile._number(text, "%") is None
    (launch,) = launches(csv_of(UNITS, SHORT | {HIT_RATE: text}))
    assert HIT_RATE not in launch.counters
    assert digest(csv_of(UNITS, SHORT | {HIT_RATE: text}), "", 0).l2_hit_rate is None


def test_an_unknown_unit_is_not_guessed(snapshot: SnapshotAssertion):
    with pytest.raises(GraderError) as told:
        launches(csv_of(UNITS | {DRAM_READ: "furlong"}, SHORT))
    assert text_of(told.value) == snapshot


def test_counters_that_nobody_asked_for_are_left_out():
    (launch,) = launches(csv_of(UNITS | {"launch__waves": "furlong"}, SHORT))
    assert set(launch.counters) <= set(METRICS)


@pytest.mark.parametrize(
    "output",
    ["", SAID, SAID + '"ID","Kernel Name"\n', csv_of(UNITS), SAID + '"ID"\n""\n"0"\n'],
    ids=["nothing", "no table", "no units", "no launch", "no names"],
)
def test_a_table_without_a_launch_has_none(output: str):
    assert launches(output) == []


# -- the digest


def test_launches_are_added_up_and_the_longest_is_looked_at():
    one, two = SHORT | {TIME: "2,000"}, LONG | {TIME: "512,000"}
    assert digest(csv_of(UNITS | STALLED, one, two), "", 0) == Profile(
        launches=2,
        seconds=2_000 * 1e-9 + 512_000 * 1e-9,
        dram_read=2_001_000_448.0,
        dram_written=1064.0,
        l2_hit_rate=33.31,
        occupancy=91.2,
        stalls=(
            Stall(reason=STALLS["long_scoreboard"], warps=23.5),
            Stall(reason=STALLS["not_selected"], warps=2.5),
            Stall(reason=STALLS["wait"], warps=1.25),
        ),
    )


def test_at_most_three_stalls_are_told():
    busy = LONG | {BARRIER: "7"}
    found = digest(csv_of(UNITS | STALLED, busy), "", 0).stalls
    assert [stall.warps for stall in found] == [23.5, 7, 2.5]


def test_a_sum_of_some_launches_is_none(snapshot: SnapshotAssertion):
    found = digest(csv_of(UNITS, SHORT, LONG | {DRAM_WRITTEN: "n/a"}), "", 0)
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
    found = digest(refused if in_log else "", "" if in_log else refused, 1)
    assert found.problem == (
        "This machine lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM)."
    )
    assert (found.problem, found.next_step) == snapshot
    assert not found.launches


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
    found = digest(output, said, 9)
    assert found.problem == f"Nsight Compute counted nothing (exit status 9): {told}"
    assert found.next_step


# -- what is run


def test_the_command_line_names_what_is_counted():
    argv = command(Path("/opt/ncu"), Path("/home/job.json"), Path("/log.csv"), (TIME, DRAM_READ))
    assert argv[0] == "/opt/ncu"
    assert argv[-5:] == [
        sys.executable,
        "-I",
        "-m",
        "grader.worker.profiled_calls",
        "/home/job.json",
    ]
    options = argv[1:-5]
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


EXPECTED = {
    "01_vector_add": {"x": 4000, "y": 4000, "out": 4000},
    "02_dot_reduction": {"a": 4000, "b": 4000, "out": 4},
    "03_three_pass_softmax": {"x": 4000 * 65_536, "out": 4000 * 65_536},
    "04_online_softmax": {"x": 4000 * 65_536, "out": 4000 * 65_536},
    "05_swiglu": dict.fromkeys(("gate", "up", "out"), 2000 * 14_336),
    "06_cross_entropy": {"logits": 2000 * 128_256, "target": 8000, "loss": 4000},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_sizes_of_a_call(name: str):
    assert sizes(SPECS[name], 1000) == EXPECTED[name]


def test_the_job_describes_the_arguments_in_order():
    assert profile._job(SPECS["06_cross_entropy"], Path("/home/kernel.py"), 5000) == {
        "kernel": "/home/kernel.py",
        "entry": "cross_entropy",
        "parameters": ["logits", "target", "loss", "grad_scale"],
        "backend": str(backends.folder("triton")),
        "arguments": [
            {"shape": [5000, 128_256], "dtype": "bfloat16"},
            {"shape": [5000], "dtype": "int64"},
            {"shape": [5000], "dtype": "float32"},
            {"value": pytest.approx(0.5, rel=10)},
        ],
        "below": 128_256,
    }


def test_the_answer_of_a_reduction_does_not_grow():
    job = profile._job(SPECS["02_dot_reduction"], Path("kernel.py"), 10**6)
    assert [a["shape"] for a in job["arguments"]] == [[10**6], [10**6], [1]]
    assert job["below"] == 1


# -- with an ncu of the test's own

FAKE = """\
#!{python} -I
import json, pathlib, shutil, sys, time
seen = pathlib.Path({seen!r})
(seen / "argv.json").write_text(json.dumps(sys.argv))
shutil.copy(sys.argv[-1], seen / "job.json")
shutil.copy(json.loads((seen / "job.json").read_text())["kernel"], seen / "kernel.py")
log = pathlib.Path(sys.argv[sys.argv.index("--log-file") + 1])
if {report!r}:
    log.write_text({report!r})
print({said!r})
time.sleep({sleeps})
sys.exit({status})
"""

Fake = Callable[..., Path]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Puts an `ncu` on PATH that reports what it is told to; returns where it keeps what it got."""

    def make(report: str, *, said: str = "", status: int = 0, sleeps: float = 0) -> Path:
        program = tmp_path / "bin" / "ncu"
        program.parent.mkdir()
        seen = tmp_path / "seen"
        seen.mkdir()
        program.write_text(
            FAKE.format(
                python=sys.executable,
                seen=str(seen),
                report=report,
                said=said,
                sleeps=sleeps,
                status=status,
            )
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        return seen

    return make


def test_one_call_is_profiled_in_a_home_of_its_own(fake: Fake):
    seen = fake(csv_of(UNITS | STALLED, LONG))
    found = profiled(ADD, b"# a kernel\n", 1000)
    assert not found.problem
    assert (found.launches, found.needed) == (1, 12_000)
    assert (seen / "kernel.py").read_bytes() == b"# a kernel\n"
    job, argv = (json.loads((seen / name).read_text()) for name in ("job.json", "argv.json"))
    assert job["arguments"] == [{"shape": [1000], "dtype": "float32"}] * 3
    log, home = Path(argv[argv.index("--log-file") + 1]), Path(argv[-1]).parent
    assert home not in log.parents, "a kernel cannot reach the report by its own folder"
    assert not home.exists()
    assert not log.parent.exists()


def test_only_what_is_asked_for_is_counted(fake: Fake):
    seen = fake(csv_of({TIME: "ns", DRAM_READ: "byte", DRAM_WRITTEN: "byte"}, LONG))
    found = profiled(ADD, b"", 1000, (TIME, DRAM_READ, DRAM_WRITTEN))
    argv = json.loads((seen / "argv.json").read_text())
    assert argv[argv.index("--metrics") + 1] == f"{TIME},{DRAM_READ},{DRAM_WRITTEN}"
    assert (found.l2_hit_rate, found.occupancy, found.stalls) == (None, None, ())


def test_a_failing_kernel_is_told_with_its_last_line(fake: Fake):
    fake("", said="Traceback (most recent call last):\nValueError: no", status=1)
    assert profiled(ADD, b"", 1000).problem == (
        "Nsight Compute counted nothing (exit status 1): ValueError: no"
    )


def test_too_long_is_told_apart(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(profile, "LIMIT_S", 0.5)
    fake(csv_of(UNITS, LONG), sleeps=60)
    found = profiled(ADD, b"", 1000)
    assert found.problem == "Nsight Compute was stopped after 0.5 s."
    assert (found.problem, found.next_step) == snapshot


def test_without_ncu_it_says_where_to_get_it(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(profile.toolkit, "find", lambda name: None)
    monkeypatch.setattr(fork_server, "run_once", lambda *_: pytest.fail("nothing can be run"))
    found = profiled(ADD, b"", 1000)
    assert found.problem == "Nsight Compute is not installed: there is no program `ncu`."
    assert (found.problem, found.next_step) == snapshot


@pytest.mark.parametrize(
    ("gpu", "rows"),
    [
        (Gpu(bandwidth=4.8e12, l2=50 * 2**20, free=141 * 10**9), 40 * 50 * 2**20 // 12),
        (Gpu(bandwidth=4.8e12, l2=50 * 2**20, free=2 * 10**9), 600_000_000 // 12),
        (Gpu(bandwidth=4.8e12, l2=50 * 2**20, free=1), 1),
    ],
    ids=["far above L2", "little memory", "none"],
)
def test_the_call_dwarfs_the_cache_where_memory_allows(
    gpu: Gpu, rows: int, monkeypatch: pytest.MonkeyPatch
):
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(profile.gpu_lock, "exclusive_gpu", nullcontext)
    monkeypatch.setattr(profile, "survey", lambda cap: gpu)
    monkeypatch.setattr(profile, "profiled", lambda *given: asked.append(given))
    profile.run(ADD, b"kernel")
    assert asked == [(ADD, b"kernel", rows)]


def test_a_unit_that_nobody_knows_is_told_and_loses_nothing(snapshot: SnapshotAssertion):
    strange = UNITS | {DRAM_READ: "furlong"}
    found = digest(csv_of(strange, LONG), "", 0)
    assert found.problem == "Nsight Compute reports in 'furlong', a unit that the grader lacks."
    assert (found.problem, found.next_step) == snapshot
