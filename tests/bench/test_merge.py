"""bench/merge.py: records of several GPUs become one, and none is lost or counted twice."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / "bench" / "merge.py"


@pytest.fixture(scope="module")
def merge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("merge", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def honest(*kernels: str, **other: object) -> dict[str, object]:
    rows = [{"kernel": name, "runs": 1} for name in kernels]
    return {"benchmark": "honest", "wall_s": 1.5, "runs": len(rows), "kernels": rows} | other


def test_rows_are_together_and_sums_are_sums(merge: ModuleType):
    whole = merge.merged([honest("b", "c"), honest("a")])
    assert [row["kernel"] for row in whole["kernels"]] == ["a", "b", "c"]
    assert (whole["runs"], whole["wall_s"], whole["benchmark"]) == (3, 3.0, "honest")


def test_what_is_wrong_in_one_is_wrong_in_all(merge: ModuleType):
    def cheats(name: str, ok: bool, **counts: int) -> dict[str, object]:
        return {"ok": ok, "counts": counts, "cheats": [{"name": name}], "left_out": []}

    whole = merge.merged([cheats("x", True, stopped=1), cheats("y", False, stopped=2, passed=1)])
    assert whole["ok"] is False
    assert whole["counts"] == {"stopped": 3, "passed": 1}


def test_exercises_whose_mutants_were_judged_apart_stand_in_one_table(merge: ModuleType):
    def mutants(name: str) -> dict[str, object]:
        return {"ok": True, "exercises": [{"exercise": name}], "not_ok": []}

    whole = merge.merged([mutants("02"), mutants("01")])
    assert whole == {
        "ok": True,
        "exercises": [{"exercise": "01"}, {"exercise": "02"}],
        "not_ok": [],
    }


def test_one_kernel_in_two_records_is_no_second_run(merge: ModuleType):
    with pytest.raises(ValueError, match="two records hold a"):
        merge.merged([honest("a"), honest("a")])


def test_another_machine_is_another_record(merge: ModuleType):
    with pytest.raises(ValueError, match="the records differ in 'device'"):
        merge.merged([honest("a", device="cpu"), honest("b", device="cuda")])


def test_the_command_writes_one_file(merge: ModuleType, tmp_path: Path, capsys):
    one, two, out = (tmp_path / name for name in ("one.json", "two.json", "out.json"))
    one.write_text('{"runs": 1, "kernels": []}')
    two.write_text('{"runs": 2, "kernels": []}')
    assert merge.main([str(out), str(one), str(two)]) == 0
    assert '"runs": 3' in out.read_text()
    two.write_text('{"runs": 2, "kernels": [], "device": "cpu"')
    assert merge.main([str(out), str(one), str(two)]) == 1
    assert "error: " in capsys.readouterr().err
