"""Texts that readers take for one another: folded case, accents, and letters that look alike."""

from __future__ import annotations

import unicodedata

# Small letters and digits, and what they look like, small or as capitals. Where that differs it is
# the capital that counts, as of Greek ones. More letters look alike than stand here.
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
    """Write one letter for all that look like it."""
    return without_marks(folded(text)).translate(LOOK_ALIKE)


def skeleton(text: str) -> str:
    """Return what two names share that a reader takes for one another."""
    return "".join(c for c in as_seen(text) if c.isalnum())
