"""Where an output is wrong, in words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader.correctness.mismatch import describe_where


@pytest.mark.parametrize(
    ("shape", "wrong", "words"),
    [
        ((5,), np.s_[:], "every element"),
        ((5,), np.s_[3], "element 3"),
        ((5,), np.s_[1:4], "elements 1 to 3"),
        ((9,), np.s_[::4], "3 elements between 0 and 8"),
        ((), np.s_[...], "every element"),
        ((3, 2048), np.s_[:, 1024:], "columns 1024 to 2047 of every row"),
        ((1, 2048), np.s_[:, 1024:], "columns 1024 to 2047 of row 0"),
        ((3, 9), np.s_[1, 8], "column 8 of row 1"),
        ((3, 9), np.s_[1:, 8], "column 8 of rows 1 to 2"),
        ((4, 9), np.s_[::2, ::4], "3 columns between 0 and 8 of 2 rows between 0 and 2"),
        ((3, 9), np.s_[2], "row 2"),
        ((4, 9), np.s_[1:3], "rows 1 to 2"),
        ((4, 1), np.s_[3:], "row 3"),
        ((2, 2), np.s_[[0, 1], [0, 1]], "columns all over, in every row"),
        ((2, 3, 4), np.s_[1, 2, 3], "column 3 of row 5"),
    ],
)
def test_where_an_answer_is_wrong_reads_like_this(
    shape: tuple[int, ...], wrong: object, words: str
):
    marked = np.zeros(shape, bool)
    marked[wrong] = True
    assert describe_where(torch.from_numpy(marked)) == words
