"""For all tests: torch on one thread each, how Hypothesis draws, and which files begin."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

# Because the suite runs on every core already.
torch.set_num_threads(1)

# No test asserts a time: a busy machine is no failure.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make redteam-fuzz`: tests/test_fuzz.py draws five times as many examples a round as in the suite.
settings.register_profile(
    "fuzz", settings.get_profile("suite"), max_examples=5 * settings.default.max_examples
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# Files that take a minute or so, mostly for the judges and workers that they start. A core runs a
# file at a time (`make test`), so one of these at the end would leave the other cores idle.
LONG = (
    *("test_cheats_between_runs", "test_bad_input", "test_honest", "test_walls", "test_verify"),
    *("test_doctor", "test_classroom", "test_classroom_guide"),
)
assert all(Path(__file__).with_name(f"{name}.py").is_file() for name in LONG)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first, the longest at the very front; the others as they were."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
