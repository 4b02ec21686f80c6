"""Pseudonyms that follow from a login and the course key, such as `calm-otter-4821`."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256

from grader.classroom.board.words import ADJECTIVES, NOUNS

NUMBERS = 10_000  # four digits behind each pair of words


def pseudonyms(logins: Iterable[str], key: bytes) -> dict[str, str]:
    """Return for each login a pair of words with four digits.

    128 · 128 · 10,000 = 1.6e8 exist. In a class of 2,000, two logins share one with a probability
    of 2000² / 2 / 1.6e8 = 1.2 %. Then one of them gets another, the same one whoever else is in the
    class. A student who joins changes the pseudonym of a given other with a probability below
    1.6e8⁻¹.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for login in sorted(set(logins), key=lambda login: _mac(key, "order", login)):
        attempt = 0
        while (name := _pseudonym(key, login, attempt)) in taken:
            attempt += 1
        names[login] = name
        taken.add(name)
    return names


def _pseudonym(key: bytes, login: str, attempt: int) -> str:
    drawn = int.from_bytes(_mac(key, f"name {attempt}", login))
    drawn, number = divmod(drawn, NUMBERS)
    drawn, noun = divmod(drawn, len(NOUNS))
    return f"{ADJECTIVES[drawn % len(ADJECTIVES)]}-{NOUNS[noun]}-{number:04}"


def page(login: str, key: bytes) -> str:
    """Name a student's page by 80 bits that do not reveal the login."""
    return _mac(key, "page", login).hex()[:20]


def _mac(key: bytes, purpose: str, login: str) -> bytes:
    # HMAC-SHA256, RFC 2104. The purpose makes a page's name independent of a pseudonym.
    return hmac.digest(key, f"{purpose}\n{login}".encode(), sha256)
