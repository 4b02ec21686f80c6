"""The house stands: imports go one way, and the quick commands stay quick."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "grader"

# Lowest floor first. A module imports from its own floor and from those below it, never in a ring.
FLOORS = (
    {
        "grader",
        "errors",
        "terms",
        "spec",
        "wire",
        "vmm",
        "processes",
        "nvml",
        "decision",
        "toolkit",
        "documents",
        "comments",
        "times",
        "forked",
    },
    {"results", "attempts", "trace", "verdict", "picture", "hazards"},
    {
        *("course", "settings", "manifest", "signing", "stub", "lesson", "new", "mutants"),
        *("declared", "lint", "gradescope"),
    },
    {"inputs", "acceptance", "testing"},
    {
        *("machine", "arena", "sandbox", "failures", "link", "pretend", "remote", "walls"),
        *("needless", "suspects"),
    },
    {
        "sizing",
        "scored",
        "mixes",
        "late",
        "probes",
        "slots",
        "clock",
        "exclusive",
        "ceilings",
        "cycles",
        "noise",
        "environment",
        "occupancy",
        "explain",
        "ballast",
    },
    {
        *("session", "timing", "steps", "traffic", "counts", "memory", "tracing", "vacuity"),
        *("plugin", "sanitize"),
    },
    {"judge", "profile"},
    {"bench"},
    {"check", "systems"},
    {"verify", "calibrate", "doctor", "board", "release", "publish", "ci", "kept"},
    {"render"},
    {"cli"},
)
# The worker stands beside the house: it is started as a process, and the judge shares nothing with
# it but the messages between them, and the calls with which both map one piece of GPU memory.
WORKER_MAY_IMPORT = {"grader", "errors", "processes", "wire", "vmm", "worker"}


def module_name(path: Path) -> str:
    """`worker.loop` for grader/worker/loop.py, and `grader` for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "grader"


def part_of(module: str) -> str:
    """The entry of FLOORS that a module belongs to: folders count as one."""
    return module.split(".")[0]


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(source: str, modules: set[str]) -> Iterator[str]:
    """The modules of grader that a source imports anywhere in it, named as in FILES."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, *inner = name.split(".")
            if package != "grader":
                continue
            # `grader.spec.Case` is the module spec; `grader.__version__` is the package.
            paths = (".".join(inner[:count]) for count in range(len(inner), 0, -1))
            yield next((path for path in paths if path in modules), "grader")


GRAPH = {
    name: set(imports(path.read_text(encoding="utf-8"), set(FILES))) - {name}
    for name, path in FILES.items()
}


def floor_of(module: str) -> int:
    return next(number for number, floor in enumerate(FLOORS) if part_of(module) in floor)


@pytest.mark.parametrize("module", FILES)
def test_every_module_has_a_floor(module: str):
    floors = [floor for floor in FLOORS if part_of(module) in floor]
    assert len(floors) == (part_of(module) != "worker"), (
        f"say in FLOORS on which floor {module} stands, once"
    )


@pytest.mark.parametrize("module", [name for name in FILES if part_of(name) != "worker"])
def test_no_import_goes_up(module: str):
    for imported in GRAPH[module]:
        assert part_of(imported) != "worker", f"{module} shares code with the worker: {imported}"
        assert floor_of(imported) <= floor_of(module), f"{module} imports {imported}, above it"


@pytest.mark.parametrize("module", [name for name in FILES if part_of(name) == "worker"])
def test_the_worker_knows_nothing_of_the_judge(module: str):
    for imported in GRAPH[module]:
        assert part_of(imported) in WORKER_MAY_IMPORT, f"{module} imports {imported}"


def test_no_imports_run_in_a_ring():
    TopologicalSorter(GRAPH).prepare()


@pytest.mark.parametrize(
    ("simulator", "module"),
    [
        ("numba.cuda.simulator", "worker.sim_numba.internals"),
        ("from triton.runtime import", "worker.sim_triton.internals"),
    ],
)
def test_one_module_reaches_into_each_simulator(simulator: str, module: str):
    inside = {name for name, path in FILES.items() if simulator in path.read_text(encoding="utf-8")}
    assert inside == {module}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import grader.spec", ["spec"]),
        ("import torch, grader.worker.loop", ["worker.loop"]),
        ("from grader import spec, __version__", ["spec", "grader"]),
        ("from grader.worker import loop", ["worker.loop"]),
        ("from grader.spec import Case", ["spec"]),
        ("def f():\n    from grader.spec import Case", ["spec"]),
        ("from graders import spec", []),
    ],
)
def test_imports_are_read_in_every_form(source: str, expected: list[str]):
    assert list(imports(source, {"grader", "spec", "worker", "worker.loop"})) == expected


def loaded_by(modules: list[str], unwanted: set[str]) -> set[str]:
    """Which of `unwanted` a fresh Python holds after importing these modules of grader."""
    imported = "; ".join(f"import grader.{module}" for module in modules)
    code = f"import sys; {imported}; print(*sorted({unwanted!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_records_and_files_need_no_torch():
    modules = ["errors", "terms", "spec", "wire", "results", "verdict", "course", "stub", "cli"]
    assert loaded_by(modules, {"torch", "numpy", "triton", "numba"}) == set()


def test_what_the_quick_commands_import_needs_no_pydantic():
    modules = ["errors", "terms", "spec", "course", "stub", "cli", "render.contract"]
    assert loaded_by(modules, {"torch", "pydantic", "grader.model.results"}) == set()
