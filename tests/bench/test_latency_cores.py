"""bench/latency_cores.py: shares made up of recorded batches."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    """The script, which no package makes importable."""
    path = ROOT / "bench" / "latency_cores.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cores = script()
# A core that is slow for a while in the middle, and the overhead of short batches.
TRACE = [25e-6] * 400 + [40e-6] * 400 + [25e-6] * 400
RECORDED = cores.Recorded([TRACE], [(25e-6, 1.4e-3), (25e-6, 1.5e-3), (40e-6, 2e-3)])


def test_an_honest_share_is_near_the_true_one_whatever_the_core_does():
    found, cause = cores.grade(RECORDED, random.Random(1), 32, cores.KERNELS["honest"])
    assert cause is None
    assert found == pytest.approx(1.0, rel=0.01)


def test_a_little_lie_gains_no_more_than_it_claims():
    found, _ = cores.grade(RECORDED, random.Random(1), 32, cores.KERNELS["claims 2 % less"])
    assert 0.99 < found < 1.03


def test_a_claim_of_half_is_not_believed():
    found, cause = cores.grade(RECORDED, random.Random(1), 32, cores.KERNELS["claims half"])
    assert cause is not None or found < 1.1


@pytest.mark.parametrize("kernel", ["slows all but one by 50 %", "slows half by 50 %"])
def test_a_kernel_that_slows_the_reference_in_most_cycles_gains_nothing(kernel: str):
    quiet = cores.Recorded([TRACE[:400]], RECORDED.overheads)
    found, cause = cores.grade(quiet, random.Random(1), 32, cores.KERNELS[kernel])
    if "all but one" in kernel:
        assert cause is not None
    else:
        assert (cause, found < 1.02) == (None, True)


def test_a_kernel_slows_the_reference_but_for_the_cycles_that_it_spares():
    spares, all_of_them = (cores.Kernel(slows=0.5, spares=count) for count in (3, 0))
    one, other, honest = (
        cores.measured(RECORDED, random.Random(1), 32, kernel).samples
        for kernel in (spares, all_of_them, cores.Kernel())
    )
    slow = [a / b for a, b in zip(honest.ceilings, one.ceilings, strict=True)]
    assert sorted(slow) == pytest.approx([1.0] * 3 + [1.5] * 29)
    assert honest.ceilings == pytest.approx([1.5 * rate for rate in other.ceilings])
    spared = {cycle for cycle in range(32) if slow[cycle] < 1.1}
    claims = [batch.claimed_s for batch in one.evidence.kernel]
    assert max(claims[cycle] for cycle in spared) <= sorted(claims)[3]


def test_the_two_batches_of_a_pair_lie_apart_in_either_order():
    slow_first = slow_later = 0
    draw, one = random.Random(1), cores.Recorded([[25e-6] * 70 + [40e-6] * 70], [(25e-6, 1e-3)])
    for _ in range(200):
        kernel, reference = one.pair(draw)
        slow_first += kernel.claimed_s > reference.claimed_s
        slow_later += kernel.claimed_s < reference.claimed_s
    assert min(slow_first, slow_later) > 20


@pytest.mark.slow
def test_the_figures_are_kept_in_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    record = json.loads((ROOT / "bench/results/latency_cores_h100.json").read_text())
    del record["replayed"]
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    assert cores.main([str(path), "--runs", "2", "--save"]) == 0
    rows = json.loads(path.read_text())["replayed"]
    assert [row["kernel"] for row in rows] == list(cores.KERNELS)
    assert all(row["runs"] == 2 for row in rows)
    assert "honest" in capsys.readouterr().out
