"""Logins and e-mail addresses of a class, found in texts that are published."""

from __future__ import annotations

import re
from collections.abc import Collection

from grader.classroom.board.look_alikes import as_seen, folded, skeleton

LONG_ENOUGH = 4  # characters from which a login may not even be a part of a nickname
EMAIL = re.compile(r"[^\s<>,;:]+@[^\s<>,;:]+")
WORD = re.compile(r"[^\W_]+")


class Forbidden:
    """Finds logins of a class and e-mail addresses in a text."""

    def __init__(self, logins: Collection[str]) -> None:
        # The part of an e-mail address before the @ names its owner, too.
        parts = {part for login in logins for part in (login, login.partition("@")[0])}
        words = {folded(part).strip() for part in parts} - {""}
        long = sorted((word for word in words if len(word) >= LONG_ENOUGH), key=len, reverse=True)
        short = sorted(word for word in words if len(word) < LONG_ENOUGH)
        patterns = [re.escape(word) for word in long]
        patterns += [rf"(?<!\w){re.escape(word)}(?!\w)" for word in short]
        self._logins = re.compile("|".join(patterns)) if patterns else None
        skeletons = {skeleton(word) for word in words} - {""}
        self._short = {one for one in skeletons if len(one) < LONG_ENOUGH}
        self._long = sorted(skeletons - self._short)

    def is_in(self, text: str) -> bool:
        plain = folded(text)
        return bool(EMAIL.search(plain) or (self._logins and self._logins.search(plain)))

    def is_seen_in(self, name: str) -> bool:
        """Look for a login in a name, whatever the name's separators, accents and letters.

        A short login counts only as a whole word or the whole name.
        """
        whole = skeleton(name)
        words = {whole, *WORD.findall(as_seen(name))}
        return not words.isdisjoint(self._short) or any(login in whole for login in self._long)

    def without(self, text: str) -> str:
        """Replace each login and address by …, and leave the rest as it was written."""
        if not self.is_in(text):
            return text
        folds = [folded(character) for character in text]
        written_at = [place for place, fold in enumerate(folds) for _ in fold]
        hidden = {
            place
            for pattern in filter(None, (EMAIL, self._logins))
            for match in pattern.finditer("".join(folds))
            for place in written_at[match.start() : match.end()]
        }
        rest = "".join(
            character if place not in hidden else "…" * (place - 1 not in hidden)
            for place, character in enumerate(text)
        )
        # Some logins show only in the text folded as a whole: two characters may make one letter.
        return self._folded_without(rest) if self.is_in(rest) else rest

    def _folded_without(self, text: str) -> str:
        text = EMAIL.sub("…", folded(text))
        return self._logins.sub("…", text) if self._logins else text
