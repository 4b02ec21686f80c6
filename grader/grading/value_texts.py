"""Values of a traced call, which cross as bits, as texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from grader.correctness import number_text

_OF_SIZE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.float8_e4m3fn, torch.float8_e5m2, torch.bool),
        *(torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    )
}


def value_texts(values: Sequence[tuple[int | None, str]]) -> list[str]:
    """Return a text for each value, given as bits and the name of its dtype; "" if not known."""
    texts = [""] * len(values)
    of_dtypes: dict[str, list[int]] = {}
    for place, (bits, name) in enumerate(values):
        if bits is not None and name in _DTYPES:
            of_dtypes.setdefault(name, []).append(place)
    for name, places in of_dtypes.items():
        dtype = _DTYPES[name]
        wide = torch.tensor([values[place][0] for place in places], dtype=torch.int64)
        for place, value in zip(
            places, wide.to(_OF_SIZE[dtype.itemsize]).view(dtype).tolist(), strict=True
        ):
            texts[place] = number_text(value, dtype)
    return texts
