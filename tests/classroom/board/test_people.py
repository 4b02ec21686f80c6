"""Names on a board: stable, unique, and nobody's login."""

from __future__ import annotations

import re
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.board import course_key, pseudonyms
from grader.classroom.board import wishes as wish_files
from grader.classroom.board.forbidden import Forbidden
from grader.classroom.board.people import named
from grader.classroom.board.wishes import Wish
from grader.classroom.board.words import ADJECTIVES, NOUNS
from grader.model.errors import UsageError
from grader.model.texts import clean_line

KEY = bytes(range(32))


def who(logins, wanted=None, key=KEY) -> dict[str, str]:
    found, _ = named(logins, key, wanted or {})
    return {login: person.who for login, person in found.items()}


def wide(text: str) -> str:
    """The same letters in the width of Chinese ones."""
    return "".join(chr(ord(letter) + 0xFEE0) for letter in text)


def refused(nickname: str, logins=("ada", "bob.smith@uni.edu", "grace")) -> str:
    """Why a nickname of ada's is not used; empty where it is."""
    found, told = named(logins, KEY, {"ada": Wish(nickname)})
    assert (found["ada"].who == clean_line(nickname)) == (not told)
    return told[0] if told else ""


def test_the_words_are_plain():
    assert len(ADJECTIVES) == len(NOUNS) == 128
    words = [*ADJECTIVES, *NOUNS]
    assert len(set(words)) == 256
    assert all(re.fullmatch(r"[a-z]{3,12}", word) for word in words)


def test_pseudonyms_are_two_words_and_four_digits_and_follow_from_the_key():
    names = who(["ada", "bob"])
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-\d{4}", name) for name in names.values())
    assert who(["bob", "ada"]) == names
    assert set(who(["ada", "bob"], key=bytes(32)).values()).isdisjoint(names.values())


def test_a_class_of_two_thousand_has_two_thousand_names():
    names = who([f"s{n}" for n in range(2000)])
    assert len(set(names.values())) == 2000
    used = {name.rsplit("-", 1)[0] for name in names.values()}
    assert len(used) > 1800, "all words are drawn"


def test_pseudonyms_that_collide_differ_whoever_else_is_in_the_class(monkeypatch):
    monkeypatch.setattr(pseudonyms, "NUMBERS", 1)
    monkeypatch.setattr(pseudonyms, "ADJECTIVES", ["calm"])
    monkeypatch.setattr(pseudonyms, "NOUNS", ["otter", "heron"])
    gave_way = set()
    for number in range(40):
        key = bytes([number]) * 32
        names = who(["ada", "bob"], key=key)
        assert sorted(names.values()) == ["calm-heron-0000", "calm-otter-0000"]
        assert who(["bob", "ada"], key=key) == names
        gave_way |= {login for login, name in names.items() if who([login], key=key)[login] != name}
    assert gave_way == {"ada", "bob"}, (
        "which of two gives way is drawn, and not the alphabet's to say"
    )


def test_one_who_joins_changes_no_name():
    before = who([f"s{n}" for n in range(300)])
    after = who([f"s{n}" for n in range(330)])
    assert {login: after[login] for login in before} == before


def test_names_of_pages_do_not_reveal_logins_and_differ():
    found, _ = named(["ada", "bob"], KEY, {})
    keys = {person.key for person in found.values()}
    assert all(re.fullmatch(r"[0-9a-f]{20}", key) for key in keys)
    assert len(keys) == 2
    assert pseudonyms.page("ada", bytes(32)) != pseudonyms.page("ada", KEY)


def test_a_nickname_is_opt_in_and_hiding_leaves_no_trace():
    wanted = {"ada": Wish("Countess"), "bob": Wish("Bobby", hidden=True), "gone": Wish()}
    found, told = named(["ada", "bob", "cy"], KEY, wanted)
    assert found["ada"].who == "Countess"
    assert "bob" not in found
    assert found["cy"].who == who(["ada", "bob", "cy"])["cy"]
    assert not told


def test_a_wish_is_met_whatever_the_case_of_the_login():
    """`Bob` for `bob` was passed over, and one who asked not to be shown stood on the board."""
    wanted = {"ADA": Wish("Countess"), "Bob": Wish(hidden=True)}
    found, told = named(["ada", "bob", "cy"], KEY, wanted)
    assert set(found) == {"ada", "cy"}
    assert found["ada"].who == "Countess"
    assert not told


def test_a_wish_of_an_unknown_login_is_reported():
    """A misspelt login hides nobody; but a student who has handed in nothing yet is no mistake."""
    wanted = {"b0b": Wish(hidden=True), "a\nda": Wish("Countess"), "gone": Wish()}
    found, told = named(["ada", "bob"], KEY, wanted)
    assert set(found) == {"ada", "bob"}
    nobody = "and nobody here has that login: it is misspelt, or they have handed in nothing yet"
    assert told == [
        f"b0b wants not to be shown, {nobody}",
        f"'a\\nda' wants to be called Countess, {nobody}",
    ]


@pytest.mark.parametrize(
    "nickname",
    [
        *("Ωμέγα", "wave 🌊", "Дарья", "نور", "O'Neill <3", "x", "a" * 24, "héllo", "小林カツ子"),
        *("한글", "Ⅳ", "42", "Team Rocket 42", "Zoë the 3rd", "van der Berg"),
        *("Ada", "Zoë", "Ольга", "Сергей", "Nikos", "Νίκος", "Frank 2", "Ranko", "Limitless"),
        *("calm otter lover", "Otto Rank", "が", "की", "the solution is 42"),
    ],
)
def test_nicknames_of_many_kinds_are_used(nickname: str):
    found, told = named(["alovelace", "bob.smith@uni.edu"], KEY, {"alovelace": Wish(nickname)})
    assert (found["alovelace"].who, told) == (nickname, [])


@pytest.mark.parametrize(
    ("nickname", "reason"),
    [
        ("a" * 25, "more than 24 characters"),
        ("a" * 10_000, "more than 24 characters"),
        ("!?", "no letter and no digit"),
        ("\u202e\u200b", "no letter and no digit"),
        ("\uff9e", "no letter and no digit"),  # a letter on its own, and a mark where it is folded
        ("\ufe70", "no letter and no digit"),
        ("=1+1", "a formula"),
        ("@home", "a formula"),
        ("-1", "a formula"),
        ("a" + "\u0301" * 5, "stacks marks"),
        ("me@uni.edu", "a login or an e-mail"),
        ("write me@uni.edu", "a login or an e-mail"),
        ("ADA", "a login or an e-mail"),
        ("the ada!", "a login or an e-mail"),
        ("Grace-Hopper", "a login or an e-mail"),
        ("xgracex", "a login or an e-mail"),
        (wide("grace"), "a login or an e-mail"),
        ("gr\u200bace", "a login or an e-mail"),
        ("bob.smith", "a login or an e-mail"),
        ("calm-otter-4821", "looks like a pseudonym"),
        ("Calm Otter 12", "looks like a pseudonym"),
        ("calm_otter_4821", "looks like a pseudonym"),
        (wide("calm-otter-4821"), "looks like a pseudonym"),
        (wide("calm") + "-otter-4821", "looks like a pseudonym"),
        ("CALM\u2010OTTER\u20104821", "looks like a pseudonym"),
        ("c\u0251lm-otter-4821", "looks like a pseudonym"),  # LATIN SMALL LETTER ALPHA
        ("cal\u0325m-otter-4821", "looks like a pseudonym"),  # a ring that joins no letter
        ("calrn-otter-4821", "looks like a pseudonym"),
        ("calm-0tter-482l", "looks like a pseudonym"),
        ("\u0441\u0430\u0456-\u043e\u0440\u0435-4821", "looks like a pseudonym"),  # Cyrillic
        ("\u0441\u0430lm-otter-4821", "mixes letters of several alphabets"),
        ("\u0410da L", "mixes letters of several alphabets"),
        ("Ωmega", "mixes letters of several alphabets"),
        ("calm\u30fcotter\u30fc4821", "mixes letters of several alphabets"),
        ("Torch-Eager", "it is taken"),
        ("model solution", "it is taken"),
        ("Hardware limit", "it is taken"),
        ("Rank 1", "it is taken"),
        ("(unverified)", "it is taken"),
        ("Torch 2.9", "it is taken"),
        ("\u3164", "an invisible letter"),
        ("\u3164\u3164", "an invisible letter"),
        ("\u115f\u1160", "an invisible letter"),
        ("\u314f\uffa0", "an invisible letter"),
        ("calm0tter4821", "looks like a pseudonym"),
        ("ca|m 0tter 1OO1", "looks like a pseudonym"),
        ("Gr-ace", "a login or an e-mail"),
        ("g.r.a.c.e", "a login or an e-mail"),
        ("Gr\u00e1ce", "a login or an e-mail"),
        ("\u00c5da", "a login or an e-mail"),
        ("the \u00e1da", "a login or an e-mail"),
        ("the a\u0325d\u0325a", "a login or an e-mail"),  # rings that join no letter
        ("a.d.a", "a login or an e-mail"),
        ("Bob Smith", "a login or an e-mail"),
        ("b0b smlth", "a login or an e-mail"),
    ],
)
def test_a_nickname_that_misleads_is_not_used(nickname: str, reason: str):
    told = refused(nickname)
    assert reason in told
    assert told.isprintable()
    assert len(told) < 300


def test_a_login_of_one_who_has_handed_in_nothing_is_a_login():
    wanted = {"ada": Wish("Katherine J"), "katherine": Wish()}
    assert named(["ada"], KEY, wanted)[0]["ada"].who != "Katherine J"


def test_a_short_login_is_no_part_of_a_longer_word():
    assert refused("Canada") == ""


def test_two_may_not_look_the_same_and_the_first_keeps_it():
    wanted = {
        "ada": Wish("Wave Rider"),
        "cy": Wish("waverider"),
        "bob": Wish(wide("WAVE-RIDER")),
    }
    found, told = named(["ada", "bob", "cy"], KEY, wanted)
    assert found["ada"].who == "Wave Rider"
    assert found["cy"].who == who(["ada", "bob", "cy"])["cy"]
    assert [sentence.rpartition(": ")[2] for sentence in told] == ["it is taken"] * 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Bill", "BiIl"),
        ("ACE", "\u0410\u0421\u0415"),  # Cyrillic
        ("TAXI", "\u03a4\u0391\u03a7\u0399"),  # Greek
        ("anna1", "annal"),
        ("B|ue", "Blue"),
        ("O0O", "OOO"),
        ("Zo\u00eb", "Zoe"),
        ("Di\u0307ana", "D\u0131ana"),
        ("J\u00f8rn", "Jorn"),
    ],
)
def test_names_that_look_alike_are_one(first: str, second: str):
    """A reader took the second for the first, who had the name before."""
    for wanted in ({"ada": first, "cy": second}, {"ada": second, "cy": first}):
        found, told = named(["ada", "cy"], KEY, {who: Wish(name) for who, name in wanted.items()})
        assert found["ada"].who == clean_line(wanted["ada"])
        assert [sentence.rpartition(": ")[2] for sentence in told] == ["it is taken"]


@pytest.mark.parametrize("nickname", ["user-000", "u.s.e.r.0.0.0", "us\u00e9r000", "userOOO"])
def test_a_login_may_not_be_spelt_in_another_way(nickname: str):
    wanted = {"ada": Wish(nickname)}
    assert named(["ada", "user000"], KEY, wanted)[0]["ada"].who != nickname


LOGINS = st.text("abyz019.-_@", min_size=1, max_size=8).filter(lambda login: login[0].isalnum())


@given(st.text("abyzABYZ019.-_@ ;é", max_size=40), st.sets(LOGINS, max_size=4))
def test_what_is_cut_out_of_a_text_is_gone(text: str, logins: set[str]):
    forbidden = Forbidden(logins)
    assert not forbidden.is_in(forbidden.without(text))


def test_reasons_lose_logins_and_addresses_and_nothing_else():
    """The rest was published in small letters."""
    forbidden = Forbidden(["ada", "grace@uni.edu"])
    told = "copied from Ada, see grace@uni.edu or Grace; Canada is far"
    assert forbidden.without(told) == "copied from …, see … or …; Canada is far"
    assert forbidden.without("Calls torch.softmax") == "Calls torch.softmax"
    assert forbidden.without(f"Ask {wide('ADA')}ﬁ, Straße: ADA") == f"Ask {wide('ADA')}ﬁ, Straße: …"
    apart = unicodedata.normalize("NFD", "Zoë")
    assert Forbidden(["zoë"]).without(f"By {apart}") == "by …", "two characters, one letter"


def test_keys_are_made_once_and_read(tmp_path: Path):
    path = tmp_path / "course.key"
    course_key.new_course_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = course_key.course_key(path)
    assert len(key) == 32
    with pytest.raises(UsageError, match=r"course\.key cannot be written: File exists"):
        course_key.new_course_key(path)
    assert course_key.course_key(path) == key


@pytest.mark.parametrize("content", [b"", b"abc", b"g" * 64, b"\xff" * 64, b"a" * 66])
def test_what_is_no_course_key_is_named(tmp_path: Path, content: bytes):
    (tmp_path / "k").write_bytes(content)
    with pytest.raises(UsageError, match="holds no course key: 64 hexadecimal digits"):
        course_key.course_key(tmp_path / "k")
    with pytest.raises(UsageError, match="missing cannot be read: No such file"):
        course_key.course_key(tmp_path / "missing")


def wishes(tmp_path: Path, text: str | bytes) -> dict[str, Wish]:
    path = tmp_path / "people.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return wish_files.wishes(path)


def test_wishes_come_from_a_table(tmp_path: Path):
    table = '\ufeffstudent,nickname,hidden\nada,"Countess, the",\nbob,,yes\n"a\nb",x,no\n'
    assert wishes(tmp_path, table) == {
        "ada": Wish("Countess, the"),
        "bob": Wish("", hidden=True),
        "a\nb": Wish("x"),
    }
    assert wishes(tmp_path, "hidden,student\nTRUE, ada \n") == {"ada": Wish(hidden=True)}


def test_columns_are_found_whatever_their_case_and_blanks(tmp_path: Path):
    """`Hidden` was passed over, and who had asked to be hidden stood on the board."""
    table = "Student, nickname,HIDDEN \nada,Countess,\nbob,,yes\n"
    assert wishes(tmp_path, table) == {"ada": Wish("Countess"), "bob": Wish(hidden=True)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,nickname\nada,x\n", "does not say who wants what"),
        ("", "does not say who wants what"),
        ("student\nada\n", "does not say who wants what"),
        ("student,nickname,hiden\nbob,,yes\n", "has a column that is not read: hiden"),
        ("student,nickname,\nbob,,yes\n", "has a column that is not read: ''"),
        ("student,hidden,Hidden\nbob,yes,\n", "has the column hidden twice"),
        ("student,nickname,hidden\nbob,,,yes\n", "line 2 has more cells than there are columns"),
        ("student,nickname\n,x\n", "line 2 names no student"),
        ("student,nickname\nada,x\nada,y\n", "line 3: ada has two lines"),
        ("student,nickname\nada,x\n Ada,y\n", "line 3: Ada has two lines"),
        ("student,hidden\nada,perhaps\n", "line 2: hidden is perhaps"),
        (b"student,nickname\n\xff,x\n", "is no CSV file in UTF-8"),
        ('student,nickname\nada,"x" y\n', "is no CSV file in UTF-8"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, text, message: str):
    with pytest.raises(UsageError, match=message):
        wishes(tmp_path, text)
