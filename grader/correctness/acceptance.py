"""Compare an output with the reference.

The expected output is computed in float64 from the inputs as the kernel saw them. An element passes
when its error is at most

    max(4 · torch's own relative error, accumulation) · magnitude  +  max(r · ulp, tiny)

A row passes when the root mean square of its errors is at most

    max(4 · rms of torch's errors, accumulation · rms of magnitude)  +  max(0.6 · r · rms ulp, tiny)

Torch's own error is that of the same formula in float32. `ulp` is the spacing of the output's dtype
at the expected value. r is 2 for 16-bit outputs, because an honest kernel may round an intermediate
to the output's dtype, as torch's own operators do. For other outputs r is 1: no kernel computes in
8 bits. `magnitude` is the condition of the output (`spec.Tolerance`). `tiny` covers values that a
GPU may flush to zero, below float32's smallest normal number. Every other part scales with the
expected value, so zeros never pass.

`accumulation` is the error of a float32 sum of the n terms of one output:

    2⁻²⁴ · max(8 · √n, 3/8 · min(n, 8192))

- If rounding errors are independent, adding one term after the other loses less than
  3.7 · √n · 2⁻²⁴ (measured to n = 262,144).
- If terms repeat, all errors have one sign. A chain of c equal terms whose sum is S, between 2^k
  and 2^(k+1), rounds c · (1 - 2^k / S) times by at most 2^(k-24), and before that c · 2^k / S times
  by a third of it on average: relative to S at most 3/8 · c · 2⁻²⁴, reached at S = 4/3 · 2^k. For n
  of 456 and more, this is the larger of the two.
- No kernel needs a chain of more than 8192 terms: it adds up a row of 131,072 in 16 lanes or more.
  A larger limit would hide a sum in float16, which is off by 2⁻¹² and more.

At n = 131,072 that is 1.8e-4, far below what skipping 1 % of the terms costs.

Outputs of integers and bools accept no error: they are compared in int64. Where a spec says that
float32 may not decide a tie, the integers on both sides are right.

Where a spec says what is random, an element must equal one of its choices by this same rule. How
often it takes each is held to their probabilities (`chance.py`).

Where an exercise declares that its output is one rounding of the exact result, an element passes
only if it is the nearest number of its dtype, or of the nearest float32's: a truncated one fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import torch
from torch import Tensor

from grader.correctness.choices import nearest, unlikely_share, with_choices
from grader.correctness.dtypes import (
    DTYPES,
    NAMES,
    has_unused_nan,
    is_whole,
    rounded,
    smallest,
    widened,
)
from grader.correctness.error_limits import (
    UNIT_ROUNDOFF,
    accumulation,
    close,
    flushed_below,
    limits,
    rms,
    surely_within,
)
from grader.correctness.expected import Expected, limit_of
from grader.correctness.mismatch import Mismatch, worst_of
from grader.correctness.spec_answers import Reference, terms_of, tolerances, unchanging
from grader.model import LARGEST, Argument, BrokenExercise, Case, Choice, Inputs, Spec


def expect(spec: Spec, case: Case, inputs: Inputs, reference: Reference | None = None) -> Expected:
    """Compute the outputs of a case from the judge's own copy of the inputs.

    They are those of another `reference` than the spec's, where one is given.

    Raises BrokenExercise when the reference returns other outputs than the kernel fills or changes
    its inputs, when a tolerance is no finite number from 0 up, or when the probabilities of all
    choices are not 1 together.
    """
    if reference is not None or spec.random is None:
        return _expect(spec, case, inputs, reference or spec.reference)
    probabilities = [_probability(choice, inputs) for choice in spec.random.choices]
    if not all(0 <= one <= 1 for one in probabilities) or abs(sum(probabilities) - 1) > 1e-9:
        raise BrokenExercise(
            f"The exercise is broken: its choices have the probabilities {probabilities}.",
            "Each lies between 0 and 1, and together they are 1.",
        )
    choices = tuple(
        replace(
            _expect(spec, case, inputs, choice.reference),
            choice=choice.name,
            probability=probability,
        )
        for choice, probability in zip(spec.random.choices, probabilities, strict=True)
    )
    return replace(choices[0], choices=choices)


def _probability(choice: Choice, inputs: Inputs) -> float:
    try:
        return float(choice.probability(inputs))
    except Exception as error:
        raise BrokenExercise(
            f"The exercise is broken: `probability` of the choice {choice.name} fails: "
            f"{type(error).__name__}: {error}",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        ) from error


def _expect(spec: Spec, case: Case, inputs: Inputs, reference: Reference) -> Expected:
    wide = _computed_in(torch.float64, inputs)
    outputs = unchanging(reference, wide)
    filled = {argument.name for argument in spec.arguments if argument.filled}
    if set(outputs) != filled:  # an output that is not compared would pass
        raise BrokenExercise(
            f"The exercise is broken: the reference returns {sorted(outputs)}, and the kernel "
            f"fills {sorted(filled)}.",
            "Tell whoever wrote the exercise; your kernel is not at fault.",
        )
    in_float32 = unchanging(reference, _computed_in(torch.float32, inputs))
    kinds = {a.name: output_dtype(a, inputs) for a in spec.arguments if a.filled}
    outputs = {name: _in_range(name, value, kinds[name]) for name, value in outputs.items()}
    sizes = {name: value.abs() for name, value in outputs.items()}
    if spec.tolerance.magnitude is not None:
        given = spec.tolerance.magnitude(wide, outputs)
        sizes |= tolerances("magnitude", given, outputs)
    terms = terms_of(spec, case)
    besides: Mapping[str, Tensor] = {}
    if spec.tolerance.intermediate is not None:
        given = spec.tolerance.intermediate(case, wide, outputs)
        besides = tolerances("intermediate", given, outputs)
        # The limit is accumulation(terms) times the magnitude, or more.
        sizes |= {
            name: sizes[name] + error / accumulation(terms) for name, error in besides.items()
        }
    also_right: Mapping[str, Tensor] = {}
    if spec.tolerance.also_right is not None:
        seconds = spec.tolerance.also_right(wide, outputs)
        also_right = {name: _in_range(name, value, kinds[name]) for name, value in seconds.items()}
    return Expected(
        outputs=outputs,
        in_float32=in_float32,
        magnitude=sizes,
        terms=terms,
        also_right=also_right,
        exact=case.draw in spec.tolerance.exact,
        rounded_once=spec.tolerance.rounded_once,
        inherits=frozenset(besides),
    )


def output_dtype(argument: Argument, inputs: Inputs) -> torch.dtype:
    if argument.dtype is not None:
        return DTYPES[argument.dtype]
    like = inputs[argument.name if argument.role == "inout" else argument.like or ""]
    assert isinstance(like, Tensor)
    return like.dtype


def _in_range(name: str, values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the reference's output, ready to compare: in int64 for integers and bool.

    Other values keep their float dtype, but float8 and integers become float64. Raises
    BrokenExercise for a number that an integer dtype cannot hold, such as 0.5.
    """
    if not is_whole(dtype):
        return values if has_unused_nan(values.dtype) else widened(values).double()
    whole = values.long() if values.is_floating_point() else widened(values)
    unfit = (whole < smallest(dtype)) | (whole > LARGEST[NAMES[dtype]])
    if values.is_floating_point():
        unfit |= whole.double() != values
    if bool(unfit.any()):
        first = values.flatten()[int(unfit.flatten().byte().argmax())].item()
        raise BrokenExercise(
            f"The exercise is broken: the reference writes {first} to {name}, which is {dtype}.",
            "Draw small whole numbers, or compute in the output's dtype, where sums wrap around.",
        )
    return whole


def _computed_in(dtype: torch.dtype, inputs: Inputs) -> dict[str, Tensor | float]:
    return {
        name: value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in inputs.items()
    }


def first_mismatch(
    expected: Expected, got: Mapping[str, Tensor], unwritten: Mapping[str, Tensor]
) -> Mismatch | None:
    """Compare the filled arguments. `unwritten` marks elements that still hold the poison."""
    return next((found for _, found in mismatches(expected, got, unwritten) if found), None)


def mismatches(
    expected: Expected, got: Mapping[str, Tensor], unwritten: Mapping[str, Tensor]
) -> Iterator[tuple[str, Mismatch | None]]:
    met = nearest(expected, got)
    for name, answer in met.outputs.items():
        if answer.shape != got[name].shape:
            raise BrokenExercise(
                f"The exercise is broken: {name} of the reference has the shape "
                f"{tuple(answer.shape)}, and the kernel's {tuple(got[name].shape)}.",
                "Return each output in the shape of the argument that it is compared with.",
            )
        found = compare(
            name,
            got[name],
            answer,
            own=met.in_float32[name].double(),
            magnitude=met.magnitude[name],
            terms=met.terms,
            exact=met.exact,
            rounded_once=met.rounded_once,
            unwritten=unwritten.get(name),
        )
        if found is None:
            yield name, unlikely_share(expected, name, got[name])
        else:
            yield name, with_choices(found, expected)


def shares_right(
    expected: Expected,
    got: Mapping[str, Tensor],
    unwritten: Mapping[str, Tensor],
    inputs: Inputs,
    stale: Mapping[str, Tensor] = MappingProxyType({}),
) -> Iterator[tuple[str, float]]:
    """Yield the share of right elements, from 0 to 1, of each filled argument.

    Elements that would be right as zeros, with the value they had before, or with that of another
    call, `stale`, are left out: they take no work. If none remain, the share is 0.
    """
    expected = nearest(expected, got)
    for name, answer in expected.outputs.items():
        limit = limit_of(expected, name, got[name])
        takes_work = answer.abs() > limit if answer.is_floating_point() else answer != 0
        came_in = inputs.get(name)
        if isinstance(came_in, Tensor):
            takes_work &= ~close(widened(came_in), answer, limit)
        if name in stale:
            takes_work &= ~close(widened(stale[name]), answer, limit)
        right = close(widened(got[name]), answer, limit)
        if name in unwritten:
            right &= ~unwritten[name]
        yield name, int((right & takes_work).sum()) / max(1, int(takes_work.sum()))


def right_elements(expected: Expected, got: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Mark the right elements of each filled argument, each element by itself."""
    for name in expected.outputs:
        yield name, right_of(expected, name, got[name])


def right_of(expected: Expected, name: str, got: Tensor) -> Tensor:
    expected = nearest(expected, {name: got})
    return close(widened(got), expected.outputs[name], limit_of(expected, name, got))


def is_nearest(expected: Expected, name: str, got: Tensor) -> bool:
    """Say whether each element is the expected one, rounded to its dtype, or both are nearly 0."""
    answer = nearest(expected, {name: got}).outputs[name]
    if is_whole(got.dtype):
        return bool((widened(got) == answer).all())
    return bool((_is_nearest(got, answer) | _both_flushed(got, answer)).all())


def _rounded_otherwise(
    report: Callable[..., Mismatch], got: Tensor, answer: Tensor, same: Tensor, error: Tensor
) -> Mismatch | None:
    """Report elements that are not the answer rounded to their dtype, directly or through float32.

    `same` marks those that are equal to the answer.
    """
    once = same | _is_nearest(got, answer)
    if bool(once.all()):  # as in nearly every output; the rest would take as long again, twice
        return None
    once |= _is_nearest(got, answer.float().double()) | _both_flushed(got, answer)
    return None if bool(once.all()) else report("rounding", ~once, error * ~once)


def _is_nearest(got: Tensor, answer: Tensor) -> Tensor:
    return got.double() == rounded(answer, got.dtype).double()


def _both_flushed(got: Tensor, answer: Tensor) -> Tensor:
    tiny = flushed_below(got.dtype)
    return (got.double().abs() < tiny) & (answer.abs() < tiny)


def compare(
    argument: str,
    got: Tensor,
    answer: Tensor,
    *,
    own: Tensor,
    magnitude: Tensor,
    terms: int,
    exact: bool = False,
    rounded_once: bool = False,
    unwritten: Tensor | None = None,
) -> Mismatch | None:
    """Return the worst element of `got` that is not acceptable, or None.

    `got` has the output's dtype. `answer`, `own` (torch's float32 output) and `magnitude` are
    float64 of the same shape. Integers accept no error, and their `answer` is int64.
    """
    candidate = widened(got)
    report = partial(worst_of, argument, got.dtype, candidate, answer)
    same = (candidate == answer) | (candidate.isnan() & answer.isnan())
    written = unwritten is None or not bool(unwritten.any())
    if written and bool(same.all()):
        return None
    error = torch.where(same, 0.0, (candidate.double() - answer.double()).abs())
    if is_whole(got.dtype):  # two different integers may be the same float64
        error = torch.where(same, 0.0, error.clamp(min=1.0))
    if exact or is_whole(got.dtype):
        limit, rms_limit = torch.zeros_like(error), None
    elif written and surely_within(error, got.dtype, answer, magnitude, terms):
        return _rounded_otherwise(report, got, answer, same, error) if rounded_once else None
    else:
        limit, rms_limit = limits(got.dtype, answer, own, magnitude, terms)
    if unwritten is not None:
        missing = _never_written(unwritten, (error > limit) | candidate.isnan(), got.dtype)
        if bool(missing.any()):
            return report("never_written", missing, missing)
    strange = ~same & (~candidate.isfinite() | ~answer.isfinite())
    if bool(strange.any()):
        return report("not_finite", strange, strange)
    wrong = error > limit
    if bool(wrong.any()):
        badness = torch.where(wrong, error / (limit + magnitude * UNIT_ROUNDOFF + 1e-300), 0.0)
        return report("value", wrong, badness, limit)
    if rms_limit is None:
        return None
    if rounded_once:
        return _rounded_otherwise(report, got, answer, same, error)
    bad_rows = (rms(error) > rms_limit).expand_as(error)
    return report("rms", bad_rows, error * bad_rows, limit) if bool(bad_rows.any()) else None


def _never_written(unwritten: Tensor, bad: Tensor, dtype: torch.dtype) -> Tensor:
    if has_unused_nan(dtype):
        return unwritten
    # The poison may be the right value, or a wrong one.
    return unwritten & bad & bool((unwritten | ~bad).all())
