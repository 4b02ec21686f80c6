"""Made-up classes for the tests of the leaderboard's pages, and for the benchmark of them.

`python tests/sites.py FOLDER` writes the pages of each, to be looked at. The figures are drawn from
a seeded generator and stand for nobody's kernel.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import fmean

from grader.classroom.board import baselines as limits
from grader.classroom.board.records import (
    Board,
    Row,
    Site,
    Standing,
    State,
    Student,
    Tally,
    Tried,
)

EXERCISES = {
    "01_vector_add": ("Vector add", "triton", 0.85, 0.95),
    "02_dot_reduction": ("Dot product", "numba", 0.8, 0.9),
    "03_three_pass_softmax": ("Three-pass softmax", "triton", 0.8, 0.9),
    "04_online_softmax": ("Online softmax", "triton", 0.8, 0.9),
    "05_swiglu": ("SwiGLU", "triton", 0.85, 0.95),
    "06_cross_entropy": ("Cross-entropy", "triton", 0.75, 0.88),
    "07_rms_norm": ("RMS norm", "triton", 0.8, 0.92),
    "08_transpose": ("Transpose", "numba", 0.7, 0.85),
    "09_histogram": ("Histogram", "numba", 0.6, 0.8),
    "10_rope": ("Rotary embedding", "triton", 0.8, 0.9),
}
CEILINGS = {
    "NVIDIA H200": 4289.0,
    "NVIDIA H100 80GB HBM3": 3012.0,
    "NVIDIA A100-SXM4-80GB": 1794.0,
    "NVIDIA GeForce RTX 4090": 927.0,
}
ADJECTIVES = ("amber", "brisk", "calm", "deft", "eager", "fond", "glad", "keen", "lucid", "quiet")
ANIMALS = ("badger", "crane", "dingo", "egret", "finch", "gecko", "heron", "ibis", "otter", "wren")
BEGIN = datetime(2026, 10, 5, 8, 0)
BYTES = 3 * 2**28
NOTES = {
    State.UNVERIFIED: "no trusted run made it",
    State.NOT_TIMED: "right, on a machine without a GPU",
    State.FAILED: "correctness: the answer is wrong",
    State.NOISY: "the GPU's own bandwidth wandered during the measurement",
    State.IMPOSSIBLE: "131 % of the ceiling: some of the work was not done",
    State.INVALIDATED: "the kernel remembers its last answer",
}

NO_FIGURES = dict.fromkeys(("share", "share_low", "share_high"))
NO_SHARE = (State.FAILED, State.NOT_TIMED)


def made(
    students: int,
    exercises: int = 6,
    attempts: int = 8,
    gpus: Sequence[str] = ("NVIDIA H200",),
    *,
    trusted: bool = True,
    exactly: bool = False,
    seed: int = 6,
) -> Site:
    """A class with up to, or exactly, so many attempts of each student at each exercise."""
    rng = random.Random(seed)
    names = list(EXERCISES)[:exercises]
    people = [
        (f"{ADJECTIVES[n % 10]} {ANIMALS[n // 10 % 10]} {100 + n}", f"{rng.getrandbits(40):010x}")
        for n in rng.sample(range(900), students)
    ]
    skill = {key: rng.betavariate(5, 2) for _, key in people}
    gpu_of = {key: rng.choice(gpus) for _, key in people}
    histories: dict[str, list[Tried]] = {key: [] for _, key in people}
    boards = []
    for name in names:
        title, backend, passing, great = EXERCISES[name]
        rows = list(limits.one_for_all_gpus(baselines(rng, gpus)))
        for who, key in people:
            count = attempts if exactly else rng.randint(attempts // 2, attempts)
            if skill[key] < 0.4 and not exactly:
                count = rng.randint(0, 1)
            tries = list(_tries(rng, name, count, skill[key], gpu_of[key], trusted))
            histories[key] += tries
            if tries:
                rows.append(_row(who, key, tries))
        boards.append(Board(name, title, backend, passing, great, ranked(rows)))
    return Site(
        course="memory-bound-kernels",
        title="Memory-bound GPU kernels",
        version="2026.1",
        made_at="2026-11-21T15:00:00Z",
        exercises=exercises + 2,
        tallies=tallies(histories, boards),
        boards=tuple(boards),
        standings=standings(people, boards, histories),
        students=tuple(
            Student(who, key, tuple(sorted(histories[key], key=lambda each: each.when)))
            for who, key in people
        ),
    )


def _tries(
    rng: random.Random, name: str, count: int, skill: float, gpu: str, trusted: bool
) -> Iterable[Tried]:
    """Attempts at one exercise: some fail at first, and shares tend to rise."""
    when = BEGIN + timedelta(days=5 * list(EXERCISES).index(name), hours=rng.uniform(0, 40))
    share = rng.uniform(0.15, 0.6)
    goal = 0.62 + 0.36 * skill + rng.uniform(-0.1, 0.005)
    for number in range(count):
        when += timedelta(minutes=rng.expovariate(1 / 180))
        state = rng.choices(list(NOTES), (1, 1, 4 if number < 2 else 1, 0.4, 0.2, 0.1))[0]
        if rng.random() < 0.7:
            state = State.RANKED
        if state is State.RANKED and not trusted:
            state = State.UNVERIFIED
        share += (goal - share) * rng.uniform(0, 0.7)
        timed = state not in NO_SHARE
        shown = 1.31 if state is State.IMPOSSIBLE else share if timed else None
        spread = rng.uniform(0.002, 0.03 if state is State.NOISY else 0.012)
        yield Tried(
            exercise=name,
            when=when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            state=state,
            points=0 if state is State.FAILED else 10 if share >= EXERCISES[name][2] else 7,
            max_points=10,
            gpu=gpu if timed else "",
            share=shown,
            share_low=None if shown is None else shown - spread,
            share_high=None if shown is None else shown + spread,
            note=NOTES.get(state, ""),
        )


def _row(who: str, key: str, tries: Sequence[Tried]) -> Row:
    """The best of the attempts: a ranked one before all others, then by share."""
    best = max(tries, key=lambda each: (each.state is State.RANKED, each.share or 0.0))
    ceiling = CEILINGS.get(best.gpu)
    bandwidth = None if best.share is None or ceiling is None else best.share * ceiling
    return Row(
        who=who,
        key=key,
        state=best.state,
        gpu=best.gpu,
        share=best.share,
        share_low=best.share_low,
        share_high=best.share_high,
        bandwidth_gbps=bandwidth,
        ceiling_gbps=ceiling,
        time_ms=None if bandwidth is None else BYTES / bandwidth / 1e6,
        attempts=len(tries),
        when=best.when,
        note=best.note,
    )


def baselines(rng: random.Random, gpus: Sequence[str]) -> Iterable[Row]:
    for gpu in gpus:
        for who, share in (
            ("limit of the GPU's memory", 1.0),
            ("model solution", rng.uniform(0.92, 0.96)),
            ("torch.compile", rng.uniform(0.85, 0.91)),
            ("torch eager", rng.uniform(0.45, 0.6)),
        ):
            bandwidth = share * CEILINGS[gpu]
            yield Row(
                who=who,
                key=None,
                state=State.BASELINE,
                gpu=gpu,
                share=share,
                bandwidth_gbps=bandwidth,
                ceiling_gbps=CEILINGS[gpu],
                time_ms=None if share == 1 else BYTES / bandwidth / 1e6,
            )


def placed(rows: Sequence, low: str, high: str) -> list:
    """Ranked rows in the order of the shares that are certain, as records.Row says."""
    rows = sorted(rows, key=lambda row: -getattr(row, low))
    lows = [getattr(row, low) for row in rows]
    return [
        replace(
            row,
            rank=1 + sum(one > own for one in lows),
            close=number > 0 and getattr(row, high) >= lows[number - 1],
        )
        for number, (row, own) in enumerate(zip(rows, lows, strict=True))
    ]


def ranked(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows in the order of a table."""
    rows = sorted(rows, key=lambda row: -(row.share or 0.0))
    of = {state: [row for row in rows if row.state is state] for state in State}
    order = placed(of[State.RANKED], "share_low", "share_high")
    return (*order, *(row for state in State if state is not State.RANKED for row in of[state]))


def standings(
    people: Iterable[tuple[str, str]], boards: Sequence[Board], histories: dict[str, list[Tried]]
) -> tuple[Standing, ...]:
    """The overall board, best first."""
    by_key = [{row.key: row for row in board.rows if row.key} for board in boards]
    found = []
    for who, key in people:
        if not histories[key]:
            continue
        rows = [rows.get(key) for rows in by_key]
        counted = [row if row and row.rank else None for row in rows]
        points = [
            max((t.points for t in histories[key] if t.exercise == b.exercise), default=0)
            for b in boards
        ]
        found.append(
            Standing(
                who=who,
                key=key,
                rank=1 if any(counted) else None,
                close=False,
                mean=fmean(row.share if row else 0.0 for row in counted),
                mean_low=fmean(row.share_low if row else 0.0 for row in counted),
                mean_high=fmean(row.share_high if row else 0.0 for row in counted),
                shares=tuple(row.share if row else None for row in counted),
                solved=sum(
                    bool(row and row.share >= board.passing)
                    for row, board in zip(counted, boards, strict=True)
                ),
                points=sum(points),
                gpus=tuple(sorted({row.gpu for row in counted if row})),
            )
        )
    others = [one for one in found if one.rank is None]
    top = placed([one for one in found if one.rank], "mean_low", "mean_high")
    return (*top, *sorted(others, key=lambda one: -one.points))


def tallies(histories: dict[str, list[Tried]], boards: Sequence[Board]) -> tuple[Tally, ...]:
    """The exercises with a board, and two puzzles that a part of the class has solved."""
    puzzles = [("p01_map", "Map"), ("p02_zip", "Zip")]
    timed = [(board.exercise, board.title) for board in boards]
    of = {
        name: {key: [t for t in own if t.exercise == name] for key, own in histories.items()}
        for name, _ in timed
    }
    solved = (State.RANKED, State.NOT_TIMED)
    return (
        *(
            Tally(name, title, 5, len(histories) * 2 // 3, len(histories) // 2)
            for name, title in puzzles
        ),
        *(
            Tally(
                name,
                title,
                10,
                sum(bool(tried) for tried in of[name].values()),
                sum(any(t.state in solved for t in tried) for tried in of[name].values()),
            )
            for name, title in timed
        ),
    )


def nothing() -> Site:
    """A course before its first result: boards, and nobody on them."""
    return made(0)


def no_boards() -> Site:
    """A course in which nothing is timed."""
    site = made(0)
    return replace(site, boards=(), tallies=site.tallies[:2], exercises=2)


def alone() -> Site:
    return made(1, exercises=3)


def unverified() -> Site:
    """Students with figures, none of which a trusted run made."""
    return made(6, exercises=3, trusted=False)


def without_gpu() -> Site:
    """A class of 40 whose trusted runs had no GPU: points, and no share anywhere."""
    site = made(40, exercises=6)
    rng = random.Random(8)

    def untimed(tried: Tried) -> Tried:
        state = State.FAILED if tried.state is State.FAILED else State.NOT_TIMED
        note = "right, and not timed on a GPU" if state is State.NOT_TIMED else ""
        points = 0 if state is State.FAILED else 7
        return replace(tried, state=state, note=note, points=points, gpu="", **NO_FIGURES)

    students = tuple(
        replace(one, tried=tuple(map(untimed, one.tried))) for one in site.students if one.tried
    )
    boards = []
    for board in site.boards:
        rows = []
        for one in students:
            tried = [each for each in one.tried if each.exercise == board.exercise]
            if tried:
                best = max(tried, key=lambda each: each.points)
                rows.append(
                    Row(
                        one.who,
                        one.key,
                        best.state,
                        attempts=len(tried),
                        when=best.when,
                        note=best.note,
                    )
                )
        boards.append(replace(board, rows=ranked(rows)))
    histories = {one.key: list(one.tried) for one in students}
    people = [(one.who, one.key) for one in students]
    overall = [
        replace(one, points=one.points + rng.randint(0, 10), solved=one.points // 7)
        for one in standings(people, boards, histories)
    ]
    return replace(
        site,
        boards=tuple(boards),
        students=students,
        standings=tuple(sorted(overall, key=lambda one: -one.points)),
        tallies=tallies(histories, boards),
    )


def small() -> Site:
    """Some students on one GPU, with all states among their rows, and a solved puzzle."""
    site = made(9, exercises=3)
    first, *rest = site.boards
    people = [row for row in first.rows if row.key]
    others = list(NOTES)
    changed = {
        row.key: replace(
            row,
            state=state,
            rank=None,
            note=NOTES[state],
            close=False,
            **(NO_FIGURES if state in NO_SHARE else {}),
        )
        for row, state in zip(reversed(people), others, strict=False)
    }
    rows = ranked(changed.get(row.key, row) for row in first.rows)
    puzzle = Tried("p01_map", "2026-10-01T09:00:00Z", State.SOLVED, points=5, max_points=5)
    return replace(
        site,
        boards=(replace(first, rows=rows), *rest),
        students=tuple(replace(one, tried=(puzzle, *one.tried)) for one in site.students),
    )


def class_of_40() -> Site:
    return made(40, exercises=6, attempts=12, gpus=tuple(CEILINGS))


def large(students: int = 500, exercises: int = 10, attempts: int = 20) -> Site:
    """As large as the issue asks for: every student makes all the attempts."""
    return made(students, exercises, attempts, tuple(CEILINGS), exactly=True)


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '=HYPERLINK("http://example.org")',
    "שָׁלוֹם \u202eevil\u202c עולם",
    "مرحبا بالعالم",
    "a-very-long-nickname-" * 12,
    "line\nbreak\tand {{ 7 * 7 }} & &amp;",
    "zwj 👩‍🚀 naïve ﬁ",
)


def hostile() -> Site:
    """Names and notes that try to be more than text."""
    site = made(12, exercises=3, attempts=6, gpus=tuple(CEILINGS)[:2])
    name = dict(zip((each.key for each in site.standings), HOSTILE, strict=False))
    note = "</td><script>alert(2)</script>\n" + "very long note " * 30

    def renamed(one):
        who = name.get(one.key, one.who)
        noted = {"note": note} if isinstance(one, Row) and one.note else {}
        return replace(one, who=who, **noted)

    return replace(
        site,
        title="Kernels <b>& more</b>",
        boards=tuple(
            replace(board, rows=tuple(renamed(row) for row in board.rows)) for board in site.boards
        ),
        standings=tuple(renamed(each) for each in site.standings),
        students=tuple(
            replace(
                renamed(student),
                tried=tuple(
                    replace(each, note=note if each.note else "") for each in student.tried
                ),
            )
            for student in site.students
        ),
    )


ALL = {
    each.__name__: each
    for each in (
        nothing,
        no_boards,
        alone,
        unverified,
        without_gpu,
        small,
        class_of_40,
        hostile,
        large,
    )
}

if __name__ == "__main__":
    import sys
    from pathlib import Path

    from grader.reports.board import pages

    for kind, make in ALL.items():
        for file, text in pages(make()).items():
            path = Path(sys.argv[1]) / kind / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
