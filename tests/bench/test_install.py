"""bench/install.py reads from pip's own words what an installation would download."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAID = """\
Collecting torch==2.13.0
  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (526.6 MB)
Collecting filelock (from torch==2.13.0)
  Downloading filelock-4.3.1-py3-none-any.whl.metadata (2.1 kB)
  Downloading filelock-4.3.1-py3-none-any.whl (244 kB)
Would install filelock-4.3.1 torch-2.13.0
"""


def test_wheels_count_and_their_metadata_does_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import install

    for name in ("install", "host"):
        sys.modules.pop(name, None)
    assert install.downloaded(SAID) == {
        "packages": 2,
        "mb": 527,
        "largest_mb": {"torch": 526.6, "filelock": 0.2},
    }
