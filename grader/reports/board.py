"""The leaderboard of a class as pages for any static host, each whole in itself.

A page holds its style and its script and asks for nothing: it works from a disk and without a
network. What students and results say is text: the templates escape it, the script only moves rows
that are there. A Content-Security-Policy lets nothing run but the page's own script, known by its
hash. Without JavaScript the tables stand there, sorted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from grader import backends
from grader.classroom import Board, Row, Site, State, Student, Tried, parallel
from grader.reports import board_plots as plots
from grader.reports.board_attempts import attempt_rows, progress
from grader.reports.board_values import FILTERS, MEANINGS, WORDS, model
from grader.reports.webpage import Own, file, page_templates

WORTH_PROCESSES = 10_000  # attempts whose pages one process makes in less than a second
PAGES_AT_ONCE = 8  # that a process is asked for


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
        gpus=[model(gpu) for gpu in gpus],
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
        models=[model(gpu) for gpu in board.gpus],
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
        rows=attempt_rows(student.tried, {name: titles.get(name, name) for name in names}),
        plots=[
            (
                board,
                *places.get(board.exercise, (None, False)),
                tried,
                plots.attempts_plot(tried, board, scale, progress(board.title, tried)),
            )
            for board in site.boards
            if (tried := by_exercise.get(board.exercise))
        ],
        **standing,
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
