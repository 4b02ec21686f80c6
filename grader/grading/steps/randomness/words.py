"""The words of the step `randomness` for a kernel that draws in another way than asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.correctness import RandomnessTest, share_text
from grader.model import Failure, counted

Fault = Callable[[str, int, int], Failure]  # of an output, the elements that changed, and all

COUNTER = (
    "Make each random number from the seed and the element's place alone, as a counter-based "
    "generator does"
)


def again(name: str, changed: int, total: int) -> Failure:
    return Failure(
        kind="not_reproducible",
        message=f"the same seed gave another output: a second call changed {name}",
        where=_elements(changed, total),
        hint=f"{COUNTER}: nothing may be counted on from call to call, and no clock read.",
        cause="not_repeatable",
    )


def elsewhere(name: str, changed: int, total: int) -> Failure:
    return Failure(
        kind="not_reproducible",
        message=f"the same seed gave another output in a new process, at other addresses: {name}",
        where=_elements(changed, total),
        hint=f"{COUNTER}: no address, and nothing that a process keeps.",
        cause="not_repeatable",
    )


def of_values(name: str, changed: int, total: int) -> Failure:
    return Failure(
        kind="not_random",
        message=f"the choices in {name} depend on the inputs' values: with the same seed, other "
        "values took other choices",
        where=_elements(changed, total),
        hint=f"{COUNTER}. The bits of an input are no random numbers: where it is constant, all "
        "elements take the same choice.",
        cause="drawn_from_values",
    )


def of_tests(
    failing: Sequence[RandomnessTest], name: str, shape: Sequence[int], choices: Sequence[str]
) -> Failure:
    """Describe the failed test that says most: a mask that comes again, then a wrong share."""
    share = next((test for test in failing if test.what == "share"), None)
    for test in sorted(failing, key=lambda test: abs(test.width)):
        if test.count == 0 and not (share and share.count in (0, share.total)):
            if test.what == "seeds":
                return _same_for_seeds(test, name)
            if test.what == "lag":
                return _comes_again(test.width, name, shape)
    if share is not None:
        choice = choices[share.choice]
        seen = share.count / share.total
        return Failure(
            kind="share",
            message=share_text(seen, name, choice, share.asked),
            expected=f"{share.asked:.4f} {choice}",
            got=f"{seen:.4f} {choice}",
            where=f"{share.total:,} elements of {len(share.seeds)} calls",
            hint="A number that is uniform in [0, 1) is below p with the probability p.",
            cause="wrong_share",
        )
    order = ("lag", "run", "residue", "seeds")
    failing = sorted(failing, key=lambda test: (order.index(test.what), test.log_chance))
    return _dependent(failing[0], name, shape)


def _same_for_seeds(test: RandomnessTest, name: str) -> Failure:
    one, other = test.seeds
    if test.width == 0:
        return Failure(
            kind="not_random",
            message=f"another seed gave the same choices in {name}: {one} and {other}",
            hint="Does the whole seed reach the random numbers, with all its bits, in each call?",
            cause="seed_unused",
        )
    further = counted(abs(test.width), "places")
    return Failure(
        kind="not_random",
        message=f"another seed gave the same choices in {name}, {further} further: {one} and "
        f"{other}",
        hint="Is the seed added to the place? Then the next seed has the same numbers, shifted: "
        "give the generator seed and place as two arguments.",
        cause="seed_added",
    )


def _comes_again(lag: int, name: str, shape: Sequence[int]) -> Failure:
    message = f"the same choices come again in {name} after each {lag:,} elements"
    hint = (
        f"Every block of {lag:,} elements has the same mask: does the place that the random "
        "numbers are made from contain the number of the program?"
    )
    row = shape[-1]
    if lag == 1:
        message = f"elements of {name} that lie side by side always take the same choice"
        hint = "Is one random number drawn for several elements? Draw one for each."
    elif len(shape) > 1 and lag == row:
        message = f"each row of {name} has the same mask"
        hint = "Does the place that the random numbers are made from contain the row?"
    elif len(shape) > 1 and lag % row == 0:
        message = f"rows of {name} that lie {lag // row} apart have the same mask"
        hint = "Does the place that the random numbers are made from contain the whole row number?"
    return Failure(kind="not_random", message=message, hint=hint, cause="repeated_draws")


def _dependent(test: RandomnessTest, name: str, shape: Sequence[int]) -> Failure:
    seen = test.count / test.total
    row = shape[-1] if len(shape) > 1 else 0
    part = {"run": f"each {test.width:,} elements", "residue": f"places modulo {test.width:,}"}
    if test.width == row:
        part = {"run": "rows", "residue": "columns"}
    if test.what in part:
        message = f"the shares of choices in {name} differ from each other too much, or too little"
        message += f", for {part[test.what]}"
    elif test.what == "lag":
        message = (
            f"elements of {name} that lie {test.width:,} apart are not independent: "
            f"{seen:.4f} of such pairs differ, and {test.asked:.4f} should"
        )
    else:
        message = (
            f"the choices in {name} of the seeds {test.seeds[0]} and {test.seeds[1]} are not "
            f"independent: {seen:.4f} differ, and {test.asked:.4f} should"
        )
    return Failure(
        kind="not_random",
        message=message,
        hint=f"{COUNTER}: one number for each element, and no pattern.",
        cause="dependent_draws",
    )


def _elements(changed: int, total: int) -> str:
    return f"{changed:,} of {total:,} elements"
