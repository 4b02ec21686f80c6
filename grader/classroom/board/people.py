"""Names of students on a board: pseudonyms by default, nicknames for those who want them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from grader.classroom.board import nicknames
from grader.classroom.board.forbidden import Forbidden
from grader.classroom.board.look_alikes import skeleton
from grader.classroom.board.pseudonyms import page, pseudonyms
from grader.classroom.board.wishes import Wish
from grader.model import login_of, quoted, texts


@dataclass(frozen=True)
class Person:
    """A student as published. `key` names the page."""

    who: str
    key: str


def named(
    logins: Collection[str], key: bytes, wishes: Mapping[str, Wish]
) -> tuple[dict[str, Person], list[str]]:
    """Return everybody on the board, keyed by login, and a line for each refused wish.

    If two students wish for the same nickname, the first in `wishes` gets it.
    """
    who, refused, hidden, taken = pseudonyms(logins, key), [], set(), set()
    forbidden = Forbidden({*logins, *wishes})
    for student, wish in wishes.items():
        theirs = login_of(student)
        if not wish.hidden and not wish.nickname:
            continue
        if theirs not in logins:
            refused.append(_unknown(student, wish))
        elif wish.hidden:
            hidden.add(theirs)
        else:
            nickname = texts.clean_line(wish.nickname)
            problem = nicknames.problem(nickname, forbidden)
            if problem is None and skeleton(nickname) in taken:
                problem = "it is taken"
            if problem is None:
                who[theirs] = nickname
                taken.add(skeleton(nickname))
            else:
                what = f"the nickname {quoted(wish.nickname)} of {quoted(student)} is not used"
                refused.append(f"{what}: {problem}")
    shown = {login: name for login, name in who.items() if login not in hidden}
    return {login: Person(name, page(login, key)) for login, name in shown.items()}, refused


def _unknown(student: str, wish: Wish) -> str:
    wants = "not to be shown" if wish.hidden else f"to be called {quoted(wish.nickname)}"
    return (
        f"{quoted(student)} wants {wants}, and nobody here has that login: it is misspelt, or "
        "they have handed in nothing yet"
    )
