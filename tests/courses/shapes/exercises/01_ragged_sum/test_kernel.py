"""Laws of a sum of ragged rows."""

from hypothesis import given

from grader.testing import cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_what_lies_beyond_a_row_does_not_matter(kernel, case):
    """Whatever stands beyond the length of a row, its sum stays."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"]
    columns = inputs["lengths"].new_ones(inputs["x"].shape).cumsum(-1)
    beyond = columns > inputs["lengths"].unsqueeze(-1)
    after = kernel.run({**inputs, "x": inputs["x"].masked_fill(beyond, 7.0)})["out"]
    assert (before == after).all()
