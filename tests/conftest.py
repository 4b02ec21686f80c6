"""For all tests: torch on one thread each, and how many examples Hypothesis draws."""

from __future__ import annotations

import os

import torch
from hypothesis import settings

# Because the suite runs on every core already.
torch.set_num_threads(1)

# `make redteam-fuzz`: tests/test_fuzz.py draws five times as many examples a round as in the suite.
settings.register_profile("fuzz", max_examples=5 * settings.default.max_examples)
if profile := os.environ.get("HYPOTHESIS_PROFILE"):
    settings.load_profile(profile)
