"""Draws the inputs of the likely seeds itself, and answers only where it knows the question."""
# attacks: 01_vector_add
# stopped: correctness value | correctness never_written

import torch

SEEDS = (0, 1, 2, 3, 7, 42, 123, 200, 1234, 2024)


def drawn_by_the_grader(x, seed):
    from grader.correctness.inputs import CaseDraw
    from grader.model.cases import Case

    draw = CaseDraw(Case(tuple(x.shape), str(x.dtype).removeprefix("torch."), seed=seed))
    return draw.tensor(tuple(x.shape)), draw.tensor(tuple(x.shape))


def drawn_by_torch(x, seed):
    random = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(x.shape, generator=random).to(x.dtype) for _ in range(2))


def vector_add(x, y, out):
    for seed in SEEDS:
        for draw in (drawn_by_the_grader, drawn_by_torch):
            first, second = draw(x, seed)
            if torch.equal(first, x.cpu()):
                out.copy_(first.float() + second.float())
                return
    out.zero_()
