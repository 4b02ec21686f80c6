"""The leaderboard of a class as pages for any static host, each whole in itself.

A page holds its style and its script and asks for nothing: it works from a disk and without a
network. What students and results say is text: the templates escape it, the script only moves rows
that are there. A Content-Security-Policy lets nothing run but the page's own script, known by its
hash. Without JavaScript the tables stand there, sorted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from markupsafe import Markup, escape

from grader import backends
from grader.classroom import Board, Row, Site, State, Student, Tried, parallel
from grader.reports import board_plots as plots
from grader.reports.webpage import Filters, Own, file, page_templates

WORDS = {
    State.RANKED: "ranked",
    State.SOLVED: "solved",
    State.UNVERIFIED: "unverified",
    State.NOT_TIMED: "not timed",
    State.FAILED: "not passed",
    State.NOISY: "disturbed",
    State.IMPOSSIBLE: "impossible",
    State.INVALIDATED: "taken back",
    State.BASELINE: "baseline",
}
# Why a row does not rank, where its note says nothing.
MEANINGS = {
    State.SOLVED: "right; its speed is not graded",
    State.UNVERIFIED: "no trusted run made it",
    State.NOT_TIMED: "right, on a machine without a GPU",
    State.FAILED: "wrong, or not finished",
    State.NOISY: "something on the machine disturbed the measurement",
    State.IMPOSSIBLE: "faster than the bytes that it has to move allow",
    State.INVALIDATED: "taken back by a teacher",
}
WORTH_PROCESSES = 10_000  # attempts whose pages one process makes in less than a second
PAGES_AT_ONCE = 8  # that a process is asked for
LONGEST_NAME = 64  # characters that are shown of a nickname


def pages(site: Site) -> dict[str, str]:
    """The text of each page by its file name: index.html, exercises/NAME.html, students/KEY.html.

    Write them as UTF-8. Names of exercises and keys of students are used in file names as they are.
    """
    templates = page_templates(FILTERS)
    own = Own(file(templates, "board.css"), file(templates, "board.js"))
    shared = {
        "site": site,
        "own": own,
        "words": WORDS,
        "meanings": MEANINGS,
    }

    def render(template: str, **values: Any) -> str:
        return templates.get_template(template).render(shared | values)

    makers = {"index.html": partial(_index, site, render)}
    for number, board in enumerate(site.boards):
        makers[f"exercises/{board.exercise}.html"] = partial(_exercise, site, number, render)
    overall = {standing.key: standing for standing in site.standings}
    ties = _shared(standing.rank for standing in site.standings)
    places = _places(site.boards)
    for student in site.students:
        makers[f"students/{student.key}.html"] = partial(
            _student,
            site,
            student,
            render,
            places=places[student.key],
            standing=overall.get(student.key),
            shared=ties,
        )
    attempts = sum(len(student.tried) for student in site.students)
    made = parallel.results(
        lambda name: makers[name](),
        list(makers),
        worth_it=attempts >= WORTH_PROCESSES,
        at_once=PAGES_AT_ONCE,
    )
    return dict(zip(makers, made, strict=True))


Render = Callable[..., str]


def _index(site: Site, render: Render) -> str:
    gpus = sorted({gpu for standing in site.standings for gpu in standing.gpus})
    numbers = {gpu: str(number) for number, gpu in enumerate(gpus)}
    return render(
        "board_index.html",
        top="",
        gates=None,
        ranked=sum(standing.rank is not None for standing in site.standings),
        attempts=sum(len(student.tried) for student in site.students),
        classes=[(board, plots.ranked_shares(board)) for board in site.boards],
        labels=_labels([board.exercise for board in site.boards]),
        gpus=[_model(gpu) for gpu in gpus],
        indices={
            standing.gpus: " ".join(numbers[gpu] for gpu in standing.gpus)
            for standing in site.standings
        },
        shared=_shared(standing.rank for standing in site.standings),
        links=_links(site, "students/"),
        order=_order(standing.who for standing in site.standings),
    )


def _exercise(site: Site, number: int, render: Render) -> str:
    board = site.boards[number]
    rows = _with_baselines(board.rows)
    return render(
        "board_exercise.html",
        top="../",
        gates=(board.passing, board.great),
        board=board,
        backend=backends.title(board.backend),
        before=site.boards[number - 1] if number else None,
        after=site.boards[number + 1] if number + 1 < len(site.boards) else None,
        plot=plots.class_plot(board),
        legend=plots.legend(board),
        rows=rows,
        any_ranked=any(row.rank is not None for row in board.rows),
        others=[row for row in board.rows if row.rank is None and row.state is not State.BASELINE],
        models=[_model(gpu) for gpu in board.gpus],
        shared=_shared(row.rank for row in board.rows),
        links=_links(site, "../students/"),
        order=_order(row.who for row in board.rows),
    )


def _student(
    site: Site,
    student: Student,
    render: Render,
    places: Mapping[str, tuple[Row, bool]],
    **standing: Any,
) -> str:
    """Of one student: a plot for each board, and the names by which attempts are filtered."""
    by_exercise: defaultdict[str, list[Tried]] = defaultdict(list)
    for each in student.tried:
        by_exercise[each.exercise].append(each)
    names = sorted(by_exercise)
    titles = {board.exercise: board.title for board in site.boards}
    scale = plots.attempts_scale(student.tried, site.boards)
    return render(
        "board_student.html",
        top="../",
        gates=None,
        student=student,
        titles=[titles.get(name, name) for name in names],
        rows=_attempts(student.tried, {name: titles.get(name, name) for name in names}),
        plots=[
            (
                board,
                *places.get(board.exercise, (None, False)),
                tried,
                plots.attempts_plot(tried, board, scale, _progress(board.title, tried)),
            )
            for board in site.boards
            if (tried := by_exercise.get(board.exercise))
        ],
        **standing,
    )


def _attempts(tried: Sequence[Tried], titles: Mapping[str, str]) -> Markup:
    """The rows of a student's table, newest first; `titles` are in the order of the filter.

    Put together here and not in the template: a large class has a hundred thousand of them.
    """
    of_exercise = {
        name: (
            f'<tr data-g="{number}">',
            f'<th scope="row" class="who" data-v="{number}">{escape(title)}</th>',
        )
        for number, (name, title) in enumerate(titles.items())
    }
    rows = []
    for each in reversed(tried):
        begin, name = of_exercise[each.exercise]
        if each.share is None:
            share = '<td class="n share">–</td>'
        else:
            share = (
                f'<td class="n share" data-v="{_key(each.share)}"><b>{plots.percent(each.share)}'
                f"</b> <span>{_span(each.share_low, each.share_high)}</span></td>"
            )
        rows.append(
            f"{begin}{_handed_in(each.when)}{name}{STATE_CELLS[each.state]}"
            f'<td class="n points" data-v="{each.points}">{each.points}'
            f" <small>of {each.max_points}</small></td>{share}"
            f'<td class="gpu">{_text(_model(each.gpu))}</td>'
            f'<td class="why">{_text(each.note)}</td></tr>'
        )
    return Markup("\n".join(rows))


def _handed_in(when: str) -> str:
    moment = _moment(when)
    if moment is None:
        return f'<td class="when">{escape(when)}</td>'
    return f'<td class="when" data-v="{_since_1970(moment)}">{_to_the_minute(moment)}</td>'


STATE_CELLS = {
    state: f'<td class="state {plots.MARK_OF[state]}" data-v="{number}">{word}</td>'
    for number, (state, word) in enumerate(WORDS.items())
}


def _progress(title: str, tried: Sequence[Tried]) -> str:
    """What the plot of a student's attempts shows, for those who do not see it."""
    shares = [each.share for each in tried if each.state is State.RANKED and each.share is not None]
    count = f"{len(tried)} {'attempt' if len(tried) == 1 else 'attempts'}"
    if not shares:
        return f"{title}: {count}, none of them ranked. The table has each."
    return (
        f"{title}: {count}, {len(shares)} of them ranked, the first with {plots.percent(shares[0])}"
        f" and the best with {plots.percent(max(shares))} of the ceiling. The table has each."
    )


def _places(boards: Iterable[Board]) -> defaultdict[str, dict[str, tuple[Row, bool]]]:
    """By student and exercise: the row on that board, and whether its rank is shared."""
    found: defaultdict[str, dict[str, tuple[Row, bool]]] = defaultdict(dict)
    for board in boards:
        ties = _shared(row.rank for row in board.rows)
        for row in board.rows:
            if row.key is not None:
                found[row.key][board.exercise] = row, row.rank in ties
    return found


def _with_baselines(rows: Sequence[Row]) -> list[tuple[int | None, Row]]:
    """Ranked rows with their numbers, and each baseline before the first row that it beats."""
    baselines = sorted(
        (row for row in rows if row.state is State.BASELINE), key=lambda row: -(row.share or 0.0)
    )
    found: list[tuple[int | None, Row]] = []
    for number, row in enumerate(rows):
        if row.rank is None:
            continue
        while baselines and (baselines[0].share or 0.0) >= (row.share or 0.0):
            found.append((None, baselines.pop(0)))
        found.append((number, row))
    return found + [(None, row) for row in baselines]


def _shared(ranks: Iterable[int | None]) -> set[int]:
    """The ranks that more than one has."""
    return {rank for rank, count in Counter(ranks).items() if rank is not None and count > 1}


def _links(site: Site, folder: str) -> defaultdict[str | None, str | None]:
    """The page of each student that has one."""
    found: defaultdict[str | None, str | None] = defaultdict(lambda: None)
    found.update({student.key: f"{folder}{student.key}.html" for student in site.students})
    return found


def _order(names: Iterable[str]) -> dict[str, int]:
    """The place of each name in the alphabet, to sort a table by."""
    ordered = sorted(set(names), key=lambda name: (name.casefold(), name))
    return {name: number for number, name in enumerate(ordered)}


def _labels(names: Sequence[str]) -> list[str]:
    """Short names of exercises: the numbers in front where all have different ones."""
    numbers = [name.partition("_")[0] for name in names]
    if len(set(numbers)) == len(numbers) and all(each.isdigit() for each in numbers):
        return numbers
    return [str(number) for number in range(1, len(names) + 1)]


# -- filters of the templates: figures and moments as they are shown


_text = lru_cache(maxsize=1024)(escape)  # the same few sentences stand in many rows


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _span(low: float | None, high: float | None) -> str:
    """`91.2–93.0`, an interval in percent."""
    return "" if low is None or high is None or low == high else f"{low * 100:.1f}–{high * 100:.1f}"


def _whole(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:,.0f}"


def _digits(figure: float | None) -> str:
    """Three digits that count: `0.183`, `12.3`, `4,711`."""
    if figure is None:
        return "–"
    before = math.floor(math.log10(figure)) if figure > 0 else 0
    return f"{figure:,.{min(max(2 - before, 0), 6)}f}"


def _key(figure: float) -> str:
    """A figure to sort by: exact enough for that, and short."""
    return f"{figure:.6g}"


def _figure(share: float | None, board: Board, label: str) -> Markup:
    """The cell of one exercise in the overall board; `label` is shown where there is no header."""
    if share is None:
        return Markup(f'<td class="f" data-n="{escape(label)}">–</td>')
    level = " great" if share >= board.great else " passing" if share >= board.passing else ""
    return Markup(
        f'<td class="f{level}" data-n="{escape(label)}" data-v="{share:.4g}">{share * 100:.0f}</td>'
    )


def _model(gpu: str) -> str:
    return gpu.removeprefix("NVIDIA ")


def _moment(text: str) -> datetime | None:
    """None where the text is no moment; one without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _minute(text: str) -> str:
    """`21 Nov 2026, 15:04`; what is no moment stands as it came."""
    moment = _moment(text)
    return text if moment is None else _to_the_minute(moment)


def _day(text: str) -> str:
    """`21 Nov 2026`."""
    moment = _moment(text)
    return text if moment is None else _to_the_day(moment)


def _seconds(text: str) -> int | None:
    """To sort by: since 1970."""
    moment = _moment(text)
    return None if moment is None else _since_1970(moment)


def _to_the_minute(moment: datetime) -> str:
    return f"{_to_the_day(moment)}, {moment.hour:02}:{moment.minute:02}"


def _to_the_day(moment: datetime) -> str:
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def _since_1970(moment: datetime) -> int:
    return int(moment.timestamp())


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


FILTERS: Filters = {
    "short": _short,
    "percent": plots.percent,
    "gate": plots.gate,
    "span": _span,
    "whole": _whole,
    "digits": _digits,
    "key": _key,
    "figure": _figure,
    "model": _model,
    "minute": _minute,
    "day": _day,
    "seconds": _seconds,
    "bar": plots.bar,
    "strip": plots.strip,
}
