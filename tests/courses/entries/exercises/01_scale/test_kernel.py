"""Laws of scaling, each for one of the two entries."""

from hypothesis import given

from grader.testing import assert_within, cases_of, of_entry

forward = cases_of(__file__, "scale")
backward = cases_of(__file__, "scale_backward")


@of_entry(__file__, "scale")
@given(case=forward)
def test_weights_of_one_change_nothing(kernel, case):
    """x * 1 is x."""
    inputs = kernel.inputs(case)
    inputs["weight"].fill_(1)
    assert_within(kernel.run(inputs)["out"], inputs["x"], 0.0, "x * 1")


@of_entry(__file__, "scale_backward")
@given(case=backward)
def test_no_gradient_gives_none(kernel, case):
    """The gradients are 0 where that of the output is."""
    inputs = kernel.inputs(case)
    inputs["grad_out"].zero_()
    grads = kernel.run(inputs)
    assert_within(grads["grad_x"], 0.0, 0.0, "grad_x")
    assert_within(grads["grad_weight"], 0.0, 0.0, "grad_weight")
