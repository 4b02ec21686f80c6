"""Set up all tests: threads, how Hypothesis draws, and which files begin."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import extended
import pytest
import warm
from hypothesis import HealthCheck, settings

# The suite runs on every core already. torch reads this when it is imported, which is not here:
# the files of tests that need no torch are collected in a second.
os.environ["OMP_NUM_THREADS"] = "1"

# No test asserts a time: a busy machine is no failure.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make redteam-fuzz` draws five times as many examples a round in tests/trust/test_fuzz*.py.
settings.register_profile(
    "fuzz", settings.get_profile("suite"), max_examples=5 * settings.default.max_examples
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# The files that take longest, mostly for the judges and workers that they start. A core runs a file
# at a time (`make test`), so one of these at the end would leave the other cores idle.
LONG = tuple(
    Path(__file__).parent / f"{name}.py"
    for name in (
        *("trust/test_bad_input", "classroom/test_guide", "grading/test_warm_judge"),
        *("cli/test_grade", "house/test_site", "trust/test_cheats_between_runs"),
        *("doctor/test_doctor", "trust/test_honest", "classroom/test_installed_wheel"),
        *("grading/test_bench", "grading/steps/test_causes_of_kernels", "authoring/test_lint"),
        *("backends/triton/test_liger", "classroom/test_workflows", "sandbox/test_walls"),
        *("classroom/test_release_proof", "correctness/test_acceptance"),
        *("backends/numba/test_simulator", "grading/test_two_parts", "grading/test_entries"),
        *("classroom/board/test_pages", "classroom/board/test_browser", "speed/test_slots"),
        "grading/steps/test_memory",
    )
)
assert all(path.is_file() for path in LONG)


# Folders and files whose subject is how processes start and end, and what one of them can reach.
# Theirs start as a user's do. All others have theirs forked, already with torch: tests/warm.py.
COLD = tuple(
    Path(__file__).parent / name
    for name in (
        *("sandbox", "doctor", "machine", "cli/test_end_to_end.py", "cli/test_edges.py"),
        *("cli/loop/test_terminal.py", "cli/test_grade.py", "classroom/batch/test_slurm.py"),
        *("trust/test_bad_input.py", "trust/test_cheats.py", "trust/test_fuzz.py"),
        *("trust/test_cheats_between_entries.py", "trust/test_cheats_between_runs.py"),
        *("trust/test_walls_of_devices.py",),
        *("grading/test_judge.py", "grading/test_check.py"),
        *("speed/test_clock.py", "backends/triton/test_compile_ttir.py"),
    )
)
assert all(path.exists() for path in COLD)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cold", action="store_true", help="start each process as users do")


@pytest.fixture(scope="module", autouse=True)
def _forked_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """On a GPU each other process counts as another program: there, too, none is forked."""
    path, config = request.path, request.config
    cold = config.getoption("--cold") or config.getoption("-m") == "gpu"
    warm.use(not cold and not any(path.is_relative_to(place) for place in COLD))
    yield
    warm.use(warm=False)


@pytest.fixture(scope="module", autouse=True)
def _no_extension_stays() -> Iterator[None]:
    yield
    extended.take_back()


@functools.cache
def has_gpu() -> bool:
    """Ask torch, which takes seconds to import, only where NVIDIA's driver is loaded."""
    if not Path("/dev/nvidiactl").exists():
        return False
    import torch

    return torch.cuda.is_available()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test before its fixtures are set up, which may need the GPU or start judges.

    What it draws by torch is the same each time. Torch begins with another seed in each process:
    one suite in 400 drew two equal places where a test of withheld inputs needs two places.
    """
    if item.get_closest_marker("gpu") and not has_gpu():
        pytest.skip("needs a CUDA GPU")
    if torch := sys.modules.get("torch"):
        torch.manual_seed(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect garbage neither while 16,000 tests are made, nor ever among them.

    Nothing of them is garbage, and looking took a fourth of the time that they take to be made.
    """
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first, the longest at the very front; the others as they were."""
    items.sort(key=lambda item: LONG.index(item.path) if item.path in LONG else len(LONG))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m 'not slow'` import no file whose tests are all slow: importing takes seconds."""
    if config.getoption("-m") != "not slow" or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return "\npytestmark = pytest.mark.slow\n" in text or None
