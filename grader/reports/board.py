"""The leaderboard of a class as pages for any static host, each complete in itself.

A page holds its style and its script and loads nothing: it works from a disk and without a network.
What students and results say is text: the templates escape it, and the script only moves rows that
are there. A Content-Security-Policy lets only the page's own script run, known by its hash. Without
JavaScript the page shows its tables, sorted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from grader import backends
from grader.classroom import Board, Row, Site, State, Student, Tried, parallel
from grader.reports import board_plots as plots
from grader.reports.board_attempts import attempt_rows, progress_description
from grader.reports.board_values import FILTERS, MEANINGS, WORDS, model
from grader.reports.webpage import Own, file, page_templates

WORTH_PROCESSES = 10_000  # attempts whose pages one process makes in less than a second
PAGES_AT_ONCE = 8  # of one request to a process


def pages(site: Site) -> dict[str, str]:
    """Return the text of each page by its file name, to be written as UTF-8.

    The names are index.html, exercises/NAME.html and students/KEY.html, with names of exercises and
    keys of students as they are.
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
    ties = _shared_ranks(standing.rank for standing in site.standings)
    places = _rows_by_student(site.boards)
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
        labels=_short_labels([board.exercise for board in site.boards]),
        gpus=[model(gpu) for gpu in gpus],
        indices={
            standing.gpus: " ".join(numbers[gpu] for gpu in standing.gpus)
            for standing in site.standings
        },
        shared=_shared_ranks(standing.rank for standing in site.standings),
        links=_links(site, "students/"),
        order=_alphabetical_places(standing.who for standing in site.standings),
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
        models=[model(gpu) for gpu in board.gpus],
        shared=_shared_ranks(row.rank for row in board.rows),
        links=_links(site, "../students/"),
        order=_alphabetical_places(row.who for row in board.rows),
    )


def _student(
    site: Site,
    student: Student,
    render: Render,
    places: Mapping[str, tuple[Row, bool]],
    **standing: Any,
) -> str:
    """Render a student's page: a plot for each board, and the names that filter attempts."""
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
        rows=attempt_rows(student.tried, {name: titles.get(name, name) for name in names}),
        plots=[
            (
                board,
                *places.get(board.exercise, (None, False)),
                tried,
                plots.attempts_plot(tried, board, scale, progress_description(board.title, tried)),
            )
            for board in site.boards
            if (tried := by_exercise.get(board.exercise))
        ],
        **standing,
    )


def _rows_by_student(boards: Iterable[Board]) -> defaultdict[str, dict[str, tuple[Row, bool]]]:
    """Return the row of each student and exercise on that board, and whether its rank is shared."""
    places: defaultdict[str, dict[str, tuple[Row, bool]]] = defaultdict(dict)
    for board in boards:
        ties = _shared_ranks(row.rank for row in board.rows)
        for row in board.rows:
            if row.key is not None:
                places[row.key][board.exercise] = row, row.rank in ties
    return places


def _with_baselines(rows: Sequence[Row]) -> list[tuple[int | None, Row]]:
    """Return ranked rows with their numbers, each baseline before the first row that it beats."""
    baselines = sorted(
        (row for row in rows if row.state is State.BASELINE), key=lambda row: -(row.share or 0.0)
    )
    merged: list[tuple[int | None, Row]] = []
    for number, row in enumerate(rows):
        if row.rank is None:
            continue
        while baselines and (baselines[0].share or 0.0) >= (row.share or 0.0):
            merged.append((None, baselines.pop(0)))
        merged.append((number, row))
    return merged + [(None, row) for row in baselines]


def _shared_ranks(ranks: Iterable[int | None]) -> set[int]:
    return {rank for rank, count in Counter(ranks).items() if rank is not None and count > 1}


def _links(site: Site, folder: str) -> defaultdict[str | None, str | None]:
    links: defaultdict[str | None, str | None] = defaultdict(lambda: None)
    links.update({student.key: f"{folder}{student.key}.html" for student in site.students})
    return links


def _alphabetical_places(names: Iterable[str]) -> dict[str, int]:
    ordered = sorted(set(names), key=lambda name: (name.casefold(), name))
    return {name: number for number, name in enumerate(ordered)}


def _short_labels(names: Sequence[str]) -> list[str]:
    numbers = [name.partition("_")[0] for name in names]
    if len(set(numbers)) == len(numbers) and all(each.isdigit() for each in numbers):
        return numbers
    return [str(number) for number in range(1, len(names) + 1)]
