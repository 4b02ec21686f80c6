"""The random part of a spec: the values that an element may take, and how often it takes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.model.arguments import Inputs
from grader.model.base_spec import require_tuples
from grader.model.cases import Case

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the values that an element of a random output may take.

    `name` completes the sentence "0.1 of the elements are …", such as `dropped`. `reference` is
    that of a spec, as if each element took this choice, and `probability(inputs)` is how often an
    element takes it, from 0 to 1.
    """

    name: str
    probability: Callable[[Inputs], float]
    reference: Callable[[Inputs], Mapping[str, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Randomness:
    """The choices of each element, and the case on which the step `randomness` looks at them.

    Each element takes its choice by itself, by the seed and its place alone. The larger the case,
    the smaller the fault that it shows (docs/randomness.md).
    """

    choices: tuple[Choice, ...]
    case: Case

    def __post_init__(self) -> None:
        require_tuples(self)
