"""What students are called on a board: pseudonyms by default, nicknames for those who want them.

Both follow from the course key, which only whoever runs the course holds: without it nobody can
try which login makes which name.
"""

from __future__ import annotations

import csv
import hmac
import re
import secrets
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from grader.classroom.board.words import ADJECTIVES, NOUNS
from grader.model import UsageError, create_file, login_of, quoted, texts

KEY_BYTES = 32
NUMBERS = 10_000  # four digits behind each pair of words
LONGEST_NICKNAME = 24  # characters
LONG_ENOUGH = 4  # characters from which a login may not even be a part of a nickname
YES, NO = ("yes", "true", "1", "x"), ("", "no", "false", "0")
# What a row that is no student's is called, and words in which the board says what one is worth.
TAKEN = (
    *("torch", "torch eager", "torch compile", "model solution", "solution", "baseline"),
    *("limit", "the limit", "memory limit", "hardware limit", "gpu limit"),
    *("ranked", "solved", "unverified", "not timed", "not passed", "disturbed", "impossible"),
    *("taken back", "rank", "place", "hidden", "teacher"),
)
EMAIL = re.compile(r"[^\s<>,;:]+@[^\s<>,;:]+")
PSEUDONYM = re.compile(rf"({'|'.join(ADJECTIVES)})[\W_]*({'|'.join(NOUNS)})[\W_]*\d+")
WORD = re.compile(r"[^\W_]+")
NUMBER_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")
# The letters of Hangul that fill a place and show nothing, as NFKC has them. All other characters
# that Unicode calls ignorable are no letters, or are taken out of what is cleaned.
UNSEEN = re.compile("[\u115f\u1160]")
# Small letters and digits, and what they look like, small or as capitals. Where that differs it is
# the capital that counts, as of Greek ones. More letters look alike than stand here.
LOOK_ALIKE = (
    str.maketrans("01i|ıɩǀɑɡøłđħŧ", "ollllllagoldht")
    | str.maketrans("авгезікмнорстухьјѕһӏԁԛԝ", "abre3lkmhopctyxbjshldqw")
    | str.maketrans("αβγεζηικμνορτυχ", "abyezhlkmnoptyx")
)
# Japanese and Korean write with several scripts at once, none of which looks like another's.
EAST_ASIAN = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL")


@dataclass(frozen=True)
class Wish:
    """What a student wants of the board: a nickname, or not to be on it."""

    nickname: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class Person:
    """A student as published. `key` names the page."""

    who: str
    key: str


def new_course_key(path: Path) -> None:
    """Write a new course key, which only its owner may read. Raises UsageError."""
    try:
        create_file(path, f"{secrets.token_hex(KEY_BYTES)}\n".encode(), 0o600)
    except OSError as error:
        raise UsageError(
            f"The course key {path} cannot be written: {error.strerror}.",
            "Name a file that is not there yet: with another key everybody gets another name.",
        ) from None


def course_key(path: Path) -> bytes:
    """Raises UsageError."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(
            f"The course key {path} cannot be read: {error.strerror}.",
            "`grader keys new` makes one.",
        ) from None
    except UnicodeDecodeError:
        text = ""
    if not re.fullmatch(rf"[0-9a-f]{{{2 * KEY_BYTES}}}", text):
        raise UsageError(
            f"{path} holds no course key: {2 * KEY_BYTES} hexadecimal digits.",
            "`grader keys new` makes one.",
        )
    return bytes.fromhex(text)


def wishes(path: Path) -> dict[str, Wish]:
    """What stands in a CSV file with the columns student, nickname, hidden. Raises UsageError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _wishes(path, csv.DictReader(file, strict=True))
    except OSError as error:
        raise UsageError(
            f"The file {path} cannot be read: {error.strerror}.", "Name a CSV file."
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} is no CSV file in UTF-8: {error}.", _COLUMNS) from None


_COLUMNS = "Its first line is student,nickname,hidden; the last two may be empty below it."


def _columns(path: Path, names: Sequence[str]) -> list[str]:
    """The names of the columns, each one that is read: who asks to be hidden is never passed over.

    Raises UsageError.
    """
    columns = [name.strip().casefold() for name in names]
    if "student" not in columns or not {"nickname", "hidden"} & set(columns):
        raise UsageError(f"{path} does not say who wants what.", _COLUMNS)
    for number, column in enumerate(columns):
        if column not in ("student", "nickname", "hidden"):
            raise UsageError(
                f"{path} has a column that is not read: {quoted(names[number])}.", _COLUMNS
            )
        if column in columns[:number]:
            raise UsageError(f"{path} has the column {column} twice.", "Keep one of the two.")
    return columns


def _wishes(path: Path, rows: csv.DictReader[str]) -> dict[str, Wish]:
    rows.fieldnames = _columns(path, rows.fieldnames or ())
    found: dict[str, Wish] = {}
    seen: set[str] = set()
    for row in rows:
        student = (row["student"] or "").strip()
        hidden = (row.get("hidden") or "").strip().lower()
        where = f"{path}, line {rows.line_num}"
        if rows.restkey in row:
            raise UsageError(f"{where} has more cells than there are columns.", _COLUMNS)
        if not student:
            raise UsageError(f"{where} names no student.", _COLUMNS)
        if login_of(student) in seen:
            raise UsageError(f"{where}: {quoted(student)} stands there twice.", "Keep one line.")
        if hidden not in YES + NO:
            raise UsageError(
                f"{where}: hidden is {quoted(hidden)}.", f"Write {YES[0]}, or leave it empty."
            )
        seen.add(login_of(student))
        found[student] = Wish((row.get("nickname") or "").strip(), hidden in YES)
    return found


def named(
    logins: Collection[str], key: bytes, wanted: Mapping[str, Wish]
) -> tuple[dict[str, Person], list[str]]:
    """Everybody who is on the board by login, and what is told of wishes that cannot be met.

    Nobody loses a nickname to one who comes later in `wanted`.
    """
    who, told, hidden, taken = _pseudonyms(logins, key), [], set(), set()
    forbidden = Forbidden({*logins, *wanted})
    for student, wish in wanted.items():
        if not wish.hidden and not wish.nickname:
            continue
        theirs = login_of(student)
        if theirs not in logins:
            wants = "not to be shown" if wish.hidden else f"to be called {quoted(wish.nickname)}"
            told.append(
                f"{quoted(student)} wants {wants}, and nobody here has that login: it is misspelt, "
                "or nothing is handed in yet"
            )
            continue
        if wish.hidden:
            hidden.add(theirs)
            continue
        nickname = texts.clean_line(wish.nickname)
        problem = _problem(nickname, forbidden)
        if problem is None and _skeleton(nickname) in taken:
            problem = "it is taken"
        if problem is None:
            who[theirs] = nickname
            taken.add(_skeleton(nickname))
        else:
            refused = f"the nickname {quoted(wish.nickname)} of {quoted(student)} is not used"
            told.append(f"{refused}: {problem}")
    people = {
        theirs: Person(name, page(theirs, key))
        for theirs, name in who.items()
        if theirs not in hidden
    }
    return people, told


def _pseudonyms(logins: Iterable[str], key: bytes) -> dict[str, str]:
    """Each login's pair of words with four digits, such as `calm-otter-4821`.

    There are 128 · 128 · 10,000 = 1.6e8. In a class of 2,000 two share one with a probability of
    2000² / 2 / 1.6e8 = 1.2 %; then one of them, the same whoever else is there, gets another. So
    the name of a student changes because of one who joins with a probability below 1.6e8⁻¹.
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
    """The name of a student's page: 80 bits that nobody can work out from the login."""
    return _mac(key, "page", login).hex()[:20]


def _mac(key: bytes, purpose: str, login: str) -> bytes:
    """HMAC-SHA256 (RFC 2104), each purpose apart."""
    return hmac.digest(key, f"{purpose}\n{login}".encode(), sha256)


class Forbidden:
    """Finds what must not be published in a text: logins of the class, and e-mail addresses."""

    def __init__(self, logins: Collection[str]) -> None:
        # Of a login that is an e-mail address, the part before the @ says as much.
        parts = {part for login in logins for part in (login, login.partition("@")[0])}
        words = {_folded(part).strip() for part in parts} - {""}
        long = sorted((word for word in words if len(word) >= LONG_ENOUGH), key=len, reverse=True)
        short = sorted(word for word in words if len(word) < LONG_ENOUGH)
        patterns = [re.escape(word) for word in long]
        patterns += [rf"(?<!\w){re.escape(word)}(?!\w)" for word in short]
        self._logins = re.compile("|".join(patterns)) if patterns else None
        skeletons = {_skeleton(word) for word in words} - {""}
        self._short = {one for one in skeletons if len(one) < LONG_ENOUGH}
        self._long = sorted(skeletons - self._short)

    def found(self, text: str) -> bool:
        folded = _folded(text)
        return bool(EMAIL.search(folded) or (self._logins and self._logins.search(folded)))

    def spelt(self, name: str) -> bool:
        """Whether a reader sees a login in a name, whatever its separators, accents and letters.

        A short one is a word of its own, or the whole.
        """
        whole = _skeleton(name)
        words = {whole, *WORD.findall(_as_seen(name))}
        return not words.isdisjoint(self._short) or any(login in whole for login in self._long)

    def without(self, text: str) -> str:
        """The text with … for what must not be published; the rest stays as it was written."""
        if not self.found(text):
            return text
        folds = [_folded(character) for character in text]
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
        text = EMAIL.sub("…", _folded(text))
        return self._logins.sub("…", text) if self._logins else text


def _problem(nickname: str, forbidden: Forbidden) -> str | None:
    """Why a cleaned nickname cannot be had."""
    if not any(c.isalnum() for c in _folded(nickname)):
        return "it has no letter and no digit"
    if UNSEEN.search(_folded(nickname)):
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
    if _skeleton(NUMBER_AROUND.sub("", _folded(nickname))) in map(_skeleton, TAKEN):
        return "it is taken: the board itself says so of a row"
    return None


def _scripts(text: str) -> set[str]:
    """The scripts of a text's letters: what their Unicode names begin with."""
    found = {unicodedata.name(c, "?").partition(" ")[0] for c in _folded(text) if c.isalpha()}
    return {"CJK" if script in EAST_ASIAN else script for script in found}


def _like_a_pseudonym(text: str) -> bool:
    """Whether it has the words of a pseudonym, or its form: two words and four characters.

    The form alone is enough, because words can be spelt with letters that only look like theirs.
    """
    plain = _without_marks(_folded(text))
    words = WORD.findall(plain)
    form = len(words) == 3 and len(words[2]) == 4 and any(map(str.isdigit, words[2]))
    return form or bool(PSEUDONYM.search(plain) or LIKE_ONE.search(_skeleton(text)))


def _stacked(text: str) -> bool:
    """Whether three combining marks follow one another, which would cover the lines around."""
    marks = "".join("m" if unicodedata.combining(c) else "." for c in text)
    return "mmm" in marks


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _without_marks(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(c for c in parts if unicodedata.category(c)[0] != "M")


def _as_seen(text: str) -> str:
    """The text with one letter for all that look like it."""
    return _without_marks(_folded(text)).translate(LOOK_ALIKE)


def _skeleton(text: str) -> str:
    """What two names have in common that a reader would take for one."""
    return "".join(c for c in _as_seen(text) if c.isalnum())


# In a skeleton 0 and 1 are letters: behind the words a digit, or four letters that may be some.
LIKE_ONE = re.compile(
    rf"({'|'.join(map(_skeleton, ADJECTIVES))})({'|'.join(map(_skeleton, NOUNS))})"
    r"([ol]*[2-9]|[ol]{4})"
)
