"""The leaves of what torch's operations take and return are those that torch names."""

from __future__ import annotations

from collections import OrderedDict

import pytest
import torch
from torch.utils._pytree import tree_leaves

from grader.worker.leaves import leaves

X, Y = torch.zeros(2), torch.ones(3)


@pytest.mark.parametrize(
    "value",
    [
        X,
        None,
        (),
        [X, (Y, 1, "a"), {"b": [None, 2.0], "a": X}],
        ((X,), {"out": Y, "dtype": torch.float32, "device": torch.device("cpu")}),
        torch.zeros(2, 2).max(0),
        OrderedDict(b=X, a=[Y]),
        X.shape,
        slice(1, 2),
        {1, 2},
        torch.nn.Parameter(X),
    ],
    ids=lambda value: type(value).__name__,
)
def test_leaves_are_those_of_torch(value: object) -> None:
    expected = tree_leaves(value)
    found = list(leaves(value))
    assert len(found) == len(expected)
    assert all(a is b for a, b in zip(found, expected, strict=True))
