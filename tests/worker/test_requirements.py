"""A private name that is missing, renamed or has another form is named before anything runs."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.model.backend import Package
from grader.model.errors import CannotGrade
from grader.worker.requirements import Library, Touchpoint, require, touchpoints


class Kernel:
    def run(self, grid, stream, *args, debug=False):
        """Start it."""


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("made_up")
    module.Kernel = Kernel
    monkeypatch.setitem(sys.modules, "made_up", module)


@pytest.mark.parametrize(
    "name",
    [
        "Kernel",
        "Kernel.run",
        "Kernel.run(self, grid, stream)",
        "Kernel.run(self, grid, stream, args)",
        "Kernel()",
    ],
)
def test_a_name_that_fits(name: str):
    (touchpoint,) = touchpoints("made_up", "worker/launches.py", name)
    assert touchpoint.misfit() is None


@pytest.mark.parametrize(
    ("module", "name", "misfit"),
    [
        ("made_down", "Kernel", "it has no made_down.Kernel"),
        ("made_up", "Grid", "it has no made_up.Grid"),
        ("made_up", "Kernel.launch(self)", "it has no made_up.Kernel.launch"),
        (
            "made_up",
            "Kernel.run(self, stream, grid)",
            "its made_up.Kernel.run takes (self, grid, stream, args, debug) "
            "and not (self, stream, grid)",
        ),
        (
            "made_up",
            "Kernel.run(self, grid)",  # we would leave out what it demands
            "its made_up.Kernel.run takes (self, grid, stream, args, debug) and not (self, grid)",
        ),
        ("builtins", "max(a, b)", "the parameters of its builtins.max cannot be read"),
    ],
)
def test_a_name_that_does_not_fit(module: str, name: str, misfit: str):
    (touchpoint,) = touchpoints(module, "worker/launches.py", name)
    assert touchpoint.misfit() == misfit


def test_names_are_read_as_they_are_written():
    assert touchpoints("m", "f.py", "A.b(self, x)", "A", "f()") == (
        Touchpoint("m", "A.b", ("self", "x"), "f.py"),
        Touchpoint("m", "A", None, "f.py"),
        Touchpoint("m", "f", (), "f.py"),
    )


def test_what_is_required_is_named_with_the_tested_versions(snapshot: SnapshotAssertion):
    package = Package(name="pytest", tested=("9.2.0", "8.3.0"), needs=">=8.3")
    fits = Library(package, touchpoints("made_up", "worker/launches.py", "Kernel.run"))
    require(fits)
    lacks = Library(package, touchpoints("made_up", "worker/launches.py", "Kernel.launch"))
    with pytest.raises(CannotGrade) as caught:
        require(fits, lacks)
    assert caught.value.message == (
        f"pytest {pytest.__version__} does not fit: it has no made_up.Kernel.launch."
    )
    assert text_of(caught.value) == snapshot
