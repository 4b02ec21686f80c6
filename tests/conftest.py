"""For all tests: torch on one thread each, and how Hypothesis draws."""

from __future__ import annotations

import os

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
