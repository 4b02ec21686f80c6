"""Mean squared error: pointwise work fused into a reduction, and the launch where fusion stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import (
    LARGEST,
    Case,
    Draw,
    Gates,
    Inputs,
    Mistake,
    Scored,
    Spec,
    Tolerance,
    reads,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor

# Whole numbers are shifted by so much. Their differences are -2 to 2 and exact in each dtype. The
# terms of p² - 2pt + t² in float32 are 2**32 and more, and have lost the digits of such a square.
SHIFT = {"float32": (2.0**16, 2.0**20), "float16": (1024.0, 2000.0), "bfloat16": (64.0, 250.0)}


def inputs(case: Case, draw: Draw) -> Inputs:
    """Two vectors. A difference is at most twice an extreme, and its square four extremes squared:
    however they are grouped, the squares add up to half of float32's largest value."""
    largest = (LARGEST["float32"] / (8 * case.elements)) ** 0.5
    extreme = min(LARGEST[case.dtype], largest)
    prediction = draw.tensor(case.shape, extreme=extreme)
    target = draw.tensor(case.shape, extreme=extreme)
    if case.draw == "integers":
        shift = round(draw.number(*SHIFT[case.dtype]))
        prediction.add_(shift)
        target.add_(shift)
    return {"prediction": prediction, "target": target}


def squares(inputs: Inputs) -> Tensor:
    return (inputs["prediction"] - inputs["target"]).square()


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"loss": squares(inputs).mean().reshape(1)}


def memory_budget(case: Case) -> int:
    """Return four bytes for each 128 elements, and at least 64 KiB: 16,384 partial sums."""
    return max(64 << 10, 4 * (case.elements // 128))


def _over_lanes(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    """Divide the sum by the lanes of all blocks, the masked ones among them."""
    terms = squares(inputs)
    blocks = -(-terms.numel() // lanes)
    return {"loss": terms.sum().reshape(1) / (blocks * lanes)}


def _mean_of_sums(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    """Divide the sum by the number of blocks."""
    terms = squares(inputs)
    return {"loss": terms.sum().reshape(1) / -(-terms.numel() // lanes)}


def _sums_of_blocks(inputs: Inputs, lanes: int) -> Tensor:
    """Return the sum of each block: float64 of shape (blocks,)."""
    terms = squares(inputs)
    blocks = -(-terms.numel() // lanes)
    filled = terms.new_zeros(blocks * lanes)
    filled[: terms.numel()] = terms
    return filled.reshape(blocks, lanes).sum(-1)


def _of_first_block(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    sums = _sums_of_blocks(inputs, lanes)
    return {"loss": sums[:1] / inputs["prediction"].numel()}


def _each_program_to_the_end(inputs: Inputs, lanes: int) -> Mapping[str, Tensor]:
    """Count block j in each of the programs 0 to j."""
    sums = _sums_of_blocks(inputs, lanes)
    times = sums.new_ones(sums.shape).cumsum(0)
    return {"loss": (sums * times).sum().reshape(1) / inputs["prediction"].numel()}


def _close_to_each_other(inputs: Inputs) -> Mapping[str, Tensor]:
    """Mark a loss that is small beside the squares of prediction and target."""
    sizes = inputs["prediction"].square().mean() + inputs["target"].square().mean()
    return {"loss": (sizes > 1000 * squares(inputs).mean()).reshape(1)}


MISTAKES = (
    Mistake(
        cause="factor",
        hint="This is the sum of the squares: divide it by n, the number of elements.",
        reference=lambda inputs: {"loss": squares(inputs).sum().reshape(1)},
        near=(r"store\(\w*(loss|out)\w*",),
    ),
    Mistake(
        cause="factor",
        hint="The sum is divided by the lanes of all blocks. Masked lanes are no elements: divide "
        "by n.",
        blocked=_over_lanes,
        near=(r"/ *\(.*BLOCK", r"/.*BLOCK", r"store\(\w*(loss|out)\w*"),
    ),
    Mistake(
        cause="factor",
        hint="The sum is divided by the number of blocks. The mean is over the elements: divide "
        "by n.",
        blocked=_mean_of_sums,
        near=(r"/ *\w*(programs|blocks)", r"store\(\w*(loss|out)\w*"),
    ),
    Mistake(
        cause="formula",
        hint="This is the mean of |prediction - target|: each difference is to be squared.",
        reference=lambda inputs: {
            "loss": (inputs["prediction"] - inputs["target"]).abs().mean().reshape(1)
        },
        near=(r"abs\(",),
    ),
    Mistake(
        cause="formula",
        hint="This is the root of the loss. The task asks for the mean of the squares itself.",
        reference=lambda inputs: {"loss": squares(inputs).mean().sqrt().reshape(1)},
        near=(r"sqrt\(",),
    ),
    Mistake(
        cause="formula",
        hint="This is the square of the mean difference. Square each difference first, and then "
        "add up.",
        reference=lambda inputs: {
            "loss": (inputs["prediction"] - inputs["target"]).mean().square().reshape(1)
        },
        near=(r"(\b\w*(mean|total|sum)\w*) \* \1", r"square\(|\*\* *2"),
    ),
    Mistake(
        cause="formula",
        hint="This is the mean of prediction² - target². Subtract first, and then square.",
        reference=lambda inputs: {
            "loss": (inputs["prediction"].square() - inputs["target"].square()).mean().reshape(1)
        },
        near=(r"\w+ \* \w+ - \w+ \* \w+", r"square\(|\*\* *2"),
    ),
    Mistake(
        cause="sign",
        hint="prediction and target are added: subtract one from the other, and then square.",
        reference=lambda inputs: {
            "loss": (inputs["prediction"] + inputs["target"]).square().mean().reshape(1)
        },
        near=(r"= *\w+ \+ \w+$", r"\+ *\w*(target|\bt)\b"),
    ),
    Mistake(
        cause="first_block_only",
        hint="This is the sum of the first block alone, divided by n. The partial sums of all "
        "programs belong into the loss.",
        blocked=_of_first_block,
        near=(r"load\(\w*(part|sum)\w*\)", r"store\(\w*(loss|out)\w*"),
    ),
    Mistake(
        cause="block_index",
        hint="Each program goes on by one block, to the end of the vector, and so adds the blocks "
        "of the programs behind it. Go on by the blocks of the whole grid: "
        "tl.num_programs(0) * BLOCK.",
        blocked=_each_program_to_the_end,
        near=(r"range\(.*BLOCK\)",),
    ),
    Mistake(
        cause="precision",
        hint="The loss is wrong where prediction and target are close to each other and far from "
        "0. There p² - 2pt + t² is the small difference of large numbers, and float32 has lost its "
        "digits. Subtract first, and then square.",
        only=_close_to_each_other,
        near=(r"2(\.0)? \* \w+ \* \w+",),
    ),
)


SPEC = Spec(
    title="Fused mean squared error",
    summary="Subtract, square and add up in one pass, in the same order in each run.",
    needs=("01_vector_add", "t04_reduction", "t05_block_loop"),
    backend="triton",
    entry="mse",
    arguments=(
        reads("prediction"),
        reads("target"),
        writes("loss", shape=(1,), dtype="float32", at_most=None),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    edges=(
        Case((1,), "float32"),
        Case((2,), "float16"),
        Case((3,), "bfloat16", draw="ties"),
        Case((7,), "float32", draw="integers"),
        Case((13,), "float16", draw="integers"),
        Case((31,), "bfloat16", offset=1),
        Case((127,), "float32", draw="extremes"),
        Case((128,), "float16", draw="extremes"),
        Case((129,), "bfloat16", draw="denormals", offset=1),
        Case((1023,), "float16", draw="constant"),
        Case((1024,), "float32"),
        Case((1025,), "bfloat16", draw="integers"),
        Case((2048,), "float32", draw="denormals"),
        Case((2049,), "float16", offset=1),
        Case((5003,), "float32", draw="integers", offset=1),
        Case((10_007,), "bfloat16", draw="extremes"),
        Case((65_537,), "float32", draw="ties", offset=1),
        Case((262_147,), "bfloat16", draw="constant"),
        Case((2**20 - 1,), "float32"),
    ),
    largest=(2**22,),
    most_elements=2**20,
    inputs=inputs,
    reference=reference,
    # No program needs a chain of more than 8,192 terms: 2**20 elements have 128 lanes and more.
    tolerance=Tolerance(terms=lambda case: min(case.elements, 8192)),
    pictured=Case((1030,), "float32", draw="integers"),
    counted=Case((100_003,), "float32"),
    memory_budget=memory_budget,
    scored=Scored(dtype="float32"),
    # A subtraction, a product and an addition per element.
    flops=lambda case: 3 * case.elements,
    gates=Gates(passing=0.80, great=0.95),
    hints=(
        "Give each program whole blocks of both vectors. It loads them, subtracts, squares, and "
        "adds up in registers: nothing of this needs memory. What must it leave behind at the end?",
        "Programs cannot wait for each other, so no program of this launch can add up what all "
        "have left. Store one partial sum for each program in a small float32 tensor. A second "
        "launch begins when the first has ended: it adds them up and divides by n.",
        "With at most PROGRAMS programs, one block of the second kernel holds all partial sums. "
        "Program p then takes the blocks p, p + programs, p + 2 * programs and so on: "
        "`for start in range(program * BLOCK, n, tl.num_programs(0) * BLOCK)`. Keep a vector of "
        "BLOCK sums in float32, and add it up with `tl.sum` behind the loop.",
        "The last block reaches past the end: load both vectors with `mask=offsets < n` and "
        "`other=0.0`, so that masked lanes differ by 0. In the second kernel the mask is "
        "`lanes < programs`, and the block has `triton.next_power_of_2(PROGRAMS)` lanes.",
    ),
    independent_rows=False,
    mistakes=MISTAKES,
)
