"""Clusters that cannot be had: each message says what is wrong and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from messages import text_of

from grader.classroom.batch import cluster
from grader.machine import nvml
from grader.model import CannotGrade, UsageError

GOOD = 'system = "slurm"\njobs = 4\n\n[options]\ncores = 8\nmemory = "64GB"\n'


GIB = 1 << 30


@pytest.mark.parametrize(
    ("cores", "memory", "gpus", "workers"),
    [
        pytest.param(2, 24 * GIB, 0, 2, id="one for each core"),
        pytest.param(16, 24 * GIB, 0, 8, id="as many as the memory holds"),
        pytest.param(16, 128 * GIB, 1, 16, id="a single GPU measures while nobody compares"),
        pytest.param(32, 256 * GIB, 2, 24, id="cores stay free for each GPU's measurement"),
        pytest.param(64, 512 * GIB, 4, 24, id="more would wait for the driver's contexts"),
        pytest.param(96, 512 * GIB, 0, 96, id="no driver, nothing to wait for"),
        pytest.param(8, 64 * GIB, 4, 4, id="one for each GPU, however few the cores"),
    ],
)
def test_there_are_as_many_workers_as_the_machine_has_room_for(
    cores: int, memory: int, gpus: int, workers: int
):
    assert cluster.worker_count(cores, memory, gpus) == workers


def test_cores_stay_free_for_the_gpus_that_take_part_alone(monkeypatch: pytest.MonkeyPatch):
    cards = [nvml.Card(f"GPU-{number}", "H200", 1 << 37) for number in range(4)]
    monkeypatch.setattr(cluster.nvml, "cards", lambda: tuple(cards))
    counted: list[int] = []
    monkeypatch.setattr(cluster, "worker_count", lambda *of: counted.append(of[-1]) or 1)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    cluster.workers_here("auto")
    cluster.workers_here("cpu")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    cluster.workers_here("cuda")
    assert counted == [4, 0, 2]


def test_a_file_names_a_batch_system_and_its_options(tmp_path: Path):
    file = tmp_path / "slurm.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert cluster.read(file) == ("slurm", 4, {"cores": 8, "memory": "64GB"})


@pytest.mark.parametrize(
    "text",
    [
        None,
        "jobs = 4",
        'system = "cray"',
        'system = ["slurm"]',
        'system = "slurm"\njobs = 0',
        'system = "slurm"\nqueue = "gpu"',
        "system: slurm",
    ],
    ids=["no file", "no system", "unknown", "a list", "no jobs", "unknown entry", "YAML"],
)
def test_a_file_that_describes_no_cluster_says_why(tmp_path: Path, text: str | None, snapshot):
    file = tmp_path / "cluster.toml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        cluster.read(file)
    assert text_of(raised.value, tmp_path) == snapshot


def test_without_dask_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch, snapshot):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CannotGrade) as raised:
        cluster.require_dask()
    assert text_of(raised.value) == snapshot


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, snapshot):
    monkeypatch.setattr(cluster, "START_S", 0.5)
    with pytest.raises(CannotGrade) as raised, cluster.scheduler("tcp://127.0.0.1:1"):
        pass
    message, _, advice = text_of(raised.value).partition("\n")
    assert message.startswith("The scheduler tcp://127.0.0.1:1 does not answer: ")
    assert advice == snapshot
