"""Types, numbers, strings and dense constants, from the text of one terminal each."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from functools import lru_cache

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir.records import Dense, Type

MOST_ELEMENTS = 1 << 20  # Triton allows no larger tensor
MOST_AXES = 16

_TENSOR = re.compile(r"(?:tensor|vector)<((?:\d+x)*)(.+)>", re.DOTALL)
_POINTER = re.compile(r"!tt\.ptr<(.+?)(?:, *\d+)?>")
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)*)([^<>,]+)(?:, *#[^<>]*)?>?>")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")
_NAMED_ESCAPES = {b"n": b"\n", b"t": b"\t"}
_PACKED = {"f16": ("e", "H"), "f32": ("f", "I"), "f64": ("d", "Q")}
_FLOAT8 = re.compile(r"f8E(\d)M(\d)")


@lru_cache(maxsize=4096)
def type_of(text: str) -> Type:
    """Return the type that a text means; raise Malformed for one that Triton cannot have."""
    if match := _TENSOR.fullmatch(text):
        element = type_of(match[2].split(", #")[0])
        if element.shape is not None:
            raise Malformed(f"the type {text[:80]}")
        return Type(element.element, _shape(match[1]), element.pointee)
    if match := _POINTER.fullmatch(text):
        return Type("ptr", None, type_of(match[1]))
    if match := _DESCRIPTOR.fullmatch(text):
        return Type("tensordesc", None, Type(match[2], _shape(match[1])))
    if not re.fullmatch(r"[\w.!]+", text):
        raise Malformed(f"the type {text[:80]}")
    return Type(str(text))


def _shape(text: str) -> tuple[int, ...]:
    sizes = text.split("x")[:-1]
    if len(sizes) > MOST_AXES or any(len(size) > 8 for size in sizes):
        raise Malformed(f"a tensor of the shape {text[:80]}")
    shape = tuple(int(size) for size in sizes)
    if not 0 < math.prod(shape) <= MOST_ELEMENTS:
        raise Malformed(f"a tensor of the shape {text[:80]}: more than {MOST_ELEMENTS} elements")
    return shape


def string(text: str) -> str:
    """Return what a quoted string says; a byte beyond ASCII is two hexadecimal digits there."""

    def escaped(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 16)]) if len(code) == 2 else _NAMED_ESCAPES.get(code, code)

    return _ESCAPE.sub(escaped, text[1:-1].encode()).decode(errors="replace")


def number(text: str, element: str = "") -> int | float | bool:
    """Return a number; an element that is a float makes bits (0xFF800000) a float."""
    if text in ("true", "false"):
        return text == "true"
    try:
        if text.removeprefix("-").startswith("0x"):
            bits = int(text, 16)
            return _from_bits(bits, element) if _is_float(element) else bits
        if _is_float(element) or not text.removeprefix("-").isdecimal():
            return float(text)
        return int(text)
    except ValueError:  # Python also refuses integers of thousands of digits
        raise Malformed(f"the number {text[:80]}") from None


def dense(text: str, type_: Type) -> Dense:
    """Return the elements of `dense<...>`: one for all, or as many as the type has."""
    inside = text[len("dense<") : -1].strip()
    count = math.prod(type_.shape or ())
    if inside.startswith('"'):
        return _blob(inside, type_.element, count)
    parts = [part.strip() for part in re.sub(r"[][]", " ", inside).split(",")]
    if len(parts) not in (1, count):
        raise Malformed(f"a constant of {len(parts)} elements for {count}")
    elements = tuple(number(part, type_.element) for part in parts)
    return Dense(elements, _payloads(parts, elements, type_.element))


def scalar(text: str, element: str) -> int | float | bool | Dense:
    """Return a number, with its bits if it is a NaN that the text gives as bits."""
    value = number(text, element)
    bits = _payloads([text], (value,), element)
    return value if bits is None else Dense((value,), bits)


def _payloads(
    texts: Sequence[str], elements: tuple[int | float | bool, ...], element: str
) -> tuple[int, ...] | None:
    """Return the bits of all elements if any of them is NaN, else None. Raises Malformed."""
    if not any(isinstance(each, float) and math.isnan(each) for each in elements):
        return None
    return tuple(
        int(text, 16) if text.startswith("0x") else _to_bits(float(value), element)
        for text, value in zip(texts, elements, strict=True)
    )


def _blob(text: str, element: str, count: int) -> Dense:
    try:
        raw = bytes.fromhex(string(text).removeprefix("0x"))
    except ValueError:
        raise Malformed("a constant that is not a hexadecimal text") from None
    size = _bytes_of(element)
    if len(raw) not in (size, size * count):
        raise Malformed(f"a constant of {len(raw)} bytes for {count} elements")
    bits = tuple(
        int.from_bytes(raw[i : i + size], "little", signed=not _is_float(element))
        for i in range(0, len(raw), size)
    )
    if not _is_float(element):
        return Dense(tuple(bool(each) for each in bits) if element == "i1" else bits)
    return Dense(tuple(_from_bits(each, element) for each in bits), bits)


def _is_float(element: str) -> bool:
    return element.startswith(("f", "bf"))


def _bytes_of(element: str) -> int:
    match = re.fullmatch(r"[a-z]+(\d+)(E\dM\d\w*)?", element)
    if match is None or not 1 <= int(match[1]) <= 64:
        raise Malformed(f"a constant of {element}")
    return max(1, int(match[1]) // 8)


def _from_bits(bits: int, element: str) -> float:
    try:
        if element == "bf16":
            [value] = struct.unpack("<f", struct.pack("<I", bits << 16))
        elif element in _PACKED:
            as_float, as_integer = _PACKED[element]
            [value] = struct.unpack(f"<{as_float}", struct.pack(f"<{as_integer}", bits))
        else:
            value = _from_float8(bits, element)
    except struct.error:
        raise Malformed(f"the bits {bits:#x} for {element}") from None
    return float(value)


def _to_bits(value: float, element: str) -> int:
    if element == "bf16":
        return _to_bits(value, "f32") >> 16
    if element not in _PACKED:
        raise Malformed(f"a NaN among other elements of {element}")
    as_float, as_integer = _PACKED[element]
    [bits] = struct.unpack(f"<{as_integer}", struct.pack(f"<{as_float}", value))
    return int(bits)


def _from_float8(bits: int, element: str) -> float:
    match = _FLOAT8.match(element)
    if match is None or not 0 <= bits < 256:
        raise Malformed(f"the bits {bits:#x} for {element}")
    mantissa_bits = int(match[2])
    exponent = bits >> mantissa_bits & (1 << (7 - mantissa_bits)) - 1
    mantissa = bits & (1 << mantissa_bits) - 1
    sign = -1.0 if bits & 0x80 else 1.0
    if element.endswith("FNUZ"):
        special, bias = bits == 0x80, 1 << (6 - mantissa_bits)
    elif element.endswith("FN"):
        special, bias = bits & 0x7F == 0x7F, (1 << (6 - mantissa_bits)) - 1
    else:
        special, bias = exponent == (1 << (7 - mantissa_bits)) - 1, (1 << (6 - mantissa_bits)) - 1
    if special:
        infinite = not mantissa and not element.endswith(("FN", "FNUZ"))
        return sign * math.inf if infinite else math.nan
    whole = mantissa / (1 << mantissa_bits) + (1 if exponent else 0)
    return math.copysign(whole, sign) * 2.0 ** (max(exponent, 1) - bias)
