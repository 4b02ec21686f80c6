"""Python and the packages that grading needs, against the versions that were tested."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

import grader
from grader import backends
from grader.doctor.records import Finding, Group, note, ok, problem
from grader.model import Clash, Package

PYTHONS = ("3.11", "3.12", "3.13")


def reinstall(in_a_clone: bool) -> str:
    """Say how to install the packages again, in a clone of the repository or without one."""
    if in_a_clone:
        return (
            "`make clean setup` installs the tested versions (with EXTRAS=dev,gpu where a GPU is)"
        )
    return "in a new environment, `pip install kernel-grader` (`kernel-grader[gpu]` where a GPU is)"


REINSTALL = reinstall((Path(grader.__file__).parents[1] / "Makefile").is_file())

# Packages that grading needs for every kernel language; each backend names its own.
OWN = (
    Package(name="torch", tested=("2.13.0", "2.11.0"), needs=">=2.11,<2.14"),
    Package(name="numpy", tested=("2.4.6",), needs=">=2.0,<2.5"),
    Package(name="pytest", tested=("9.2.0",), needs=">=8.3"),
    Package(name="hypothesis", tested=("6.170.15",), needs=">=6.120,<7"),
    Package(name="cuda-bindings", tested=("13.5.0",), needs=">=13,<14", gpu=True),
    Package(name="nvidia-ml-py", tested=("13.615.71",), needs=">=12", gpu=True),
)


def needed() -> tuple[Package, ...]:
    """Return the packages that grading needs: torch and the languages, then the others."""
    torch, *others = OWN
    return (torch, *(one for backend in backends.every() for one in backend.packages), *others)


def findings(has_gpu: bool) -> list[Finding]:
    """Report on the packages that this process, and so a judge, would import."""
    installed = {package.name: _version(package.name) for package in needed()}
    python, system = platform.python_version(), platform.system()
    return [of_python(python), of_system(system), *of_packages(installed, has_gpu)]


def of_python(version: str) -> Finding:
    if ".".join(version.split(".")[:2]) in PYTHONS:
        return ok(Group.INSTALLATION, "Python", version)
    known = ", ".join(PYTHONS)
    fix = f"install one of them, then `make clean setup PYTHON=python{PYTHONS[-1]}`"
    return problem(Group.INSTALLATION, "Python", f"{version}; the grader needs {known}", fix)


def of_system(name: str) -> Finding:
    if name == "Linux":
        return ok(Group.INSTALLATION, "system", f"Linux on {platform.machine()}")
    message = f"{name}; the grader needs Linux"
    return problem(Group.INSTALLATION, "system", message, "on Windows, install it in WSL 2")


def of_packages(installed: Mapping[str, str | None], has_gpu: bool) -> list[Finding]:
    """Return a finding for each package; `installed` has versions, or None for a missing one."""
    found = []
    for package in needed():
        clash = _clash(package.name, installed)
        if clash is not None:
            message = f"{installed[package.name]} does not work here: {clash.why}"
            found.append(problem(Group.INSTALLATION, package.name, message, clash.fix))
        else:
            found.append(_of_package(package, installed[package.name], has_gpu))
    return found


def _of_package(package: Package, version: str | None, has_gpu: bool) -> Finding:
    about = (Group.INSTALLATION, package.name)
    fix = f"`pip install '{package.name}{package.needs}'`"
    if version is None:
        if package.gpu and not has_gpu:
            return ok(*about, "not installed; only needed with a GPU")
        return problem(*about, "not installed", fix)
    try:
        public = Version(version).public  # without what a build adds, such as `+cpu`
    except InvalidVersion:
        return problem(
            *about, f"{version!r} is not a version: the installation may be broken", REINSTALL
        )
    if public in package.tested:
        return ok(*about, version)
    known = ", ".join(package.tested)
    if _within(version, package.needs):
        return note(*about, f"{version} is not tested; tested: {known}")
    return problem(*about, f"{version}; the grader needs {package.needs}, tested: {known}", fix)


def _clash(package: str, installed: Mapping[str, str | None]) -> Clash | None:
    for clash in (clash for backend in backends.every() for clash in backend.clashes):
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
