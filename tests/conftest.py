"""For all tests: torch on one thread each, because the suite runs on every core already."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
