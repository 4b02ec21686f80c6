"""Vector types such as cuda.float32x4, which is cuda.float4, too: two to four numbers in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.backends.numba.simulator.bits import wrapped
from grader.backends.numba.simulator.internals import VECTORS


class Vector:
    """Numbers .x, .y, .z and .w of one dtype, made from numbers and shorter vectors."""

    dtype: np.dtype[Any]
    parts: tuple[str, ...]

    def __init__(self, *given: Any) -> None:
        numbers: list[Any] = []
        for each in given:
            numbers += [getattr(each, part) for part in each.parts] if _is_vector(each) else [each]
        if len(numbers) != len(self.parts):
            raise TypeError(
                f"cuda.{type(self).__name__} takes {len(self.parts)} numbers, not {len(numbers)}"
            )
        for part, number in zip(self.parts, numbers, strict=True):
            setattr(self, part, wrapped(number, self.dtype))


def _is_vector(value: Any) -> bool:
    return isinstance(value, Vector)


def _vector_types() -> dict[str, type[Vector]]:
    made = {}
    for stub in VECTORS:
        dtype, _, length = stub.__name__.rpartition("x")
        held = {"dtype": np.dtype(dtype), "parts": tuple("xyzw"[: int(length)])}
        vector = type(stub.__name__, (Vector,), held)
        made.update(dict.fromkeys((stub.__name__, *stub.aliases), vector))
    return made


TYPES = _vector_types()
