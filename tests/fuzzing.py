"""Values for Hypothesis to draw at the judge's edges: JSON of any form, and mutations of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

# 1 in the suite; the profile `fuzz` of conftest.py draws so many times as much.
TIMES = settings.default.max_examples // settings.get_profile("default").max_examples


def fuzz(examples: int) -> settings:
    return settings(
        max_examples=examples * TIMES,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )


TEXTS = st.text(max_size=12) | st.text(st.characters(codec=None), max_size=6)
NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([0, -1, 2**31, 2**63, 2**64, -(2**63) - 1, -0.0, 1e-320, 1e308])
    | st.integers(300, 4000).map(lambda digits: 10**digits)
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of a JSON value, and of each value inside it."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return a copy with another value at one place, or with none there if `other` is `...`."""
    if not path:
        return other
    copy = value.copy()
    if other is ... and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(value[path[0]], path[1:], other)
    return copy


@st.composite
def mutated(draw: st.DrawFn, value: Any) -> Any:
    """Draw a JSON value with a few places changed or removed."""
    for _ in range(draw(st.integers(0, 4))):
        paths = list(places(value))[1:]
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        value = changed(value, path, draw(JSON | st.just(...)))
    return value


def as_bytes(value: Any) -> bytes:
    """Encode as Python's json does: with NaN, and half characters as escapes."""
    return json.dumps(value).encode()
