"""Laws that hold for every paged gather, whatever the numbers are."""

import math

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import assert_within, cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one thing, as a share of how many there are

NO_PAGE = -1


def places(inputs):
    """Return the page and the place in it of each token, and whether it exists.

    All three have the shape (sequences, tokens); of a block without a page, the page is 0.
    """
    table, size = inputs["table"].clamp(min=0).long(), inputs["pages"].shape[1]
    token = table.new_ones(table.shape[1] * size).cumsum(0) - 1
    exists = token < inputs["lengths"][:, None]
    return table[:, token // size], (token % size).expand(exists.shape), exists


@given(case=cases)
def test_other_numbers_of_the_pages_change_nothing(kernel, case):
    """Pages may lie in any order in the pool, as long as the table follows them."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    pages, table = inputs["pages"], inputs["table"]
    pages.copy_(pages.flip(0))
    table.copy_((len(pages) - 1 - table).masked_fill(table == NO_PAGE, NO_PAGE))
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, "out of a pool that is turned round")


@given(case=cases)
def test_equal_rows_of_the_table_give_equal_outputs(kernel, case):
    """Two sequences with the same pages and the same length are the same."""
    inputs = kernel.inputs(case)
    inputs["table"][-1] = inputs["table"][0]
    inputs["lengths"][-1] = inputs["lengths"][0]
    out = kernel.run(inputs)["out"]
    assert_within(out[-1], out[0], 0.0, "out of the last sequence, which is like the first")


@given(case=cases)
def test_what_no_sequence_has_may_be_anything(kernel, case):
    """NaN in pages that no sequence has, and behind a last token, changes nothing."""
    inputs = kernel.inputs(case)
    pages = inputs["pages"]
    inputs["lengths"][0] -= pages.shape[1] // 2  # the first sequence ends inside of its last page
    expected = kernel.run(inputs)["out"].clone()
    page, place, exists = places(inputs)
    used = pages.new_zeros(pages.shape[:2], dtype=exists.dtype)
    used[page[exists], place[exists]] = True
    pages[~used] = math.nan
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, "out with NaN in what no sequence has")


@given(case=cases)
def test_a_sequence_without_tokens_is_all_zeros(kernel, case):
    """With a length of 0 there is no page, and out is 0; the other sequences stay."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    inputs["lengths"][::2] = 0
    inputs["table"][::2] = NO_PAGE
    expected[::2] = 0.0
    out = kernel.run(inputs)["out"]
    assert_within(out[::2], 0.0, 0.0, "out of sequences without tokens")
    assert_within(out[1::2], expected[1::2], 0.0, "out of the others")


@given(case=cases)
def test_one_token_fewer_is_one_more_of_zeros(kernel, case):
    """A sequence that is one token shorter ends in zeros one token earlier."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    last = inputs["lengths"].long() - 1
    some = last >= 0
    inputs["lengths"][some] -= 1
    size = inputs["pages"].shape[1]
    first = some & (last % size == 0)  # the last page had one token, and is given back
    inputs["table"][first, last[first] // size] = NO_PAGE
    expected[some, last[some]] = 0.0
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, "out with one token fewer in each sequence")


@given(case=cases, position=positions)
def test_each_token_goes_where_the_table_says(kernel, case, position):
    """Changing one token in a page changes it in each sequence that has it, and nothing else."""
    inputs = kernel.inputs(case)
    expected = kernel.run(inputs)["out"].clone()
    page, place, exists = places(inputs)
    number = int(position * int(exists.sum()))
    chosen = page[exists][number], place[exists][number]
    inputs["pages"][chosen] = 7.0
    expected[(page == chosen[0]) & (place == chosen[1]) & exists] = 7.0
    out = kernel.run(inputs)["out"]
    assert_within(out, expected, 0.0, f"out after a change of page {int(chosen[0])}")
