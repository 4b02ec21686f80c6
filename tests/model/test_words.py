"""Sizes, counts and limits as messages write them."""

from __future__ import annotations

import pytest

from grader.model import outcomes
from grader.model.memory_words import limit_in_words, size_in_words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 times"),
        (1, "once"),
        (1.0, "once"),
        (1.001, "once"),
        (1.25, "1.25 times"),
        (1.5, "1.5 times"),
        (2, "twice"),
        (3, "3 times"),
        (8_192, "8,192 times"),
        (0.333, "0.333 times"),
    ],
)
def test_how_often_in_words(number: float, words: str):
    assert outcomes.how_often(number) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "nothing"),
        (12, "12 bytes"),
        (1 << 19, "512 KiB"),
        (700_000, "0.7 MiB"),
        (1_468_006, "1.4 MiB"),
        (4 << 20, "4 MiB"),
    ],
)
def test_a_size_in_words(size: int, words: str):
    assert size_in_words(size) == words


def test_a_limit_comes_with_its_rule():
    assert limit_in_words(4 << 20, "a hundredth") == "at most 4 MiB (a hundredth)"
    assert limit_in_words(4 << 20, "a hundredth", "7 elements of int8") == (
        "at most 4 MiB for 7 elements of int8 (a hundredth)"
    )
    assert limit_in_words(0, "none is needed") == "at most 0 bytes (none is needed)"
    assert limit_in_words(4 << 20, "") == "at most 4 MiB"  # of an older result
