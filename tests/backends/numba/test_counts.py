"""What a log of accesses is counted as: by hand, and against a slow and plain count."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.backends.numba.simulator.access_log import Access, Log
from grader.backends.numba.simulator.counts import (
    facts,
    of_busiest_thread,
    passes,
    pieces,
    requests,
)
from grader.backends.numba.simulator.parent_arrays import Whole
from grader.worker.source_sites import line_of

pytestmark = pytest.mark.slow

X = np.zeros(4096, dtype=np.uint8)
START = 1 << 20  # a multiple of 32
GLOBAL = Whole("x", START, X.shape, X.strides, X)
SHARED = Whole("tile", START, X.shape, X.strides, X, "shared", None, 0)


def text(tile, x, i):
    """Only read as text: each of its instructions is a place to come from."""
    tile[i] = x[i]
    x[i] += 1


PLACES = [
    (text.__code__, 2 * number)
    for number, (_, _, first, _) in enumerate(text.__code__.co_positions())
    if first is not None
]


def access(thread, byte, size=4, *, whole=GLOBAL, kind="read", block=0, place=0, launch=0):
    return Access(launch, 0, block, thread, whole, START + byte, size, kind, PLACES[place])


# --- transactions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bytes_of_thread", "expected"),
    [
        (lambda thread: 4 * thread, 4),  # neighbours: 128 bytes in a row
        (lambda thread: 4 * thread + 4, 5),  # shifted by one element
        (lambda thread: 4 * (31 - thread), 4),  # backwards
        (lambda thread: 8 * thread, 8),  # every second element
        (lambda thread: 32 * thread, 32),  # one to a piece
        (lambda thread: 128 * thread, 32),
        (lambda thread: 40, 1),  # all the same
    ],
)
def test_a_request_moves_the_pieces_that_it_touches(bytes_of_thread, expected: int):
    assert pieces([access(t, bytes_of_thread(t)) for t in range(32)]) == expected


def test_an_element_across_two_pieces_moves_both():
    assert pieces([access(0, 28, 8)]) == 2


def test_scratch_lies_where_a_gpu_puts_it_and_arguments_where_they_are():
    odd = Whole("s", START + 16, X.shape, X.strides, X, "scratch")
    part = Whole("s", START + 16, X.shape, X.strides, X, "scratch", None, 16)
    row = [16 + 4 * t for t in range(32)]
    assert pieces([access(t, byte, whole=odd) for t, byte in enumerate(row)]) == 4
    assert pieces([access(t, byte, whole=part) for t, byte in enumerate(row)]) == 5
    assert pieces([access(t, byte) for t, byte in enumerate(row)]) == 5


def test_two_scratch_arrays_share_no_piece():
    one, two = (Whole(name, START, X.shape, X.strides, X, "scratch") for name in "ab")
    assert pieces([access(0, 0, whole=one), access(1, 0, whole=two)]) == 2


# --- bank conflicts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "bytes_of_thread", "expected"),
    [
        (4, lambda thread: 4 * thread, [1]),  # a word in each bank
        (4, lambda thread: 12, [1]),  # one word for all: it is handed to all
        (4, lambda thread: 8 * thread, [2]),  # every second word
        (4, lambda thread: 128 * thread, [32]),  # a column of 32 words
        (4, lambda thread: 132 * thread, [1]),  # a column of 33 words
        (2, lambda thread: 2 * thread, [1]),  # two elements to a word
        (1, lambda thread: 128 * (thread // 4) + thread % 4, [8]),
        (8, lambda thread: 8 * thread, [1, 1]),  # half a warp after the other
        (8, lambda thread: 16 * thread, [2, 2]),
        (8, lambda thread: 128 * thread, [16, 16]),
        (16, lambda thread: 16 * thread, [1, 1, 1, 1]),
    ],
)
def test_a_bank_serves_one_word_at_a_time(size: int, bytes_of_thread, expected: list[int]):
    request = [access(t, bytes_of_thread(t), size, whole=SHARED) for t in range(32)]
    assert passes(request) == expected


def test_where_an_array_begins_in_shared_memory_changes_nothing():
    later = Whole("tile", START, X.shape, X.strides, X, "shared", None, 60)
    for stride in (4, 8, 132):
        first, second = (
            [access(t, stride * t, whole=whole) for t in range(32)] for whole in (SHARED, later)
        )
        assert passes(first) == passes(second)


# --- which accesses are one request ---------------------------------------------------------------


def test_threads_of_a_warp_act_together_and_those_of_two_do_not():
    sizes = [len(request) for request in requests([access(t, 4 * t) for t in range(40)], pieces)]
    assert sizes == [32, 8]


def test_the_nth_time_is_one_request_however_late_a_thread_comes_to_it():
    # Thread 0 goes round twice before thread 1 starts, as the simulator runs them.
    order = [access(0, 0), access(0, 64), access(1, 4), access(1, 68), access(1, 128)]
    assert [[a.address - START for a in request] for request in requests(order, pieces)] == [
        [0, 4],
        [64, 68],
        [128],
    ]


def test_threads_that_an_if_keeps_from_the_first_turns_come_later_than_the_others():
    """A loop that counts down over 40 elements: in its first turn 8 threads have one each."""
    down = [access(t, 4 * i) for t in range(32) for i in (32 + t, t) if i < 40]
    grouped = requests(down, pieces)
    assert sorted(map(len, grouped)) == [8, 32]
    assert sum(map(pieces, grouped)) == 5
    up = [access(t, 4 * i) for t in range(32) for i in (t, 32 + t) if i < 40]
    assert sum(map(pieces, requests(up, pieces))) == 5


@pytest.mark.parametrize(
    "other",
    [
        access(1, 4, place=-1),
        access(1, 4, block=1),
        access(1, 4, launch=1),
        access(1, 4, kind="write"),
        access(33, 4),
    ],
    ids=["other text", "other block", "other launch", "other instruction", "other warp"],
)
def test_what_is_not_one_request(other: Access):
    assert len(requests([access(0, 0), other], pieces)) == 2


def test_specialised_instructions_are_the_same_text():
    """CPython counts an instruction that it has specialised as another offset."""
    code = text.__code__
    positions = list(code.co_positions())
    ((most_common, times),) = Counter(positions).most_common(1)
    assert times > 1
    same = [(code, 2 * n) for n, where in enumerate(positions) if where == most_common]
    found = [access(t, 4 * t)._replace(site=same[t % len(same)]) for t in range(32)]
    assert len(requests(found, pieces)) == 1


# --- all together ---------------------------------------------------------------------------------

accesses = st.lists(
    st.builds(
        access,
        st.integers(0, 70),
        st.integers(0, 255).map(lambda word: 4 * word),
        whole=st.sampled_from([GLOBAL, SHARED]),
        kind=st.sampled_from(["read", "write", "update"]),
        block=st.integers(0, 1),
        place=st.sampled_from([0, -1]),
        launch=st.integers(0, 1),
    ),
    max_size=60,
)


def log_of(found: list[Access]) -> Log:
    log = Log()
    log.accesses = found
    return log


@given(accesses)
def test_counts_are_those_of_a_plain_count(found: list[Access]):
    counts = facts(log_of(found), __file__)
    for space, whole in (("global", GLOBAL), ("shared", SHARED)):
        for word, kinds in (("reads", ("read", "update")), ("writes", ("write", "update"))):
            by_thread = Counter(
                (a.launch, a.block, a.thread) for a in found if a.whole is whole and a.kind in kinds
            )
            assert counts[f"counts.{space}_{word}"] == max(by_thread.values(), default=0)
    assert of_busiest_thread([], "read") == []


@given(accesses)
def test_every_access_is_in_one_request(found: list[Access]):
    grouped = requests(found, pieces)
    assert Counter(a for request in grouped for a in request) == Counter(found)
    for request in grouped:
        assert len({a.thread for a in request}) == len(request) <= 32
        assert len({(a.launch, a.block, a.thread // 32, a.kind) for a in request}) == 1


@given(accesses)
def test_a_request_moves_at_least_a_piece_and_at_most_one_for_each_thread(found: list[Access]):
    elsewhere = [a for a in found if a.whole is GLOBAL]
    moved = facts(log_of(found), __file__)["counts.transactions"]
    assert len(requests(elsewhere, pieces)) <= moved <= len(elsewhere)
    touched = {(a.address - START) // 32 for a in elsewhere}
    assert moved >= len(touched)


@given(accesses, st.permutations(range(71)))
def test_conflicts_do_not_depend_on_who_takes_which_word(found, order):
    words = [a for a in requests(found, pieces)[:1] for a in a]
    renamed = [
        a._replace(thread=32 * (a.thread // 32) + order[n] % 32) for n, a in enumerate(words)
    ]
    assert sorted(passes(words)) == sorted(passes(renamed))


def test_the_worst_request_is_reported_with_its_line():
    warp = [access(t, 128 * t, whole=whole) for whole in (GLOBAL, SHARED) for t in range(32)]
    few = [access(t, 4 * t, place=-1) for t in range(32)]
    counts = facts(log_of([*few, *warp]), __file__)
    line = text.__code__.co_firstlineno
    assert {
        name: counts[name] for name in counts if name.endswith(("transactions", "conflicts"))
    } == {
        "counts.transactions": 36,
        "counts.bank_conflicts": 31,
        "worst.transactions": 32,
        "threads.transactions": 32,
        "line.transactions": line,
        "worst.bank_conflicts": 32,
        "threads.bank_conflicts": 32,
        "line.bank_conflicts": line,
    }
    assert facts(log_of(warp), "another file")["line.transactions"] == 0


def test_the_line_of_a_count_has_most_of_what_the_busiest_thread_does():
    at_first, at_second = access(0, 0), access(0, 0, place=-1)
    first, second = line_of(at_first.site), line_of(at_second.site)
    assert first < second

    def line(*found: Access) -> int:
        return facts(log_of(list(found)), __file__)["line.global_reads"]

    assert line(at_first, at_first, at_second) == first
    assert line(at_second, at_first) == second
    others = [access(t, 4 * t, place=-1) for t in range(1, 9)]
    assert line(at_first, at_first, *others) == first
    assert "line.global_writes" not in facts(log_of([at_first]), __file__)


def test_an_access_out_of_bounds_moves_nothing():
    outside = access(0, 0)._replace(address=None)
    assert set(facts(log_of([outside]), __file__).values()) == {0}
