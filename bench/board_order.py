"""In how many pairs of rows a leaderboard shows a lower share above a higher one.

    python bench/board_order.py --out bench/results/board_order.json

The class has 200 students, each with one trusted attempt at each of 6 exercises. Most intervals are
about as wide as those of one kernel measured again, ± 0.2 to 0.6 % of the ceiling; one in ten was
measured on a restless machine and is up to ten times as wide. The figures are drawn from a seeded
generator and stand for nobody's kernel.

`whole_intervals` is the rule until version 0.1: a rank counts the rows whose whole interval lies
above, and within a rank the higher share comes first. `lower_end` is the board's own order. An
inverted pair is one in which the figure that the table shows in bold rises from a row to one below
it: the measured share in the first case, the lower end in the second.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from grader.classroom.board import rank
from grader.classroom.board.rank import Span

EXERCISES = 6
WIDE = 0.1  # of all attempts


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--students", type=int, default=200)
    options.add_argument("--seed", type=int, default=31)
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = options.parse_args(argv)
    boards = [drawn(asked.students, random.Random(asked.seed + n)) for n in range(EXERCISES)]
    before = together([order(by_whole_intervals(board), "middle") for board in boards])
    after = together([order(by_lower_end(board), "low") for board in boards])
    record = {
        "benchmark": "board_order",
        "students": asked.students,
        "exercises": EXERCISES,
        "seed": asked.seed,
        "wide_attempts": WIDE,
        "whole_intervals": before,
        "lower_end": after,
    }
    for name in ("whole_intervals", "lower_end"):
        print(f"{name}: {record[name]}")
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if after["inverted_pairs"] == 0 else 1


def drawn(students: int, draw: random.Random) -> list[Span]:
    """Draw one attempt of each student, with its interval."""
    spans = []
    for _ in range(students):
        share = 0.3 + 0.68 * draw.betavariate(5, 2)
        half = draw.uniform(0.002, 0.006) * (draw.uniform(1, 10) if draw.random() < WIDE else 1)
        spans.append(Span(share - half, share, share + half))
    return spans


def by_whole_intervals(spans: Sequence[Span]) -> list[Span]:
    """Sort as the table did until version 0.1."""
    lows = sorted(one.low for one in spans)
    return sorted(spans, key=lambda one: (len(lows) - bisect_right(lows, one.high), -one.middle))


def by_lower_end(spans: Sequence[Span]) -> list[Span]:
    return sorted(spans, key=rank.certain, reverse=True)


def order(rows: Sequence[Span], shown: str) -> dict[str, float]:
    """Count the pairs that stand in the wrong order, by the shown share and by its interval."""
    figures = [getattr(one, shown) for one in rows]
    rises = [below - above for above, below in combinations(figures, 2) if below > above]
    return {
        "inverted_pairs": len(rises),
        "largest_rise": max(rises, default=0.0),
        "inverted_middles": sum(b.middle > a.middle for a, b in combinations(rows, 2)),
        "begins_lower_above": sum(a.low < b.low for a, b in combinations(rows, 2)),
        "rows_that_overlap_the_one_above": sum(b.high >= a.low for a, b in pairwise(rows)),
    }


def together(boards: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The sums over all boards; of the rises the largest."""
    return {
        name: round(max(board[name] for board in boards), 4)
        if name == "largest_rise"
        else sum(board[name] for board in boards)
        for name in boards[0]
    }


if __name__ == "__main__":
    sys.exit(main())
