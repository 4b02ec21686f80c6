"""bench/latency_quantiles.py: rules that could notice a slowed reference, on the same batches."""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "bench/results/latency_cores_h100.json"


@pytest.fixture
def quantiles(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("latency_quantiles")


@pytest.mark.slow
def test_each_rule_grades_each_kernel_in_each_world(
    quantiles: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(quantiles, "COMPARED", ("honest", "slows half by 50 %"))
    out = tmp_path / "out.json"
    assert quantiles.main([str(RECORD), "--runs", "1", "--out", str(out)]) == 0
    rows = json.loads(out.read_text())["rows"]
    kernels = ("honest", "honest, waits for the GPU", "slows half by 50 %")
    assert [(row["world"], row["kernel"], row["rule"]) for row in rows] == [
        (world, kernel, rule)
        for world in quantiles.WORLDS
        for kernel in kernels
        for rule in quantiles.RULES
    ]


def test_a_rule_raises_the_rate_by_what_its_quantiles_lost(quantiles: ModuleType):
    """The cores are always quiet; all batches of the reference but one take half as long again."""
    cores = importlib.import_module("latency_cores")
    quiet = cores.Recorded([[25e-6] * 400], [(25e-6, 1.5e-3)])
    slows = cores.KERNELS["slows all but one by 50 %"]
    found = quantiles.mixed(quiet, random.Random(1), slows)
    for name, rule in quantiles.RULES.items():
        samples, before, after = rule(found)
        assert before == after
        assert before / samples.ceilings[0] == pytest.approx(1.0 if name == "best" else 1.5)
