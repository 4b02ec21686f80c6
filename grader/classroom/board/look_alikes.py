"""Texts that readers confuse: they differ in case, in accents, or in letters that look alike."""

from __future__ import annotations

import unicodedata

# Small letters and digits, and the letters that they look like. Where a small letter and its
# capital look like different ones, the capital counts, as in Greek. The list is not complete.
LOOK_ALIKE = (
    str.maketrans("01i|ıɩǀɑɡøłđħŧ", "ollllllagoldht")
    | str.maketrans("авгезікмнорстухьјѕһӏԁԛԝ", "abre3lkmhopctyxbjshldqw")
    | str.maketrans("αβγεζηικμνορτυχ", "abyezhlkmnoptyx")
)


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def without_marks(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(c for c in parts if unicodedata.category(c)[0] != "M")


def as_seen(text: str) -> str:
    return without_marks(folded(text)).translate(LOOK_ALIKE)


def skeleton(text: str) -> str:
    """Return the letters and digits of a text as readers see them: equal for look-alike names."""
    return "".join(c for c in as_seen(text) if c.isalnum())
