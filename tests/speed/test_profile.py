"""The digest of Nsight Compute: which call is profiled, and what its counters say together."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from ncu_log import BARRIER, LONG, SHORT, STALLED, UNITS, csv_of, fake_ncu

from grader import backends
from grader.course import catalog
from grader.grading.plan import with_step
from grader.speed import ncu, profile
from grader.speed.ncu import DRAM_READ, DRAM_WRITTEN, TIME, Launch
from grader.speed.profile import METRICS, STALLS, Profile, Stall, digest, profiled, sizes
from grader.speed.sizing import Gpu

ROOT = Path(__file__).parents[2]
SPECS = {exercise.name: exercise.spec for exercise in with_step(catalog.parts(ROOT), "speed")}
ADD = SPECS["01_vector_add"]


def of(units: dict[str, str], *rows: dict[str, str]) -> list[Launch]:
    return ncu.counted(csv_of(UNITS | units, *rows), "", 0, METRICS)


# -- the digest


def test_launches_are_added_up_and_the_longest_is_looked_at():
    one, two = SHORT | {TIME: "2,000"}, LONG | {TIME: "512,000"}
    assert digest(of(STALLED, one, two)) == Profile(
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
    found = digest(of(STALLED, busy)).stalls
    assert [stall.warps for stall in found] == [23.5, 7, 2.5]


# -- what is run


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


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    return partial(fake_ncu, tmp_path, monkeypatch)


def test_one_call_is_profiled_in_a_home_of_its_own(fake: Callable[..., Path]):
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


def test_only_what_is_asked_for_is_counted(fake: Callable[..., Path]):
    seen = fake(csv_of({TIME: "ns", DRAM_READ: "byte", DRAM_WRITTEN: "byte"}, LONG))
    found = profiled(ADD, b"", 1000, (TIME, DRAM_READ, DRAM_WRITTEN))
    argv = json.loads((seen / "argv.json").read_text())
    assert argv[argv.index("--metrics") + 1] == f"{TIME},{DRAM_READ},{DRAM_WRITTEN}"
    assert (found.l2_hit_rate, found.occupancy, found.stalls) == (None, None, ())


def test_a_failing_kernel_is_told_with_its_last_line(fake: Callable[..., Path]):
    fake("", said="Traceback (most recent call last):\nValueError: no", status=1)
    assert profiled(ADD, b"", 1000).problem == (
        "Nsight Compute counted nothing (exit status 1): ValueError: no"
    )


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
