"""The attempts of one student as the rows of a table.

The rows are put together here and not in the template: a large class has a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from grader.classroom import State, Tried
from grader.reports import board_plots as plots
from grader.reports.board_values import (
    WORDS,
    escaped,
    key,
    model,
    moment_of,
    since_1970,
    span,
    to_the_minute,
)

STATE_CELLS = {
    state: f'<td class="state {plots.MARK_OF[state]}" data-v="{number}">{word}</td>'
    for number, (state, word) in enumerate(WORDS.items())
}


def attempt_rows(tried: Sequence[Tried], titles: Mapping[str, str]) -> Markup:
    """Return the rows of a student's table, newest first; `titles` has the filter's order."""
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
                f'<td class="n share" data-v="{key(each.share)}"><b>{plots.percent(each.share)}'
                f"</b> <span>{span(each.share_low, each.share_high)}</span></td>"
            )
        rows.append(
            f"{begin}{_handed_in(each.when)}{name}{STATE_CELLS[each.state]}"
            f'<td class="n points" data-v="{each.points}">{each.points}'
            f" <small>of {each.max_points}</small></td>{share}"
            f'<td class="gpu">{escaped(model(each.gpu))}</td>'
            f'<td class="why">{escaped(each.note)}</td></tr>'
        )
    return Markup("\n".join(rows))


def _handed_in(when: str) -> str:
    moment = moment_of(when)
    if moment is None:
        return f'<td class="when">{escape(when)}</td>'
    return f'<td class="when" data-v="{since_1970(moment)}">{to_the_minute(moment)}</td>'


def progress_description(title: str, tried: Sequence[Tried]) -> str:
    shares = [each.share for each in tried if each.state is State.RANKED and each.share is not None]
    count = f"{len(tried)} {'attempt' if len(tried) == 1 else 'attempts'}"
    if not shares:
        return f"{title}: {count}, none of them ranked. The table has each."
    return (
        f"{title}: {count}, {len(shares)} of them ranked, the first with {plots.percent(shares[0])}"
        f" and the best with {plots.percent(max(shares))} of the ceiling. The table has each."
    )
