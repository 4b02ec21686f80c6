"""The nicknames that nobody may have: those that name, imitate or disturb others."""

from __future__ import annotations

import re
import unicodedata

from grader.classroom.board.forbidden import WORD, Forbidden
from grader.classroom.board.look_alikes import folded, skeleton, without_marks
from grader.classroom.board.words import ADJECTIVES, NOUNS

LONGEST_NICKNAME = 24  # characters
# What a row that is no student's is called, and words in which the board says what one is worth.
TAKEN = (
    *("torch", "torch eager", "torch compile", "model solution", "solution", "baseline"),
    *("limit", "the limit", "memory limit", "hardware limit", "gpu limit"),
    *("ranked", "solved", "unverified", "not timed", "not passed", "disturbed", "impossible"),
    *("taken back", "rank", "place", "hidden", "teacher"),
)
PSEUDONYM = re.compile(rf"({'|'.join(ADJECTIVES)})[\W_]*({'|'.join(NOUNS)})[\W_]*\d+")
NUMBER_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")
# The letters of Hangul that fill a place and show nothing, as NFKC has them. All other characters
# that Unicode calls ignorable are no letters, or are taken out of what is cleaned.
UNSEEN = re.compile("[\u115f\u1160]")
# Japanese and Korean write with several scripts at once, none of which looks like another's.
EAST_ASIAN = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL")


def problem(nickname: str, forbidden: Forbidden) -> str | None:
    """Say why nobody may have a nickname, which is one clean line; None where one may."""
    if not any(c.isalnum() for c in folded(nickname)):
        return "it has no letter and no digit"
    if UNSEEN.search(folded(nickname)):
        return "it has a letter that nobody sees"
    if len(nickname) > LONGEST_NICKNAME:
        return f"it has more than {LONGEST_NICKNAME} characters"
    if nickname[0] in "=+-@":
        return "in a spreadsheet it would be a formula"
    if _stacked(nickname):
        return "it stacks marks on a letter"
    if len(_scripts(nickname)) > 1:
        return "it mixes letters of several alphabets, some of which look alike"
    if forbidden.found(nickname) or forbidden.spelt(nickname):
        return "it shows a login or an e-mail address"
    if _like_a_pseudonym(nickname):
        return "it looks like a pseudonym, perhaps another's"
    if skeleton(NUMBER_AROUND.sub("", folded(nickname))) in map(skeleton, TAKEN):
        return "it is taken: the board itself says so of a row"
    return None


def _scripts(text: str) -> set[str]:
    """Return the scripts of a text's letters: what their Unicode names begin with."""
    found = {unicodedata.name(c, "?").partition(" ")[0] for c in folded(text) if c.isalpha()}
    return {"CJK" if script in EAST_ASIAN else script for script in found}


def _like_a_pseudonym(text: str) -> bool:
    """Look for the words of a pseudonym, or its form: two words and four characters.

    The form alone is enough, because words can be spelt with letters that only look like theirs.
    """
    plain = without_marks(folded(text))
    words = WORD.findall(plain)
    form = len(words) == 3 and len(words[2]) == 4 and any(map(str.isdigit, words[2]))
    return form or bool(PSEUDONYM.search(plain) or LIKE_ONE.search(skeleton(text)))


def _stacked(text: str) -> bool:
    """Look for three combining marks in a row, which would cover the lines around."""
    marks = "".join("m" if unicodedata.combining(c) else "." for c in text)
    return "mmm" in marks


# In a skeleton 0 and 1 are letters: behind the words a digit, or four letters that may be some.
LIKE_ONE = re.compile(
    rf"({'|'.join(map(skeleton, ADJECTIVES))})({'|'.join(map(skeleton, NOUNS))})"
    r"([ol]*[2-9]|[ol]{4})"
)
