"""`grader doctor`: the message and the fix for each state of a machine, and broken machines."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from packaging.requirements import Requirement
from syrupy.assertion import SnapshotAssertion

from grader import backends, cli
from grader.doctor import __main__ as parts
from grader.doctor import examine, gpu, hardening, packages, records, tools, trial
from grader.doctor.records import (
    Ceiling,
    Examination,
    Finding,
    Gpu,
    Group,
    PartReport,
    State,
    note,
    ok,
    problem,
)
from grader.machine import devices, gpu_lock, nvml
from grader.model.errors import CannotGrade
from grader.model.results import Failure, Wall
from grader.reports import doctor as render
from grader.sandbox import walls
from grader.sandbox.executor import KernelFailure, NotSimulated
from grader.sandbox.fork_server import NoWorker, Unfit
from grader.speed.mixes import USUAL_MIXES
from grader.worker.contract import TORCH

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COURSES = Path(__file__).parents[1] / "courses"
TESTED = {one.name: one.tested for one in packages.needed()}
NEWEST = {package.name: package.tested[0] for package in packages.needed()}


def fields_of(finding: Finding) -> tuple[str, str, str | None]:
    return finding.state.value, finding.message, finding.mend


# -- versions


def test_the_tested_versions_agree_with_pyproject_and_constraints():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ranges = {}
    extras = project["optional-dependencies"]
    for line in [*project["dependencies"], *extras["gpu"], *extras["cuda"]]:
        requirement = Requirement(line)
        ranges.setdefault(requirement.name, requirement.specifier)
    pins = dict(
        line.split(";")[0].strip().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    )
    assert TORCH in packages.needed()  # which a worker names, too
    for one in packages.needed():
        assert ranges[one.name] == packages.SpecifierSet(one.needs), one.name
        assert pins[one.name] in one.tested, one.name
        assert all(version in ranges[one.name] for version in one.tested), one.name
    pythons = packages.SpecifierSet(project["requires-python"])
    assert [f"3.{minor}" for minor in range(8, 20) if f"3.{minor}" in pythons] == [
        *packages.PYTHONS
    ]


# The next minor version of what private API is used of; the others have none of their own yet.
UNTESTED = {"torch": "2.14.0", "triton": "3.8.0", "numba": "0.69.0", "numba-cuda": "0.31.0"}


@pytest.mark.parametrize(("name", "version"), UNTESTED.items())
def test_private_api_is_used_of_no_untested_minor_version(name: str, version: str):
    needs = next(one.needs for one in packages.needed() if one.name == name)
    assert version not in packages.SpecifierSet(needs)
    minor = {tuple(map(int, tested.split(".")[:2])) for tested in TESTED[name]}
    major, newest = max(minor)
    assert version == f"{major}.{newest + 1}.0"


def package(name: str, version: str | None, has_gpu: bool = False, **others: str) -> Finding:
    installed = NEWEST | {other.replace("_", "-"): v for other, v in others.items()}
    found = packages.of_packages(installed | {name: version}, has_gpu)
    assert [finding.name for finding in found] == list(NEWEST)
    return next(finding for finding in found if finding.name == name)


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("torch", "2.13.0+cpu", ("ok", "2.13.0+cpu", None)),
        ("torch", "2.11.0+cu130", ("ok", "2.11.0+cu130", None)),
        ("triton", "3.6.0", ("ok", "3.6.0", None)),
        ("torch", "2.12.1", ("note", "2.12.1 is not tested; tested: 2.13.0, 2.11.0", None)),
        (
            "torch",
            "2.13.1.dev1",
            ("note", "2.13.1.dev1 is not tested; tested: 2.13.0, 2.11.0", None),
        ),
        *(
            (
                *("torch", version),
                (
                    "problem",
                    f"{version}; the grader needs >=2.11,<2.14, tested: 2.13.0, 2.11.0",
                    "`pip install 'torch>=2.11,<2.14'`",
                ),
            )
            for version in ("2.10.0", "2.14.0.dev1", "2.14.0")
        ),
        (
            *("numba-cuda", None),
            ("problem", "not installed", "`pip install 'numba-cuda>=0.30,<0.31'`"),
        ),
        (
            *("triton", "None"),
            (
                "problem",
                "'None' is not a version: the installation may be broken",
                packages.REINSTALL,
            ),
        ),
    ],
    ids=str,
)
def test_a_version_is_held_against_the_tested_ones(name, version, expected):
    assert fields_of(package(name, version)) == expected


def test_numpy_2_5_with_numba_cuda_0_30_is_named_with_its_fix():
    expected = (
        "problem",
        "2.5.0 does not work here: numba-cuda 0.30 uses np.row_stack, which NumPy 2.5 removed",
        "`pip install 'numpy<2.5'`",
    )
    assert fields_of(package("numpy", "2.5.0")) == expected
    assert fields_of(package("numpy", "2.5.0", numba_cuda="0.30.1")) == expected
    other = package("numpy", "2.5.0", numba_cuda="0.31.0")
    assert other.message == "2.5.0; the grader needs >=2.0,<2.5, tested: 2.4.6"


def test_packages_for_a_gpu_are_missed_only_with_one():
    missing = ("ok", "not installed; only needed with a GPU", None)
    assert fields_of(package("cuda-bindings", None)) == missing
    assert package("cuda-bindings", None, has_gpu=True).state is State.PROBLEM


def test_who_has_no_clone_is_not_sent_to_make():
    """In a folder of `grader init` it said `make clean setup`, where no Makefile is."""
    assert "make clean setup" in packages.REINSTALL
    assert "`pip install kernel-grader`" in packages.reinstall(in_a_clone=False)


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (packages.of_python("3.12.9"), ("ok", "3.12.9", None)),
        (
            packages.of_python("3.14.0"),
            (
                "problem",
                "3.14.0; the grader needs 3.11, 3.12, 3.13",
                "install one of them, then `make clean setup PYTHON=python3.13`",
            ),
        ),
        (
            packages.of_system("Darwin"),
            ("problem", "Darwin; the grader needs Linux", "on Windows, install it in WSL 2"),
        ),
    ],
    ids=lambda value: value.message if isinstance(value, Finding) else "",
)
def test_python_and_system(finding: Finding, expected: tuple[str, str, str | None]):
    assert fields_of(finding) == expected


# -- the GPU

H200 = Gpu(
    name="NVIDIA H200",
    capability="9.0",
    driver="580.95",
    memory_bytes=140 << 30,
    free_bytes=139 << 30,
    l2_bytes=60 << 20,
    sms=132,
    sm_mhz=345,
    most_sm_mhz=1980,
    memory_mhz=3201,
    most_memory_mhz=3201,
    temperature_c=34,
    slowdowns=(),
    mig=False,
    ecc=True,
    others=(),
)
CLOCKS = "132 SMs at 345 of 1,980 MHz, memory at 3,201 of 3,201 MHz, 34 °C"


def about_gpu(**changes: object) -> dict[str, tuple[str, str, str | None]]:
    return {f.name: fields_of(f) for f in gpu.of_gpu(H200.model_copy(update=changes))}


def test_a_quiet_gpu_is_reported_in_figures():
    assert about_gpu() == {
        "GPU": ("ok", "NVIDIA H200, compute capability 9.0, driver 580.95", None),
        "memory": ("ok", "139.0 of 140.0 GiB free, L2 cache of 60 MiB", None),
        "clocks": ("ok", CLOCKS, None),
        "MIG": ("ok", "off: the whole GPU is used", None),
        "ECC": ("ok", "on", None),
        "other programs": ("ok", "none computes on this GPU, as far as can be seen", None),
    }


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        (
            {"slowdowns": ("power limit", "hot (software)")},
            "clocks",
            (
                "note",
                f"{CLOCKS}; it runs below its clock now: power limit, hot (software)",
                "let it cool down, or have its power and its fans checked; speed is noisy until "
                "then",
            ),
        ),
        (
            {"sm_mhz": None, "memory_mhz": None},
            "clocks",
            (
                "note",
                "the driver reports neither clocks nor temperature",
                "`pip install 'nvidia-ml-py>=12'`, if it is missing",
            ),
        ),
        (
            {"mig": True},
            "MIG",
            (
                "note",
                "on: this is a part of a GPU; programs on the other parts make its speed noisy",
                "for a speed that is steady, use a whole GPU",
            ),
        ),
        (
            {"others": ("python (process 71)", "train (process 72)")},
            "other programs",
            (
                "note",
                "python (process 71), train (process 72): speed cannot be measured while they "
                "compute",
                "`nvidia-smi` lists these programs: wait for them, or have them stopped",
            ),
        ),
    ],
    ids=["slow", "silent", "mig", "busy"],
)
def test_limits_of_a_gpu_are_notes(changes, name: str, expected: tuple[str, str, str]):
    assert about_gpu(**changes)[name] == expected


def test_a_gpu_with_few_readings_has_fewer_findings():
    assert not {"MIG", "ECC"} & set(about_gpu(mig=None, ecc=None))
    assert about_gpu(driver=None)["GPU"][1] == "NVIDIA H200, compute capability 9.0"


NO_CUDA = CannotGrade("There is no GPU to grade on: this torch was built without CUDA.")
UNUSED = f"this machine has NVIDIA H200, but it is not used: {NO_CUDA.message}"


@pytest.mark.parametrize(
    ("knows", "hidden", "capability", "expected"),
    [
        ((), None, None, ("note", f"{NO_CUDA.message} Kernels are simulated.", None)),
        (
            *(("NVIDIA H200",), None, None),
            (
                "problem",
                UNUSED,
                "`make clean setup EXTRAS=dev,gpu` installs torch with CUDA; its CUDA must not be "
                "newer than the driver",
            ),
        ),
        (
            *(("NVIDIA H200",), "", None),
            ("note", UNUSED, "the variable CUDA_VISIBLE_DEVICES hides it: unset it"),
        ),
        (("NVIDIA H200",), None, (7, 0), ("note", UNUSED, None)),
    ],
    ids=["none", "torch without CUDA", "hidden", "too old"],
)
def test_without_a_gpu_it_says_why(
    knows, hidden, capability, expected, monkeypatch: pytest.MonkeyPatch
):
    if hidden is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: capability is not None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert fields_of(gpu.no_gpu(NO_CUDA, knows)) == expected


def test_a_machine_without_cuda_has_no_gpu(monkeypatch: pytest.MonkeyPatch):
    def choose(wanted: str) -> str:
        assert wanted == "cuda"
        raise NO_CUDA

    monkeypatch.setattr(devices, "choose_device", choose)
    monkeypatch.setattr(nvml, "names", lambda: ("NVIDIA H200",))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found, findings = gpu.examine()
    assert found is None
    assert [f.state for f in findings] == [State.PROBLEM]


def test_the_figures_come_from_torch_and_nvml(monkeypatch: pytest.MonkeyPatch):
    properties = SimpleNamespace(
        name="NVIDIA H200", major=9, minor=0, L2_cache_size=60 << 20, multi_processor_count=132
    )
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (139 << 30, 140 << 30))
    monkeypatch.setattr(gpu_lock, "uuid", lambda: "GPU-1")
    monkeypatch.setattr(gpu_lock, "others", lambda: (nvml.Process(71, "python"),))
    answers = {
        "read": nvml.Reading(345, 3201, 3201, 34, ()),
        "most_sm_mhz": 1980,
        "mig": False,
        "ecc": True,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(nvml, name, lambda uuid, answer=answer: answer)
    monkeypatch.setattr(nvml, "driver_version", lambda: "580.95")
    assert gpu.read_gpu() == H200.model_copy(update={"others": ("python (process 71)",)})
    properties.name = "NVIDIA H200 MIG 1g.18gb"
    for name in answers:
        monkeypatch.setattr(nvml, name, lambda uuid: None)
    looked = gpu.read_gpu()
    assert looked.mig is True
    assert (looked.sm_mhz, looked.memory_mhz, looked.temperature_c) == (None, None, None)


def test_ceilings_are_measured_under_the_lock(monkeypatch: pytest.MonkeyPatch):
    seen = []

    class Lock:
        def __enter__(self) -> None:
            seen.append("locked")

        def __exit__(self, *_: object) -> None:
            seen.append("released")

    def measure_all(fork_server: object):
        for mix in USUAL_MIXES:
            seen.append(mix.name)
            yield mix, 4.2e12

    monkeypatch.setattr(gpu_lock, "exclusive_gpu", Lock)
    monkeypatch.setattr(gpu.ceilings, "measure_all", measure_all)
    names = [mix.name for mix in USUAL_MIXES]
    measured = gpu.measure(H200, fork_server=None)
    assert seen == ["locked", *names, "released"]
    assert [one.mix for one in measured.ceilings] == names
    assert [fields_of(f) for f in gpu.of_ceilings(measured)] == [
        ("ok", "4,200 GB/s at most", None)
    ] * len(USUAL_MIXES)


def test_doctor_names_whom_the_lock_reaches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(devices, "choose_device", lambda wanted: "cuda")
    monkeypatch.setattr(gpu, "read_gpu", lambda: H200)
    monkeypatch.setattr(gpu_lock, "reach", lambda: (True, "all users"))
    assert fields_of(gpu.examine()[1][-1]) == ("ok", "checks take turns with all users", None)
    monkeypatch.setattr(gpu_lock, "reach", lambda: (False, "this container"))
    assert fields_of(gpu.examine()[1][-1]) == (
        *("note", "checks take turns with this container"),
        "do not measure in another container at the same time",
    )


def test_on_a_busy_gpu_nothing_is_measured():
    busy = H200.model_copy(update={"others": ("python (process 71)",)})
    assert gpu.measure(busy, fork_server=None) == busy
    (finding,) = gpu.of_ceilings(busy)
    assert fields_of(finding) == (
        "note",
        "not measured: other programs use the GPU",
        gpu.OTHER_PROGRAMS,
    )


class Reporter:
    """Collects what a part tells."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.gpus: list[Gpu] = []

    def report(self, *findings: Finding, gpu: Gpu | None = None) -> None:
        self.findings += findings
        self.gpus += [] if gpu is None else [gpu]


@pytest.fixture
def on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU part with stand-ins for the GPU and for its workers."""
    workers = (SimpleNamespace(backend="triton"), SimpleNamespace(backend="numba"))
    monkeypatch.setattr(parts, "_workers", lambda device: nullcontext(workers))
    monkeypatch.setattr(gpu, "examine", lambda: (H200, gpu.of_gpu(H200)))

    def add(group: Group, name: str, fork_server: SimpleNamespace) -> list[Finding]:
        if fork_server.backend == "numba":
            raise KernelFailure(Failure(kind="exception", message="NvvmSupportError: no libnvvm"))
        return [ok(group, name, "compiles")]

    def measure(found: Gpu, fork_server: SimpleNamespace) -> Gpu:
        assert fork_server.backend == "triton"
        return found.model_copy(update={"ceilings": (Ceiling(mix="1 read", gbps=4200.0),)})

    monkeypatch.setattr(trial, "add", add)
    monkeypatch.setattr(gpu, "measure", measure)


def test_a_failure_on_a_gpu_does_not_stop_the_rest(on_a_gpu: None):
    reporter = Reporter()
    parts.gpu(reporter)
    assert [f.name for f in reporter.findings] == [
        *("import torch", "GPU", "memory", "clocks", "MIG", "ECC", "other programs"),
        *("Triton", "numba CUDA", "1 read"),
    ]
    assert fields_of(reporter.findings[-2]) == (
        *("problem", "NvvmSupportError: no libnvvm", packages.REINSTALL),
    )
    assert reporter.gpus[0] == H200
    assert [one.gbps for one in reporter.gpus[-1].ceilings] == [4200.0]


def test_ceilings_that_cannot_be_measured_are_a_problem(
    on_a_gpu: None, monkeypatch: pytest.MonkeyPatch
):
    def measure(found: Gpu, fork_server: object) -> Gpu:
        raise CannotGrade("The GPU has 10 MiB free.", "See with `nvidia-smi`.")

    monkeypatch.setattr(gpu, "measure", measure)
    reporter = Reporter()
    parts.gpu(reporter)
    assert reporter.findings[-1].name == "ceilings"
    assert fields_of(reporter.findings[-1]) == (
        *("problem", "The GPU has 10 MiB free.", "See with `nvidia-smi`."),
    )
    assert reporter.gpus == [H200]


def test_without_a_gpu_nothing_is_compiled(on_a_gpu: None, monkeypatch: pytest.MonkeyPatch):
    lacking = gpu.no_gpu(NO_CUDA, ())
    monkeypatch.setattr(gpu, "examine", lambda: (None, [lacking]))
    reporter = Reporter()
    parts.gpu(reporter)
    assert [f.name for f in reporter.findings] == ["import torch", "GPU"]
    assert reporter.gpus == []


# -- tools


def program(folder: Path, name: str, says: str, status: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\nprintf '{says}'\nexit {status}\n")
    path.chmod(0o755)
    return path


NCU = (
    "NVIDIA (R) Nsight Compute Command Line Profiler\\nCopyright (c) 2018-2025 NVIDIA\\n"
    "Version 2025.3.1.0 (build 36398880) (public-release)\\n"
)


def test_a_tool_is_reported_with_its_version(tmp_path: Path):
    ncu = program(tmp_path, "ncu", NCU)
    assert fields_of(tools.of_tool("ncu", ncu, True)) == ("ok", "2025.3.1.0", None)
    silent = ("note", "found, but does not print its version", "reinstall it")
    assert fields_of(tools.of_tool("ncu", program(tmp_path, "ncu", NCU, status=1), True)) == silent
    assert (
        fields_of(tools.of_tool("ncu", program(tmp_path, "ncu", "no libcuda.so"), True)) == silent
    )
    ncu.write_bytes(b"\x7fELF")
    assert fields_of(tools.of_tool("ncu", ncu, True)) == silent


def test_tools_that_are_missing_are_notes():
    assert tools.of_tool("ncu", None, has_gpu=False).mend is None
    toolkit = "it comes with NVIDIA's CUDA toolkit"
    assert fields_of(tools.of_tool("ncu", None, has_gpu=True)) == (
        *("note", "not found; Nsight Compute reads a GPU's counters", toolkit),
    )
    assert fields_of(tools.of_tool("compute-sanitizer", None, has_gpu=True)) == (
        *("note", "not found; it finds races and stray accesses on a GPU", toolkit),
    )
    assert tools.of_compiler(None, ["Triton"], has_gpu=True).state is State.PROBLEM
    assert fields_of(tools.of_compiler(None, ["Triton"], has_gpu=False)) == (
        "note",
        "not found; Triton needs one on a GPU",
        "`apt-get install gcc`, or what your system has for it",
    )


def test_the_compiler_is_named(tmp_path: Path):
    gcc = program(tmp_path, "gcc", "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\\n")
    assert fields_of(tools.of_compiler(str(gcc), ["Triton"], has_gpu=True)) == (
        "ok",
        "gcc 12.2.0",
        None,
    )


@pytest.mark.parametrize(
    ("driver", "capabilities", "state"),
    [
        ("RmProfilingAdminOnly: 0\n", 0, State.OK),
        ("Other: 1\nRmProfilingAdminOnly: 1\nMore: 0\n", 0, State.NOTE),
        ("RmProfilingAdminOnly: 1\n", 1 << 20, State.NOTE),
        ("RmProfilingAdminOnly: 1\n", 1 << 21, State.OK),
        ("RmProfilingAdminOnly: 1\n", 1 << 38, State.OK),
    ],
)
def test_counters_may_be_for_administrators_only(driver: str, capabilities: int, state: State):
    finding = tools.of_counters(driver, capabilities)
    assert finding.state is state
    if state is State.NOTE:
        assert finding.message == "the driver shows them to administrators only"
        assert finding.mend == (
            "an administrator writes `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into "
            "a file in /etc/modprobe.d and restarts the machine"
        )


# -- walls


def around(*fallen: str, administrator: bool = False) -> list[Finding]:
    """Return the findings where all walls but these hold."""
    tried = [Wall(name=name, held=name not in fallen) for name in walls.MEANING]
    return trial.of_walls(tried, administrator)


def test_walls_that_hold():
    found = around()
    assert len(found) == len(walls.MEANING) + 1
    assert {finding.state for finding in found} == {State.OK}
    assert {finding.group for finding in found} == {Group.WALLS}
    assert (found[-1].name, found[-1].message) == ("--hardened", "all walls that it requires hold")


@pytest.mark.parametrize("wall", sorted(trial.EVERYWHERE - {"memory"}))
def test_a_wall_that_should_hold_and_does_not_is_a_problem(wall: str):
    bad, hardened = [finding for finding in around(wall) if finding.state is not State.OK]
    assert (bad.name, *fields_of(bad)) == (
        *(wall.replace("_", " "), "problem", f"does not hold: {walls.MEANING[wall]}"),
        "do not grade other people's kernels on this machine; docs/trust.md lists the walls",
    )
    assert fields_of(hardened) == (
        *("note", "`grader check --hardened` refuses to run: some of these do not hold", None),
    )


@pytest.mark.parametrize("wall", sorted(walls.REMEDIES))
def test_walls_that_this_machine_does_not_offer_are_notes(wall: str):
    bad, *_ = [finding for finding in around(wall) if finding.state is not State.OK]
    assert fields_of(bad) == (
        *("note", f"does not hold: {walls.MEANING[wall]}"),
        f"needs {walls.REMEDIES[wall]}",
    )


def test_each_wall_has_a_fix_or_holds_everywhere():
    assert walls.REMEDIES.keys() | trial.EVERYWHERE == walls.MEANING.keys()
    assert not walls.REMEDIES.keys() & trial.EVERYWHERE


def test_an_administrator_gets_a_note():
    assert {
        f.name: fields_of(f) for f in around(administrator=True) if f.state is not State.OK
    } == {
        "rights": (
            *("note", "you are an administrator: a kernel file that breaks out has your rights"),
            "work as an ordinary user",
        ),
    }


@pytest.mark.parametrize(
    ("error", "group", "expected"),
    [
        (
            NoWorker("It could not start.\nTraceback\n  x\nImportError: no y", "Look."),
            *(Group.SIMULATORS, ("It could not start. ImportError: no y", packages.REINSTALL)),
        ),
        (CannotGrade("The GPU is full.", "Wait."), Group.GPU, ("The GPU is full.", "Wait.")),
        (
            NoWorker("Start.\nx\ngrader.model.errors.CannotGrade: Triton 4 does not fit"),
            *(Group.SIMULATORS, ("Start. Triton 4 does not fit", packages.REINSTALL)),
        ),
        (
            KernelFailure(Failure(kind="crash", message="it was ended by SIGSEGV")),
            *(Group.SIMULATORS, ("it was ended by SIGSEGV", packages.REINSTALL)),
        ),
        (ValueError("bad"), Group.SIMULATORS, ("ValueError: bad", packages.REINSTALL)),
    ],
    ids=["start", "gpu", "fit", "kernel", "other"],
)
def test_a_trial_that_fails_is_a_problem(error: Exception, group: Group, expected: tuple[str, str]):
    def work(argument: int) -> list[Finding]:
        assert argument == 7
        raise error

    (finding,) = trial.guarded(group, "Triton", work, 7)
    assert fields_of(finding) == ("problem", *expected)


def test_a_compiler_that_was_not_preloaded_is_noted():
    (finding,) = trial.slow_starts(Group.GPU, "Triton", ("Triton's compiler is not preloaded: x",))
    assert finding.state is State.NOTE
    assert finding.message == ("first launches take longer: Triton's compiler is not preloaded: x")


DRY = SimpleNamespace(backend="cuda")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotSimulated("x"), ("ok", "compiles a kernel; a GPU runs it", None)),
        (Unfit("It is missing.", "`get it`."), ("note", "It is missing.", "`get it`.")),
        (NoWorker("It crashed.", "Look."), ("problem", "It crashed.", packages.REINSTALL)),
    ],
    ids=["compiles", "lacks its compiler", "crashes"],
)
def test_a_language_that_only_a_gpu_runs_is_compiled(
    error: Exception, expected: tuple[str, str, str | None], monkeypatch: pytest.MonkeyPatch
):
    def add(*arguments: object) -> list[Finding]:
        raise error

    monkeypatch.setattr(trial, "add", add)
    (finding,) = trial.guarded(Group.TOOLS, "CUDA C++", trial.compiles, "CUDA C++", DRY)
    assert (finding.group, finding.name) == (Group.TOOLS, "CUDA C++")
    assert fields_of(finding) == expected


# -- what walls are made of


class Libc:
    """Stands for the C library: every call fails with one error, or gives one answer."""

    def __init__(self, answer: int) -> None:
        self.answer = answer

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *arguments: self.answer


def libc(monkeypatch: pytest.MonkeyPatch, answer: int, number: int) -> None:
    fake = SimpleNamespace(CDLL=lambda *_, **__: Libc(answer), get_errno=lambda: number)
    monkeypatch.setattr(hardening, "ctypes", fake)


@pytest.mark.parametrize(
    ("look", "answer", "number", "lack"),
    [
        (hardening.user_namespaces, 0, 0, None),
        (hardening.user_namespaces, -1, errno.EPERM, "operation not permitted"),
        (hardening.landlock, 4, 0, None),
        (hardening.landlock, -1, errno.ENOSYS, "function not implemented"),
        (hardening.seccomp, -1, errno.EFAULT, None),
        (hardening.seccomp, -1, errno.EINVAL, "invalid argument"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # pytest has threads
def test_an_error_of_the_linux_kernel_is_named(look, answer, number, lack, monkeypatch):
    libc(monkeypatch, answer, number)
    assert look() == lack


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # pytest has threads
def test_each_thing_that_walls_are_made_of_is_a_fact(monkeypatch: pytest.MonkeyPatch):
    libc(monkeypatch, -1, errno.EPERM)
    assert {f.name: fields_of(f) for f in hardening.findings()} == {
        "user namespaces": ("note", "not there: operation not permitted", None),
        "Landlock": ("note", "not there: operation not permitted", None),
        "seccomp": ("note", "not there: operation not permitted", None),
    }


# -- the course


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (COURSES / "small", [("course", "ok", "3 exercises load", None)]),
        (COURSES / "counted", [("course", "ok", "1 exercise loads", None)]),
        (
            *("/usr",),
            [
                (
                    *("course", "note", "there is no exercises/ in GRADER_COURSE"),
                    "change to the course's folder, or set GRADER_COURSE to it",
                )
            ],
        ),
    ],
    ids=["small", "one", "none"],
)
def test_the_course_loads_or_not(named, expected, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADER_COURSE", str(named))
    assert [(f.name, *fields_of(f)) for f in examine.examine_course()] == expected


def test_a_broken_exercise_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADER_COURSE", str(COURSES / "broken"))
    found = examine.examine_course()
    assert found
    assert {f.state for f in found} == {State.PROBLEM}
    assert all(f"The exercise {f.name} is broken" in f.message and f.mend for f in found)


def test_a_course_that_is_empty_or_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GRADER_COURSE", raising=False)
    monkeypatch.chdir(tmp_path)
    (nowhere,) = examine.examine_course()
    assert nowhere.message == "there is no exercises/ in this folder or above it"
    (tmp_path / "exercises").mkdir()
    (empty,) = examine.examine_course()
    assert fields_of(empty) == ("note", "it has no exercises yet", "add one")


# -- the record

HOME = os.path.expanduser("~")


def test_a_user_without_a_name_has_no_secrets(monkeypatch: pytest.MonkeyPatch):
    def nobody(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(records.pwd, "getpwuid", nobody)
    monkeypatch.setenv("HOME", "/homes/Anna Smith")
    assert records.without_secrets("/homes/Anna Smith/x.so is bad") == "…/x.so is bad"
    assert walls._users_home() == Path("/")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"{HOME}/course/spec.py fails", "…/spec.py fails"),
        ("ImportError: /data/anna/lib.so: undefined", "ImportError: …/lib.so: undefined"),
        ('File "/tmp/a-b/z.py", line 3', 'File "…/z.py", line 3'),
        (f"in {HOME}", "in ~"),
        ("see /etc/modprobe.d and /usr/local/cuda", "see /etc/modprobe.d and /usr/local/cuda"),
        ("in /usr/home/anna/x", "in …/x"),
        ("1/2 of it, and/or https://pytorch.org/get", "1/2 of it, and/or https://pytorch.org/get"),
        ("`pip install 'numpy<2.5'`; docs/trust.md", "`pip install 'numpy<2.5'`; docs/trust.md"),
    ],
)
def test_paths_are_cut_to_their_last_part(text: str, cleaned: str):
    assert records.without_secrets(text) == cleaned


def test_a_finding_of_several_parts_is_listed_once_in_order():
    course = ok(Group.COURSE, "course", "6 exercises load")
    first = problem(Group.INSTALLATION, "import torch", f"{HOME}/x.so is bad", f"fix {HOME}/x.so")
    last = ok(Group.INSTALLATION, "system", "Linux")
    more = H200.model_copy(update={"ceilings": (Ceiling(mix="1 read", gbps=1.5),)})
    made = examine.assemble(
        [
            PartReport(findings=(course,), gpu=H200),
            PartReport(findings=(first, last)),
            PartReport(findings=(first,), gpu=more),
        ]
    )
    cleaned = problem(Group.INSTALLATION, "import torch", "…/x.so is bad", "fix …/x.so")
    assert made.findings == (cleaned, last, course)
    assert made.gpu == more


def test_an_examination_survives_json():
    made = examine.assemble([PartReport(findings=(ok(Group.COURSE, "course", "x"),), gpu=H200)])
    text = made.model_dump_json(by_alias=True)
    assert json.loads(text)["schema"] == "grader/doctor/v1"
    assert Examination.model_validate_json(text) == made


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([State.OK, State.NOTE], 0),
        ([State.OK, State.PROBLEM, State.NOTE], CannotGrade.exit_code),
    ],
)
def test_only_a_problem_ends_with_3(
    states: list[State], code: int, monkeypatch: pytest.MonkeyPatch, capsys
):
    found = tuple(
        Finding(group=Group.TOOLS, name=f"{n}", state=s, message="x") for n, s in enumerate(states)
    )
    made = examine.assemble([PartReport(findings=found)])
    assert records.exit_code(made) == code
    monkeypatch.setattr(examine, "run", lambda progress: made)
    assert cli.main(["doctor", "--json"]) == code
    assert Examination.model_validate_json(capsys.readouterr().out) == made


# -- processes that end badly


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let a shell script stand for the Python that looks at a part."""

    def become(script: str) -> None:
        path = program(tmp_path, "python", "")
        path.write_text(f"#!/bin/sh\n{script}\n")
        monkeypatch.setattr(sys, "executable", str(path))

    return become


REPORTED = PartReport(findings=(ok(Group.SIMULATORS, "Triton", "works"),)).model_dump_json()


@pytest.mark.parametrize(
    ("script", "messages"),
    [
        (f"echo '{REPORTED}'", ["works"]),
        (
            f"echo '{REPORTED}'; printf '%s' '{REPORTED[:20]}'; kill -ABRT $$",
            [
                "works",
                "the process that examined this was ended by SIGABRT (the C library or the code "
                "itself gave up)",
            ],
        ),
        (
            "echo early >&2; echo 'OSError: disk full' >&2; exit 1",
            [
                "the process that examined this ended itself with exit status 1: OSError: disk "
                "full; it had reported nothing yet, and imports torch first"
            ],
        ),
        (
            f"echo '{REPORTED}'; exec sleep 60",
            ["works", "the process that examined this took longer than 1 s and was stopped"],
        ),
    ],
    ids=["well", "crash", "error", "hang"],
)
def test_a_bad_end_of_a_part_is_a_finding(stand_in, script: str, messages: list[str], monkeypatch):
    monkeypatch.setattr(examine, "LIMIT_S", 1.0)
    stand_in(script)
    with examine._Part("simulators") as part:
        found = [finding for one in part.reports() for finding in one.findings]
    assert [finding.message for finding in found] == messages
    for bad in found[1:]:
        assert (bad.state, bad.mend) == (State.PROBLEM, packages.REINSTALL)


def test_every_part_can_be_started():
    assert list(parts.PARTS) == list(examine.PARTS)


def test_a_part_that_is_not_waited_for_is_ended(stand_in):
    stand_in("exec sleep 60")
    with pytest.raises(KeyboardInterrupt), examine._Part("gpu") as part:
        raise KeyboardInterrupt
    assert part._process.returncode == -9


def test_one_look_that_fails_does_not_stop_the_rest(stand_in, monkeypatch: pytest.MonkeyPatch):
    stand_in(f"echo '{REPORTED}'")

    def broken() -> list[Finding]:
        raise RuntimeError("no luck")

    monkeypatch.setattr(tools, "findings", broken)
    monkeypatch.setattr(examine, "DRIVERS", ())
    monkeypatch.setenv("GRADER_COURSE", str(COURSES / "small"))
    made = examine.run(lambda line: None)
    assert [(f.group, *fields_of(f)) for f in made.findings] == [
        (Group.SIMULATORS, "ok", "works", None),
        (
            *(Group.GPU, "note"),
            "No driver of an NVIDIA GPU is loaded. Kernels are simulated; speed is not graded.",
            None,
        ),
        (
            *(Group.TOOLS, "problem", "could not be examined: RuntimeError: no luck"),
            "report it: the grader is at fault",
        ),
        (Group.COURSE, "ok", "3 exercises load", None),
    ]


# -- what people read

LAPTOP = (
    ok(Group.INSTALLATION, "Python", "3.12.9"),
    problem(
        *(Group.INSTALLATION, "numpy"),
        "2.5.0 does not work here: numba-cuda 0.30 uses np.row_stack, which NumPy 2.5 removed",
        "`pip install 'numpy<2.5'`",
    ),
    ok(Group.SIMULATORS, "Triton", "simulates a kernel: 1,000 sums are right"),
    problem(Group.SIMULATORS, "numba CUDA", "AttributeError: row_stack", packages.REINSTALL),
    note(Group.TOOLS, "compute-sanitizer", "not found", "it comes with NVIDIA's CUDA toolkit"),
)


def test_a_report_repeats_its_problems_with_their_fixes(snapshot: SnapshotAssertion):
    assert render.report(examine.assemble([PartReport(findings=LAPTOP)]), 80).plain == snapshot


SOUND = (
    ok(Group.INSTALLATION, "Python", "3.12.9"),
    ok(Group.INSTALLATION, "torch", "2.13.0"),
    *(ok(Group.INSTALLATION, name, "1.0") for name in "cdefgh"),
    ok(Group.SIMULATORS, "Triton", "simulates a kernel: 1,000 sums are right"),
    note(Group.GPU, "GPU", examine.NO_DRIVER),
    note(Group.TOOLS, "ncu", "not found"),
    ok(Group.WALLS, "home", "it gets a new home folder"),
    ok(Group.WALLS, "network", "it reaches no network"),
    ok(Group.HARDENING, "seccomp", "there"),
    ok(Group.COURSE, "course", "27 exercises load"),
)


def brief(*findings: Finding) -> str:
    made = examine.assemble([PartReport(findings=findings)])
    return render.report(made, 80, brief=True).plain


def test_a_learner_reads_few_lines(snapshot: SnapshotAssertion):
    report = brief(*SOUND)
    assert report == snapshot
    assert len(report.splitlines()) <= render.MOST_LINES


def test_a_reason_is_wrapped_and_not_cut():
    reason = "you are an administrator: a kernel file that breaks out has your rights"
    report = brief(note(Group.WALLS, "rights", reason, "work as an ordinary user"))
    assert reason in " ".join(report.split())
    assert "…" not in report


def test_a_note_with_a_fix_comes_before_others():
    """A patch version of hypothesis that nobody had tested came first of all."""
    others = (note(Group.INSTALLATION, "hypothesis", "6.170.16 is not tested"), *SOUND)
    assert "✔ installation  Python 3.12.9, torch 2.13.0\n" in brief(*others)
    missing = note(Group.TOOLS, "CUDA C++", "NVRTC is not installed.", "`get it`")
    assert "– tools         CUDA C++: NVRTC is not installed\n" in brief(*others, missing)


def test_packages_begin_with_torch_and_the_languages():
    names = [one.name for one in packages.needed()]
    of_languages = {one.name for backend in backends.every() for one in backend.packages}
    assert names[0] == "torch"
    assert set(names[1 : 1 + len(of_languages)]) == of_languages
    assert {"numpy", "pytest", "hypothesis"} < set(names[1 + len(of_languages) :])


def test_a_learner_reads_the_name_of_a_gpu_in_good_order():
    """A line such as "2 checks passed" would not say which GPU grades."""
    of_gpu = [ok(Group.GPU, "GPU", "NVIDIA H200"), ok(Group.GPU, "memory", "139 GiB free")]
    report = render.report(
        examine.assemble([PartReport(findings=tuple(of_gpu))]), 80, brief=True
    ).plain
    assert "  ✔ GPU           NVIDIA H200\n" in report


def test_of_a_machine_with_problems_a_learner_reads_those(snapshot: SnapshotAssertion):
    assembled = examine.assemble([PartReport(findings=(*LAPTOP, *SOUND))])
    assert render.report(assembled, 80, brief=True).plain == snapshot


@pytest.mark.parametrize("problems", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("words", [1, 30, 300])
@pytest.mark.parametrize("width", [80, 100])
def test_no_machine_takes_more_than_so_many_lines(problems: int, words: int, width: int):
    found = [
        problem(group, f"part {n}", "word " * words, "do " * words)
        for n, group in zip(range(problems), 10 * list(Group), strict=False)
    ]
    found += [note(group, "part", "word " * words, "do " * words) for group in Group]
    assembled = examine.assemble([PartReport(findings=tuple(found))])
    report = render.report(assembled, width, brief=True).plain
    lines = report.splitlines()
    assert len(lines) <= render.MOST_LINES
    assert max(map(len, lines)) <= width
    assert "`grader doctor -v` lists them" in report
    assert lines[-1].startswith(("here: ", "      "))


def test_v_lists_every_finding(monkeypatch: pytest.MonkeyPatch, capsys):
    made = examine.assemble([PartReport(findings=SOUND)])
    monkeypatch.setattr(examine, "run", lambda progress: made)
    for option, listed in ([], False), (["-v"], True), (["--verbose"], True):
        assert cli.main(["doctor", *option]) == 0
        assert ("it reaches no network" in capsys.readouterr().out) == listed


SIMULATED = [ok(Group.SIMULATORS, name, "x") for name in ("Triton", "numba CUDA")]
COMPILED = [ok(Group.GPU, name, "x") for name in ("Triton", "numba CUDA")]


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([], "nothing is simulated; speed needs a CUDA GPU"),
        (
            SIMULATED,
            "Triton and numba CUDA kernels are graded in simulation; speed needs a CUDA GPU",
        ),
        (
            SIMULATED + COMPILED[:1],
            "Triton and numba CUDA kernels are graded in simulation, Triton kernels on the GPU, "
            "with their speed",
        ),
    ],
)
def test_the_last_line_lists_the_working_parts(findings: list[Finding], expected: str):
    assert render.graded_here(examine.assemble([PartReport(findings=tuple(findings))])) == expected


# -- the real command, in a Python of its own


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mapping[str, str]], Path]:
    """Make an environment with some files before those that are installed here."""

    def make(files: Mapping[str, str]) -> Path:
        folder = tmp_path_factory.mktemp("somebody") / "secretproject"
        venv.EnvBuilder(symlinks=True).create(folder)
        (site,) = folder.glob("lib/python*/site-packages")
        installed = [path for path in sys.path if path.endswith("-packages")]
        # With the .pth files in them: numba-cuda puts itself in numba's place by one.
        lines = [f"import site; site.addsitedir({path!r})" for path in installed]
        (site / "rest.pth").write_text("\n".join([str(ROOT), *lines]))
        for name, text in files.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(text)
        return folder / "bin" / "python"

    return make


def doctor(
    executable: Path | str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(executable), "-I", "-m", "grader.cli", "doctor", *arguments],
        cwd=ROOT,
        env=os.environ
        | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "GRADER_COURSE": str(ROOT)}
        | environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def examined(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], Finding]:
    made = Examination.model_validate_json(done.stdout)
    assert done.returncode == records.exit_code(made), done.stderr
    for finding in made.findings:
        assert finding.message
        assert finding.mend or finding.state is not State.PROBLEM
    found = {(finding.group.value, finding.name): finding for finding in made.findings}
    assert len(found) == len(made.findings), "two findings of one name"
    return found


@pytest.fixture(scope="module")
def here() -> subprocess.CompletedProcess[str]:
    """Examine this machine by the command."""
    return doctor(sys.executable, "--json")


def test_this_machine_in_json(here: subprocess.CompletedProcess[str]):
    assert here.stdout.count("\n") == 1
    found = examined(here)
    for name in ("Triton", "numba CUDA"):
        assert fields_of(found["simulators", name]) == (
            *("ok", "simulates a kernel: 1,000 sums are right", None),
        )
    for name in trial.EVERYWHERE:
        finding = found["walls", name.replace("_", " ")]
        assert finding.state is State.OK, finding.message
    assert {"judge memory", "--hardened"} <= {name for group, name in found if group == "walls"}
    assert {name for group, name in found if group == "installation"} == {
        *("Python", "system", "import torch", *NEWEST),
    }
    assert found["tools", "CUDA C++"].state in (State.OK, State.NOTE)
    assert re.fullmatch(r"\d+ exercises load", found["course", "course"].message)
    groups = [group for group, _ in found]
    assert sorted(groups, key=[g.value for g in Group].index) == groups
    assert set(groups) == {group.value for group in Group}


@pytest.fixture
def in_text(monkeypatch: pytest.MonkeyPatch, capsys) -> Callable[[str], str]:
    """Print here, as text, what the command found; with a broken torch, below, it prints itself."""

    def printed(found: str) -> str:
        made = Examination.model_validate_json(found)
        monkeypatch.setattr(examine, "run", lambda progress: made)
        monkeypatch.setenv("COLUMNS", "80")
        assert cli.main(["doctor"]) == records.exit_code(made)
        return capsys.readouterr().out

    return printed


def test_this_machine_in_text(here: subprocess.CompletedProcess[str], in_text):
    shown = in_text(here.stdout)
    assert_short(shown)
    assert "here: Triton and numba CUDA kernels are graded in simulation" in shown


def assert_short(shown: str) -> None:
    """It fits on a screen, says in one line how much was found, and has no colour."""
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert len(shown.splitlines()) <= render.MOST_LINES
    sums = r"^(NO PROBLEM|\d+ PROBLEMS?)  \d+ checks passed, \d+ notes?; "
    assert re.search(sums, shown, re.MULTILINE)


@pytest.fixture
def of_anna(tmp_path: Path) -> dict[str, str]:
    """Variables of somebody of whom no report shows anything."""
    home = tmp_path / "homes" / "anna-secret"
    home.mkdir(parents=True)
    names = {"HOME": str(home), "USER": "anna-secret", "LOGNAME": "anna-secret"}
    return names | {"GITHUB_TOKEN": "ghp_secret", "HF_TOKEN": "hf_secret"}


def assert_no_secrets(shown: str, of_anna: Mapping[str, str]) -> None:
    for secret in ("secret", str(Path(of_anna["HOME"]).parents[1]), os.uname().nodename, str(ROOT)):
        assert secret not in shown


def test_a_torch_that_cannot_be_imported_is_one_problem_among_findings(python, of_anna):
    broken = "raise ImportError(f'{__file__}/libtorch.so: undefined symbol: at')"
    executable = python({"torch/__init__.py": broken})
    text = doctor(executable, **of_anna, NO_COLOR="1").stdout
    assert_short(text)
    assert "ImportError: …/libtorch.so: undefined symbol: at" in " ".join(text.split())
    done = doctor(executable, "--json", **of_anna)
    assert_no_secrets(done.stdout + text, of_anna)
    found = examined(done)
    assert fields_of(found["installation", "import torch"]) == (
        "problem",
        "torch cannot be imported: ImportError: …/libtorch.so: undefined symbol: at",
        packages.REINSTALL,
    )
    assert found["simulators", "simulators"].message == "not tested: they need torch"
    assert found["hardening", "seccomp"].message
    assert found["course", "course"].state is State.OK


def test_a_missing_torch_is_reported_once(python):
    gone = "raise ModuleNotFoundError('No module', name='torch')"
    found = examined(doctor(python({"torch/__init__.py": gone}), "--json"))
    assert ("installation", "import torch") not in found
    assert found["simulators", "simulators"].message == "not tested: they need torch"


def test_a_torch_that_crashes_is_a_finding(python):
    found = examined(doctor(python({"torch/__init__.py": "import os; os.abort()"}), "--json"))
    assert found["simulators", "process"].message == (
        "the process that examined this was ended by SIGABRT (the C library or the code itself "
        "gave up); it had reported nothing yet, and imports torch first"
    )
    assert found["installation", "numpy"].state is State.OK


@pytest.fixture(scope="module")
def lacking(python) -> dict[tuple[str, str], Finding]:
    """Return the findings where Triton is missing, and the compiler of CUDA C++."""
    no_triton = """raise ModuleNotFoundError("No module named 'triton'")"""
    no_nvrtc = "from grader.backends.cuda import preload; preload.nvrtc = None"
    executable = python({"triton/__init__.py": no_triton, "sitecustomize.py": no_nvrtc})
    return examined(doctor(executable, "--json"))


def test_one_simulator_that_is_missing_does_not_stop_the_other(lacking):
    assert lacking["simulators", "Triton"].message == (
        "The worker process could not start (it ended itself with exit status 1). "
        "ModuleNotFoundError: No module named 'triton'"
    )
    assert lacking["simulators", "numba CUDA"].state is State.OK
    assert lacking["walls", "leftovers"].state is State.OK


def test_the_compiler_of_cuda_that_is_missing_is_a_note_with_its_command(lacking):
    """`kernel_cuda.py` could not be graded, and doctor said that all was as it should be.

    The command ends with 3 for the one problem there is, which is Triton's.
    """
    assert fields_of(lacking["tools", "CUDA C++"]) == (
        "note",
        "NVRTC, which compiles CUDA C++, is not installed.",
        "`pip install 'kernel-grader[cuda]'` brings it.",
    )
    problems = {about for about, one in lacking.items() if one.state is State.PROBLEM}
    assert problems == {("simulators", "Triton")}


BROKEN = {
    "numpy-2.5.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: numpy\nVersion: 2.5.0\n",
    "triton/__init__.py": "import os\nprint('about to die', flush=True)\nos.abort()",
    "numba/__init__.py": "raise AttributeError(f'{__file__}/x has no row_stack')",
}


def test_broken_simulators_are_findings_without_secrets(python, of_anna, in_text):
    done = doctor(python(BROKEN), "--json", **of_anna)
    found = examined(done)
    assert found["installation", "numpy"].mend == "`pip install 'numpy<2.5'`"
    start = "The worker process could not start (it "
    assert fields_of(found["simulators", "Triton"]) == (
        "problem",
        f"{start}was ended by SIGABRT (the C library or the code itself gave up)). about to die",
        packages.REINSTALL,
    )
    assert found["simulators", "numba CUDA"].message == (
        f"{start}ended itself with exit status 1). AttributeError: …/x has no row_stack"
    )
    assert found["walls", "walls"].message == "not tested: no worker works"
    text = in_text(done.stdout)
    assert_short(text)
    assert_no_secrets(done.stdout + text, of_anna)


@pytest.mark.parametrize("told", ["examining", "waiting for: simulators"])
def test_ctrl_c_leaves_nothing_behind(told: str, tmp_path: Path):
    command = [sys.executable, "-I", "-m", "grader.cli", "doctor"]
    running = subprocess.Popen(
        command,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        # A suite that runs in the background ignores it, and would hand that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert running.stderr is not None
    while told not in running.stderr.readline():
        assert running.poll() is None
    os.killpg(running.pid, signal.SIGINT)
    output, said = running.communicate()
    assert running.returncode == 130
    assert output == ""
    assert "Traceback" not in said
    deadline = time.monotonic() + 30
    while left_in(tmp_path) or any(str(tmp_path) in line for line in environments()):
        assert time.monotonic() < deadline, "something is left"
        time.sleep(0.1)


def left_in(folder: Path) -> list[Path]:
    """All but an empty file: with such a one Python tries whether a temporary folder can be written
    to, and it stays where the process is ended at that very moment."""
    return [path for path in folder.iterdir() if path.is_dir() or path.stat().st_size]


def environments() -> list[str]:
    """What each process of this machine was started with."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found.append(path.read_bytes().decode(errors="replace"))
    return found


@pytest.mark.gpu
def test_a_gpu_is_named_and_each_of_its_ceilings_is_measured():
    done = doctor(sys.executable, "--json")
    found = examined(done)
    made = Examination.model_validate_json(done.stdout)
    assert made.gpu is not None
    assert made.gpu.name == torch.cuda.get_device_name()
    assert [one.mix for one in made.gpu.ceilings] == [mix.name for mix in USUAL_MIXES]
    assert all(one.gbps > 50 for one in made.gpu.ceilings)
    assert made.gpu.driver
    assert made.gpu.l2_bytes > 0
    assert 0 < made.gpu.free_bytes <= made.gpu.memory_bytes
    for name in ("Triton", "numba CUDA"):
        assert found["gpu", name].message == "compiles and runs a kernel: 1,000 sums are right"
    shown = doctor(sys.executable, "-v").stdout
    assert f"✔ GPU                {made.gpu.name}" in shown
    assert "kernels on the GPU, with their speed" in " ".join(shown.split())
