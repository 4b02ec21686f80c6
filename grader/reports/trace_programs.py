"""The pieces of a picture of programs: their operations in order, lane by lane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from rich.text import Text

from grader.model import Trace, last_writes, step_count
from grader.reports.trace_boxes import Space
from grader.reports.trace_fit import Piece
from grader.reports.trace_strips import Strip, act_numbers, drawing_of, strip_of, wrong_marks
from grader.reports.trace_words import MARKS, launched, part_words, program_name

MOST_PROGRAMS = 2
LAST_RANK = 4

Where = tuple[int, int, int]  # launch, program, step


def program_pieces(
    trace: Trace, chosen: Sequence[tuple[int, int]], most: int, width: int
) -> tuple[list[Piece], str]:
    """Return the pieces of a few programs' steps, and a sentence about the others.

    A program with a fault comes first, else the first program and the last, whose mask may differ.
    At most `most` steps of each are drawn.
    """
    ranks = _ranks(trace)
    wrong = wrong_marks(trace, MARKS)
    pieces: list[Piece] = []
    places = [
        (launch, block, step)
        for launch in dict.fromkeys(launch for launch, _ in chosen)
        for block in _programs(trace, launch, ranks)
        for step in sorted(_steps(trace, launch, block, chosen, ranks)[:most])
    ]
    for where in places:
        launch, block, step = where
        for number in act_numbers(trace, launch, block, step):
            strip = strip_of(trace, number, wrong)
            name = program_name(trace.launches[launch], block)
            draw = partial(_strip, strip, width)
            pieces.append(Piece(_title(trace, *where), name, ranks.get(number, LAST_RANK), draw))
    if not pieces:
        title = ", ".join(f"{one.kernel}, {launched(one)}" for one in trace.launches)
        nothing = Text("  No program touches an array.\n")
        pieces.append(Piece(title or "no program ran", "nothing", 1, lambda space: nothing))
    all_places = {(act.launch, act.block, act.step) for act in trace.acts}
    left = all_places - set(places)
    return pieces, _left_out(trace, left)


def _strip(strip: Strip, width: int, space: Space) -> Text:
    text = Text("\n" if space.edges else "")
    return text.append_text(drawing_of(strip, width, max(space.lines - 1, 1)))


def _left_out(trace: Trace, left: set[Where]) -> str:
    if not left:
        return ""
    programs = {(launch, block) for launch, block, _ in left}
    drawn = {(act.launch, act.block) for act in trace.acts} - programs
    what = f"{len(left)} more {'step' if len(left) == 1 else 'steps'} of programs"
    if drawn:
        what = f"{len(programs)} more {'program' if len(programs) == 1 else 'programs'}"
    verb = "is" if what.startswith("1 ") else "are"
    return f"{what} {verb} not drawn"


def _title(trace: Trace, launch: int, block: int, step: int) -> str:
    head = trace.launches[launch]
    which = f"launch {launch + 1} of {len(trace.launches)}: " if len(trace.launches) > 1 else ""
    count = launched(head).removesuffix(" programs")
    of = f"{program_name(head, block)} of {count}" if prod(head.grid) > 1 else count
    part = f"; {part_words(trace, launch, step)}" if step_count(trace, launch) > 1 else ""
    return f"{which}{head.kernel}, {of}{part}"


def _ranks(trace: Trace) -> dict[int, int]:
    """Return a rank for acts: 0 with a fault, 1 in the same step before it, 2 the same program."""
    faulty = {access.act for access in trace.accesses if access.fault and access.act is not None}
    for name in trace.wrong:
        last = last_writes(trace, name)
        writers = [last[each.element].act for each in trace.wrong[name] if each.element in last]
        faulty |= {act for act in writers[:1] if act is not None}
    if not faulty:
        faulty = {number for number, act in enumerate(trace.acts) if act.stopped}
    if not faulty:
        return _ranks_of_ends(trace)
    first = trace.acts[min(faulty)]
    who = first.launch, first.block
    ranks = {}
    for number, act in enumerate(trace.acts):
        if (act.launch, act.block) == who:
            same = act.step == first.step and number < min(faulty)
            ranks[number] = 1 if same else 2
    return ranks | dict.fromkeys(faulty, 0)


def _ranks_of_ends(trace: Trace) -> dict[int, int]:
    """Rank what the first program does first, then what the last one does last, then the rest.

    The two differ most: in their elements, and in their masks. What is done last is a store, and
    what is done first is a load: an update before it, of a counter for example, matters less.
    """
    ranks: dict[int, int] = {}
    for launch in {act.launch for act in trace.acts}:
        acts = [number for number, act in enumerate(trace.acts) if act.launch == launch]
        blocks = {trace.acts[number].block for number in acts}
        first, last = (
            [number for number in acts if trace.acts[number].block == block]
            for block in (min(blocks), max(blocks))
        )
        ranks |= dict.fromkeys((*first, *last), 3)
        ranks |= {first[-1]: 2, _first_load(trace, first): 1, last[-1]: 1}
    return ranks


def _first_load(trace: Trace, acts: Sequence[int]) -> int:
    kinds = {number: trace.operations[trace.acts[number].operation].kind for number in acts}
    return next((number for number, kind in kinds.items() if kind == "load"), acts[0])


def _programs(trace: Trace, launch: int, ranks: dict[int, int]) -> list[int]:
    mine = sorted({act.block for act in trace.acts if act.launch == launch})
    best = dict.fromkeys(mine, 9)
    for number, act in enumerate(trace.acts):
        if act.launch == launch:
            best[act.block] = min(best[act.block], ranks.get(number, LAST_RANK))
    ends = set(mine[:1] + mine[-1:])
    ranked = sorted(mine, key=lambda block: (best[block], block not in ends, block))
    return ranked[:MOST_PROGRAMS]


def _steps(
    trace: Trace,
    launch: int,
    block: int,
    chosen: Sequence[tuple[int, int]],
    ranks: dict[int, int],
) -> list[int]:
    best: dict[int, int] = {}
    for number, act in enumerate(trace.acts):
        if (act.launch, act.block) == (launch, block) and (launch, act.step) in chosen:
            best[act.step] = min(best.get(act.step, 9), ranks.get(number, LAST_RANK))
    return sorted(best, key=lambda step: (best[step], step))
