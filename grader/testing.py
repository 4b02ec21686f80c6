"""The authors' API: everything that a `test_kernel.py` is written with.

    from hypothesis import given
    from grader.testing import assert_within, cases_of, eps

    cases = cases_of(__file__)

    @given(case=cases)
    def test_rows_sum_to_one(kernel, case):
        '''Each row of a softmax sums to 1.'''
        out = kernel.run(kernel.inputs(case))["out"]
        assert_within(out.double().sum(-1), 1.0, eps(case.dtype), "row sums")

The fixture `kernel` is a `RemoteKernel`: the entry of the kernel file, callable from here.
"""

from grader.correctness.error_limits import eps
from grader.correctness.properties import assert_same_bits, assert_within, cases, cases_of, of_entry

__all__ = ["assert_same_bits", "assert_within", "cases", "cases_of", "eps", "of_entry"]
