"""The memory that a call may hold beyond its arguments, in words."""

from __future__ import annotations

MIB = 1 << 20


def size_in_words(size: int) -> str:
    """Return such as `nothing`, `12 bytes`, `512 KiB` and `1.4 MiB`."""
    if 0 < size < MIB and size % 1024 == 0:
        return f"{size // 1024:,} KiB"
    if size < MIB // 10:
        return f"{size:,} bytes" if size else "nothing"
    return f"{size / MIB:,.1f}".removesuffix(".0") + " MiB"


def limit_in_words(most_bytes: int, rule: str, case: str = "") -> str:
    """Return such as `at most 4 MiB for CASE (RULE)`; older results have no rule."""
    most = f"at most {size_in_words(most_bytes) if most_bytes else '0 bytes'}"
    return most + (f" for {case}" if case else "") + (f" ({rule})" if rule else "")
