"""The leaderboard of a class as pages for any static host, each complete in itself.

A page holds its style and its script and loads nothing: it works from a disk and without a network.
What students and results say is text: the templates escape it, and the script only moves rows that
are there. A Content-Security-Policy lets only the page's own script run, known by its hash. Without
JavaScript the page shows its tables, sorted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

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
    places = _rows_by_student(site.boards)
    for student in site.students:
        makers[f"students/{student.key}.html"] = partial(
            _student,
            site,
            student,
            render,
            places=places[student.key],
            standing=overall.get(student.key),
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
        most=_most_points(site),
        points=_points(site),
        pages={board.exercise for board in site.boards},
        tasks=_alphabetical_places(one.title for one in site.tallies),
        labels=_short_labels([board.exercise for board in site.boards]),
        gpus=[model(gpu) for gpu in gpus],
        indices={
            standing.gpus: " ".join(numbers[gpu] for gpu in standing.gpus)
            for standing in site.standings
        },
        places=_places_by_points(site),
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
        tally=next(one for one in site.tallies if one.exercise == board.exercise),
        before=site.boards[number - 1] if number else None,
        after=site.boards[number + 1] if number + 1 < len(site.boards) else None,
        plot=plots.class_plot(board),
        legend=plots.legend(board),
        rows=rows,
        any_ranked=any(row.rank is not None for row in board.rows),
        others=[row for row in board.rows if row.rank is None and row.state is not State.BASELINE],
        models=[model(gpu) for gpu in board.gpus],
        links=_links(site, "../students/"),
        order=_alphabetical_places(row.who for row in board.rows),
    )


def _student(
    site: Site,
    student: Student,
    render: Render,
    places: Mapping[str, Row],
    **standing: Any,
) -> str:
    """Render a student's page: a plot for each board, and the names that filter attempts."""
    by_exercise: defaultdict[str, list[Tried]] = defaultdict(list)
    for each in student.tried:
        by_exercise[each.exercise].append(each)
    names = sorted(by_exercise)
    titles = {one.exercise: one.title for one in site.tallies}
    scale = plots.attempts_scale(student.tried, site.boards)
    return render(
        "board_student.html",
        top="../",
        gates=None,
        student=student,
        most=_most_points(site),
        titles=[titles.get(name, name) for name in names],
        rows=attempt_rows(student.tried, {name: titles.get(name, name) for name in names}),
        plots=[
            (
                board,
                places.get(board.exercise),
                tried,
                plots.attempts_plot(tried, board, scale, progress_description(board.title, tried)),
            )
            for board in site.boards
            if (tried := by_exercise.get(board.exercise))
            and any(each.share is not None for each in tried)
        ],
        **standing,
    )


def _most_points(site: Site) -> int:
    return sum(one.max_points for one in site.tallies)


def _points(site: Site) -> Markup:
    points = [standing.points for standing in site.standings]
    return plots.points_plot(points, _most_points(site)) if points else Markup()


def _places_by_points(site: Site) -> list[int]:
    """Return each standing's place by its points, in the order of the standings."""
    points = [standing.points for standing in site.standings]
    return [1 + sum(other > own for other in points) for own in points]


def _rows_by_student(boards: Iterable[Board]) -> defaultdict[str, dict[str, Row]]:
    places: defaultdict[str, dict[str, Row]] = defaultdict(dict)
    for board in boards:
        for row in board.rows:
            if row.key is not None:
                places[row.key][board.exercise] = row
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
        while baselines and (baselines[0].share or 0.0) >= plots.certain(row):
            merged.append((None, baselines.pop(0)))
        merged.append((number, row))
    return merged + [(None, row) for row in baselines]


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
