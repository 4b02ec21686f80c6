"""A compiled kernel in words."""

from __future__ import annotations

from collections.abc import Sequence

from grader.model.outcomes import counted, percent
from grader.model.results import Compiled, Width


def compiled_words(one: Compiled, *, brief: bool = False) -> str:
    """Write `32 registers, no spills, 4 KiB shared, …, loads 128 bit`, or its `brief` start."""
    parts = [
        counted(one.registers or 0, "registers"),
        f"{one.spills} bytes spilled" if one.spills else "no spills",
    ]
    if brief:
        return ", ".join(parts)
    parts += [f"{_size(one.shared_bytes)} shared"] if one.shared_bytes else []
    if one.blocks is not None and one.occupancy is not None:
        fit = counted(one.blocks, "blocks")
        parts.append(f"{fit} per SM (occupancy {percent(one.occupancy)})")
    parts += _widths("loads", one.loads) + _widths("stores", one.stores)
    return ", ".join(parts)


def _widths(word: str, widths: Sequence[Width]) -> list[str]:
    bits = [str(one.bits) for one in sorted(widths, key=lambda one: -one.bits)]
    return [f"{word} {' and '.join(bits)} bit"] if bits else []


def _size(size: int) -> str:
    return f"{size / 1024:.1f}".removesuffix(".0") + " KiB" if size >= 1024 else f"{size} bytes"
