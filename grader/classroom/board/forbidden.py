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
        # Of a login that is an e-mail address, the part before the @ says as much.
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

    def found(self, text: str) -> bool:
        plain = folded(text)
        return bool(EMAIL.search(plain) or (self._logins and self._logins.search(plain)))

    def spelt(self, name: str) -> bool:
        """Say if a reader sees a login in a name, whatever its separators, accents and letters.

        A short one is a word of its own, or the whole.
        """
        whole = skeleton(name)
        words = {whole, *WORD.findall(as_seen(name))}
        return not words.isdisjoint(self._short) or any(login in whole for login in self._long)

    def without(self, text: str) -> str:
        """Return the text with … for each login and address; the rest stays as it was written."""
        if not self.found(text):
            return text
        folds = [folded(character) for character in text]
        written_at = [place for place, fold in enumerate(folds) for _ in fold]
        hidden = {
            place
            for pattern in filter(None, (EMAIL, self._logins))
            for match in pattern.finditer("".join(folds))
            for place in written_at[match.start() : match.end()]
        }
        kept = "".join(
            character if place not in hidden else "…" * (place - 1 not in hidden)
            for place, character in enumerate(text)
        )
        # What shows only where the text is folded as a whole, such as a letter put together of two.
        return self._folded_without(kept) if self.found(kept) else kept

    def _folded_without(self, text: str) -> str:
        text = EMAIL.sub("…", folded(text))
        return self._logins.sub("…", text) if self._logins else text
