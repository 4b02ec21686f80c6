"""Hypothesis beside modules of a checkout, in a process of its own: it keeps what it has read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DRAWN = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
from hypothesis import given, seed, settings, strategies
from grader.grading.seeded_draws import draw_by_seed_alone

if sys.argv[2] == "by seed alone":
    draw_by_seed_alone()
drawn = []

@seed(1)
@settings(max_examples=500, database=None, deadline=None)
@given(strategies.integers())
def draw(number):
    drawn.append(number)

draw()
print(checkout.NUMBER in drawn)
"""


@pytest.mark.parametrize(
    ("how", "seen"), [("by seed alone", "False"), ("contract: as Hypothesis does", "True")]
)
def test_constants_of_a_checkout_are_drawn(tmp_path: Path, how: str, seen: str):
    (tmp_path / "checkout.py").write_text("NUMBER = 987654321987\n")
    done = subprocess.run(
        [sys.executable, "-c", DRAWN, str(tmp_path), how], capture_output=True, text=True
    )
    assert done.stdout.strip() == seen, done.stderr
