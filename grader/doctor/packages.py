"""Python and the packages that grading needs, against the versions that were tested."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from grader.doctor.records import Finding, Group, note, ok, problem

PYTHONS = ("3.11", "3.12", "3.13")
AGAIN = "`make clean setup` installs the tested versions (with EXTRAS=dev,gpu where a GPU is)"


@dataclass(frozen=True)
class Tested:
    """A package, the versions that the tests ran with, and pyproject.toml's range.

    `gpu` packages are of no use without a GPU.
    """

    package: str
    versions: tuple[str, ...]
    needs: str
    gpu: bool = False


MATRIX = (
    Tested("torch", ("2.13.0", "2.11.0"), ">=2.11"),
    Tested("triton", ("3.9.0", "3.7.1", "3.6.0"), ">=3.6"),
    Tested("numba", ("0.68.1",), ">=0.62"),
    Tested("numba-cuda", ("0.30.4",), ">=0.30"),
    Tested("numpy", ("2.4.6",), ">=2.0,<2.5"),
    Tested("greenlet", ("3.5.6",), ">=3.1"),
    Tested("pytest", ("9.2.0",), ">=8.3"),
    Tested("hypothesis", ("6.170.15",), ">=6.120"),
    Tested("cuda-bindings", ("13.5.0",), ">=13", gpu=True),
    Tested("nvidia-ml-py", ("13.615.71",), ">=12", gpu=True),
)


@dataclass(frozen=True)
class Clash:
    """Versions of two packages that are known not to work together."""

    package: str
    versions: str
    other: str
    other_versions: str
    why: str
    mend: str


CLASHES = (
    Clash(
        *("numpy", ">=2.5", "numba-cuda", "==0.30.*"),
        why="numba-cuda 0.30 uses np.row_stack, which NumPy 2.5 removed",
        mend="`pip install 'numpy<2.5'`",
    ),
)


def findings(has_gpu: bool) -> list[Finding]:
    """What this process would import, as a judge would."""
    installed = {tested.package: _version(tested.package) for tested in MATRIX}
    python, system = platform.python_version(), platform.system()
    return [of_python(python), of_system(system), *of_packages(installed, has_gpu)]


def of_python(version: str) -> Finding:
    if ".".join(version.split(".")[:2]) in PYTHONS:
        return ok(Group.INSTALLATION, "Python", version)
    known = ", ".join(PYTHONS)
    mend = f"install one of them, then `make clean setup PYTHON=python{PYTHONS[-1]}`"
    return problem(Group.INSTALLATION, "Python", f"{version}; the grader needs {known}", mend)


def of_system(name: str) -> Finding:
    if name == "Linux":
        return ok(Group.INSTALLATION, "system", f"Linux on {platform.machine()}")
    told = f"{name}; the grader needs Linux"
    return problem(Group.INSTALLATION, "system", told, "on Windows, install it in WSL 2")


def of_packages(installed: Mapping[str, str | None], has_gpu: bool) -> list[Finding]:
    """A finding for each package of MATRIX; `installed` has versions, or None for what is not."""
    found = []
    for tested in MATRIX:
        clash = _clash(tested.package, installed)
        if clash is not None:
            told = f"{installed[tested.package]} does not work here: {clash.why}"
            found.append(problem(Group.INSTALLATION, tested.package, told, clash.mend))
        else:
            found.append(_of_package(tested, installed[tested.package], has_gpu))
    return found


def _of_package(tested: Tested, version: str | None, has_gpu: bool) -> Finding:
    about = (Group.INSTALLATION, tested.package)
    mend = f"`pip install '{tested.package}{tested.needs}'`"
    if version is None:
        if tested.gpu and not has_gpu:
            return ok(*about, "not installed; only needed with a GPU")
        return problem(*about, "not installed", mend)
    try:
        public = Version(version).public  # without what a build adds, such as `+cpu`
    except InvalidVersion:
        return problem(*about, f"{version!r} is no version: a broken installation?", AGAIN)
    if public in tested.versions:
        return ok(*about, version)
    known = ", ".join(tested.versions)
    if _within(version, tested.needs):
        return note(*about, f"{version} is not tested; tested: {known}")
    return problem(*about, f"{version}; the grader needs {tested.needs}, tested: {known}", mend)


def _clash(package: str, installed: Mapping[str, str | None]) -> Clash | None:
    for clash in CLASHES:
        both = installed.get(clash.package), installed.get(clash.other)
        if (
            clash.package == package
            and _within(both[0], clash.versions)
            and _within(both[1], clash.other_versions)
        ):
            return clash
    return None


def _within(version: str | None, versions: str) -> bool:
    try:
        return version is not None and SpecifierSet(versions).contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _version(package: str) -> str | None:
    try:
        return str(metadata.version(package))
    except metadata.PackageNotFoundError:
        return None
