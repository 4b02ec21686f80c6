"""The nicknames that are not allowed: those that name, imitate or disturb others."""

from __future__ import annotations

import re
import unicodedata

from grader.classroom.board.forbidden import WORD, Forbidden
from grader.classroom.board.look_alikes import folded, skeleton, without_marks
from grader.classroom.board.words import ADJECTIVES, NOUNS

LONGEST_NICKNAME = 24  # characters
# Names of baselines, and the board's own words for the state of a row.
MODEL = "model solution"  # each begins so
TAKEN = (
    *("torch", "torch eager", "torch compile", "solution", "baseline"),
    *("limit", "the limit", "memory limit", "hardware limit", "gpu limit"),
    *("ranked", "solved", "unverified", "not timed", "not passed", "noisy", "disturbed"),
    *("impossible", "invalidated", "taken back", "rank", "place", "hidden", "teacher"),
)
PSEUDONYM = re.compile(rf"({'|'.join(ADJECTIVES)})[\W_]*({'|'.join(NOUNS)})[\W_]*\d+")
NUMBER_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")
# The invisible fillers of Hangul, as NFKC writes them. All other characters that Unicode calls
# ignorable are not letters, or are removed when a nickname is cleaned.
UNSEEN = re.compile("[\u115f\u1160]")
# Japanese and Korean mix several scripts, and none of them looks like another.
EAST_ASIAN = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL")


def problem(nickname: str, forbidden: Forbidden) -> str | None:
    """Return the reason to refuse a nickname, which is one clean line; None if it is allowed."""
    if not any(c.isalnum() for c in folded(nickname)):
        return "it has no letter and no digit"
    if UNSEEN.search(folded(nickname)):
        return "it has an invisible letter"
    if len(nickname) > LONGEST_NICKNAME:
        return f"it has more than {LONGEST_NICKNAME} characters"
    if nickname[0] in "=+-@":
        return "in a spreadsheet it would be a formula"
    if _stacked(nickname):
        return "it stacks marks on a letter"
    if len(_scripts(nickname)) > 1:
        return "it mixes letters of several alphabets, some of which look alike"
    if forbidden.is_in(nickname) or forbidden.is_seen_in(nickname):
        return "it shows a login or an e-mail address"
    if _like_a_pseudonym(nickname):
        return "it looks like a pseudonym, perhaps another's"
    bare = skeleton(NUMBER_AROUND.sub("", folded(nickname)))
    if bare in map(skeleton, TAKEN) or bare.startswith(skeleton(MODEL)):
        return "it is taken: the board uses it itself"
    return None


def _scripts(text: str) -> set[str]:
    # A letter's Unicode name begins with its script.
    scripts = {unicodedata.name(c, "?").partition(" ")[0] for c in folded(text) if c.isalpha()}
    return {"CJK" if script in EAST_ASIAN else script for script in scripts}


def _like_a_pseudonym(text: str) -> bool:
    """Look for the words of a pseudonym, or its form: two words and four characters.

    The form alone is enough, because words can be spelt with letters that only look like theirs.
    """
    plain = without_marks(folded(text))
    words = WORD.findall(plain)
    form = len(words) == 3 and len(words[2]) == 4 and any(map(str.isdigit, words[2]))
    return form or bool(PSEUDONYM.search(plain) or LIKE_ONE.search(skeleton(text)))


def _stacked(text: str) -> bool:
    # Three combining marks in a row would cover the lines around.
    marks = "".join("m" if unicodedata.combining(c) else "." for c in text)
    return "mmm" in marks


# A skeleton has letters for 0 and 1: a digit follows the words, or four letters that may be digits.
LIKE_ONE = re.compile(
    rf"({'|'.join(map(skeleton, ADJECTIVES))})({'|'.join(map(skeleton, NOUNS))})"
    r"([ol]*[2-9]|[ol]{4})"
)
