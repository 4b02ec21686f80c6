"""The docstring of a wrong kernel: the step that it names, and a line that is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.course import wrong_kernels
from grader.model.errors import BrokenExercise


def test_a_wrong_kernel_says_which_step_rejects_it(tmp_path: Path):
    wrong = tmp_path / "wrong_mask.py"
    wrong.write_text('"""Forgets the mask.\n\nRejected at: correctness\n"""\n')
    assert wrong_kernels.rejected_at(wrong) == "correctness"


def test_a_wrong_kernel_that_does_not_say_is_broken(tmp_path: Path, snapshot: SnapshotAssertion):
    wrong = tmp_path / "wrong_mask.py"
    wrong.write_text('"""\nForgets the mask.\n"""\n')
    with pytest.raises(BrokenExercise) as caught:
        wrong_kernels.rejected_at(wrong)
    assert text_of(caught.value, tmp_path) == snapshot
