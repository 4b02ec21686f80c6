"""bench/verify_on_gpu.py without a GPU: which solutions are fast enough."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from grader.model.outcomes import Status

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location(
        "verify_on_gpu", ROOT / "bench" / "verify_on_gpu.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in ("kept", "merge"):
        sys.modules.pop(name, None)


@dataclass(frozen=True)
class Speed:
    """A share beside the gate that it has to pass."""

    share: float
    passing: float = 0.8

    def model_dump(self) -> dict[str, float]:
        return {"share": self.share, "passing": self.passing}


def result(*steps: tuple[str, Speed | None], simulated: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        entries=(),
        exercise="01_double",
        status=Status.PASS,
        steps=tuple(
            SimpleNamespace(name=name, speed=speed, duration_s=1.0, failure=None)
            for name, speed in steps
        ),
        seed=1,
        environment=SimpleNamespace(simulated=simulated),
    )


@pytest.mark.parametrize(
    ("graded", "ok"),
    [
        (result(("load", None), ("speed", Speed(0.85))), True),
        (result(("load", None), ("speed", Speed(0.81))), False),
        (result(("load", None), ("speed", None)), False),
        (result(("load", None)), True),
        (result(("load", None), ("speed", None), simulated=True), True),
    ],
    ids=["enough to spare", "too little to spare", "not measured", "no gate", "no GPU"],
)
def test_a_gate_is_passed_with_something_to_spare(
    bench: ModuleType, graded: SimpleNamespace, ok: bool
):
    assert [row["ok"] for row in bench.solutions(graded)] == [ok]
