"""Blocks of memory that are held: what one call took and gave back."""

from __future__ import annotations

from grader.model.holdings import Holdings


class Block:
    """Memory of so many bytes, which holdings see when it is made."""

    def __init__(self, holdings: Holdings, size: int) -> None:
        self.lives = True
        holdings.see(id(self), size, lambda: self.lives)

    def release(self) -> None:
        self.lives = False


def test_a_call_begins_with_what_the_file_held_before():
    holdings = Holdings()
    kept, once = Block(holdings, 100), Block(holdings, 7)
    once.release()
    holdings.begin()
    scratch = Block(holdings, 60)
    scratch.release()
    assert holdings.over_call().points == ((0, 100), (1, 160), (2, 100))
    assert (holdings.peak, kept.lives) == (160, True)


def test_a_release_comes_before_the_next_block():
    holdings = Holdings()
    holdings.begin()
    first = Block(holdings, 50)
    first.release()
    second = Block(holdings, 30)
    assert holdings.over_call().points == ((0, 0), (1, 50), (2, 0), (3, 30))
    assert second.lives


def test_a_block_may_grow_and_is_seen_once():
    holdings = Holdings()
    holdings.begin()
    for size in (10, 10, 40):
        holdings.see(1, size, lambda: True)
    assert holdings.over_call().points == ((0, 0), (1, 10), (2, 40))


def test_the_most_is_that_of_all_calls():
    holdings = Holdings()
    Block(holdings, 90).release()
    holdings.begin()
    assert holdings.over_call().points == ((0, 0),)
    assert holdings.peak == 90
