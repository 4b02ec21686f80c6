"""Laws that hold for mirrored differences, whatever the numbers are."""

from hypothesis import given
from hypothesis import strategies as st

from grader.testing import cases_of

cases = cases_of(__file__)
positions = st.floats(0, 1, exclude_max=True)  # of one element, as a share of the length
THREADS = 8  # in a block, as the task has it


@given(case=cases)
def test_mirrored_elements_are_opposite(kernel, case):
    """In each block, out turned round is out with every sign changed."""
    out = kernel.run(kernel.inputs(case))["out"]
    for block in out.split(THREADS):
        assert block.eq(-block.flip(0)).all(), f"a block of out is {block.tolist()}"


@given(case=cases, position=positions)
def test_only_the_own_block_counts(kernel, case, position):
    """Changing one element of a changes out in the same block alone."""
    inputs = kernel.inputs(case)
    before = kernel.run(inputs)["out"].clone()
    at = int(position * case.elements)
    inputs["a"][at] = inputs["a"][at] + 1000
    changed = (kernel.run(inputs)["out"] != before).nonzero().flatten().tolist()
    start = at - at % THREADS
    count = min(THREADS, case.elements - start)
    mirrored = start + count - 1 - (at - start)
    wanted = [] if mirrored == at else sorted([at, mirrored])
    assert changed == wanted, f"after a change of a[{at}]"
