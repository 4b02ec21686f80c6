"""Lengths of rows that the tests of the fast solutions of 04 and 06 share."""

from __future__ import annotations

# A row of each shape in SHAPES of each fast.py in one of the dtypes, short of its longest, and two
# that the plain kernel takes: one of an odd length, and one that is too long.
COLUMNS = (
    120,
    248,
    504,
    1_016,
    2_040,
    4_088,
    7_992,
    16_376,
    32_760,
    65_528,
    131_064,
    262_136,
    524_280,
    1_001,
    524_296,
)
